/* attention_score.h: the scores of a row, computed by a block: one warp a key. */
#ifndef ATTEND_DEVICE_CUDA_ATTENTION_SCORE_H
#define ATTEND_DEVICE_CUDA_ATTENTION_SCORE_H

#include "device/cuda/attention_math.h"
#include "device/cuda/attention_view.h"

/* Element c, or the sum over s, of F * previous weights at key j: f_jc = sum_s F_cs previous[j + s - size / 2]. */
static __device__ inline real cuda_location_feature(const cuda_attention &t, const cuda_sequence &s,
                                                    const real *previous, int j, int c, int from, int step)
{
    const int size = t.source.parameter_shapes[CUDA_F][1];
    const real *filter = t.source.parameters[CUDA_F] + (size_t)c * (size_t)size;
    real sum = 0;
    for (int x = from; x < size; x += step) {
        const int at = j + x - size / 2;
        if (at >= 0 && at < s.keys) sum += filter[x] * previous[at];
    }
    return sum;
}

static __device__ inline const real *cuda_previous(const cuda_attention &t, int b, int i)
{
    return t.a.previous + ((size_t)b * (size_t)t.a.max_queries + (size_t)i) * t.keys;
}

/* The score of key j for all lanes of a warp. `features` is shared memory of the warp, for location-sensitive scores. */
static __device__ inline real cuda_warp_score(const cuda_attention &t, const cuda_sequence &s, const cuda_place &at,
                                              const real *query, int j, real *features)
{
    const int lane = (int)(threadIdx.x % 32), n = t.a.query_width;
    if (t.score == CUDA_LOCATION) return (real)t.a.scale * query[j];
    const real *key = cuda_key(t, s, at.key_head, j);
    real sum = 0;
    if (t.score == CUDA_DOT) {
        for (int c = lane; c < n; c += 32) sum += query[c] * key[c];
        return (real)t.a.scale * cuda_warp_sum(sum);
    }
    const real *u = t.source.parameters[CUDA_U] + (size_t)at.head * (size_t)n;
    if (t.score == CUDA_ADDITIVE) {
        for (int c = lane; c < n; c += 32) sum += u[c] * cuda_tanh(query[c] + key[c]);
        return (real)t.a.scale * cuda_warp_sum(sum);
    }
    const int filters = t.source.parameter_shapes[CUDA_F][0];
    const real *previous = cuda_previous(t, at.b, at.i), *uf = t.source.parameters[CUDA_UF];
    __syncwarp();
    for (int c = 0; c < filters; c++) {
        const real f = cuda_warp_sum(cuda_location_feature(t, s, previous, j, c, lane, 32));
        if (lane == 0) features[c] = f;
    }
    __syncwarp();
    for (int l = lane; l < n; l += 32) {
        real x = query[l] + key[l];
        for (int c = 0; c < filters; c++) x += uf[(size_t)l * (size_t)filters + (size_t)c] * features[c];
        sum += u[l] * cuda_tanh(x);
    }
    return (real)t.a.scale * cuda_warp_sum(sum);
}

/* The shared memory that the warps of a block need for location-sensitive scores, in numbers. */
static inline size_t cuda_feature_space(const cuda_attention &t, size_t threads)
{
    return t.score == CUDA_LOCATION_SENSITIVE ? threads / 32 * (size_t)t.source.parameter_shapes[CUDA_F][0] : 0;
}

/* Fills e[j] with the scores of the keys of the range after cap, bias and mask. A key that the mask excludes is not
 * read. `capped` (by key) receives the scores after the cap, or is NULL. */
static __device__ inline void cuda_row_scores(const cuda_attention &t, const cuda_sequence &s, const cuda_place &at,
                                              cuda_range r, real *features, real *e, real *capped)
{
    const int warp = (int)(threadIdx.x / 32), warps = (int)(blockDim.x / 32);
    const real *query = cuda_query(t, s, at.head, at.i);
    if (t.score == CUDA_LOCATION_SENSITIVE) features += (size_t)warp * (size_t)t.source.parameter_shapes[CUDA_F][0];
    for (int j = r.first + warp; j < r.last; j += warps) {
        const real score = cuda_warp_score(t, s, at, query, j, features);
        if (threadIdx.x % 32 == 0)
            e[j] = cuda_masked_score(t, at.b, at.head, at.i, j, score, capped ? &capped[j] : nullptr);
    }
    __syncthreads();
}

#endif
