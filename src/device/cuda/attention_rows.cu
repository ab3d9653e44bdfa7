/* attention_rows.cu: a block computes one row at a time: score -> cap, bias, mask -> select -> weights -> context, and
 * backward to the gradients of the scores. */
#include "device/cuda/attention_rows.h"
#include "device/cuda/attention_score.h"
#include "device/cuda/attention_select.h"

enum { MAX_SLOTS = 1024, MAX_ROW_BYTES = 32 << 10 };
#ifdef ATTEND_CUDA_EMULATED
enum { THREADS = 64 }; /* coroutines are slower than threads of a GPU */
#else
enum { THREADS = 256 };
#endif

/* ---- forward ---- */

/* Weights that multiply the values from p, in place; writes the weights that the caller wants. */
static __device__ void finish_weights(const cuda_attention &t, const cuda_sequence &s, const cuda_place &at, size_t row,
                                      cuda_range r, real *e)
{
    const device_attention &a = t.a;
    const uint64_t index = (uint64_t)row * (uint64_t)t.keys;
    const double center = a.position ? cuda_center(t, s, at.i) : 0;
    CUDA_EACH_KEY(j, r)
    {
        real w = e[j];
        if (a.stored_weights) a.stored_weights[index + (uint64_t)j] = w;
        if (a.position) w *= cuda_gaussian(t, center, j);
        if (a.weights) a.weights[index + (uint64_t)j] = w;
        if (a.dropout > 0) {
            const real factor = cuda_dropout_factor(a, index + (uint64_t)j);
            w = factor != 0 ? w * factor : 0;
        }
        e[j] = w;
    }
}

/* o = sum_j w_j v_j over the keys with a nonzero weight. Threads of a row of channels share the keys; their sums are
 * added in order. */
static __device__ void context_row(const cuda_attention &t, const cuda_sequence &s, const cuda_place &at, cuda_range r,
                                   const real *w, real *parts)
{
    const int width = t.source.value_width, lanes = width < (int)blockDim.x ? (width + 31) / 32 * 32 : (int)blockDim.x;
    const int groups = (int)blockDim.x / lanes, g = (int)threadIdx.x / lanes, lane = (int)threadIdx.x % lanes;
    real *o = t.a.context + cuda_context(t, s, at.head, at.i);
    for (int from = 0; from < width; from += lanes) {
        const int c = from + lane;
        real sum = 0;
        if (c < width && g < groups)
            for (int j = r.first + g; j < r.last; j += groups) {
                const real v = cuda_value(t, s, at.key_head, j)[c], weight = w[j];
                sum += weight != 0 ? weight * v : 0; /* a value that is not visible may be NaN */
            }
        if (groups > 1) {
            __syncthreads();
            parts[threadIdx.x] = sum;
            __syncthreads();
            if (g == 0)
                for (int k = 1; k < groups; k++) sum += parts[k * lanes + lane];
        }
        if (g == 0 && c < width) o[c] = sum;
    }
}

/* Scores lie in shared memory, or in `scratch` (blocks, keys) if rows are long. */
__global__ void __launch_bounds__(THREADS) forward_rows(const cuda_attention t, size_t features, real *scratch)
{
    CUDA_SHARED(real, shared);
    __shared__ cuda_slots slots;
    __shared__ real parts[THREADS];
    real *const e = scratch ? scratch + (size_t)blockIdx.x * t.keys : shared + features;
    CUDA_EACH_BLOCK(row, t.rows)
    {
        const cuda_place at(t, row);
        const cuda_sequence s = t.sequences[at.b];
        if (at.i >= s.queries) continue;
        __syncthreads();
        const cuda_range r = cuda_key_range(t, s, at.i);
        cuda_row_scores(t, s, at, r, shared, e, nullptr);
        const size_t index = row * t.keys;
        if (t.a.scores) CUDA_EACH_KEY(j, r) t.a.scores[index + (size_t)j] = e[j];
        const selected state = cuda_select(t.a.select, r, e, index, &slots);
        if (threadIdx.x == 0) t.a.selected[row] = state;
        finish_weights(t, s, at, row, r, e);
        __syncthreads();
        context_row(t, s, at, r, e, parts);
    }
}

bool cuda_rows_forward(cuda_call *call, const cuda_attention &t)
{
    if (t.rows == 0) return true;
    const size_t features = cuda_feature_space(t, THREADS);
    const bool is_long = t.keys * sizeof(real) > MAX_ROW_BYTES;
    size_t blocks = cuda_blocks(t.rows, 1);
    real *scratch = nullptr;
    if (is_long) {
        if (blocks > MAX_SLOTS) blocks = MAX_SLOTS;
        scratch = call->reals(blocks * t.keys);
        if (!scratch) return false;
    }
    const size_t shared = (features + (is_long ? 0 : t.keys)) * sizeof(real);
    if (!cuda_allow_shared((const void *)forward_rows, shared)) return false;
    CUDA_LAUNCH(forward_rows, (unsigned)blocks, THREADS, shared, t, features, scratch);
    return true;
}

/* The same for scores that are there. */
__global__ void __launch_bounds__(THREADS) select_rows(const cuda_attention t, const cuda_chunk c)
{
    __shared__ cuda_slots slots;
    CUDA_EACH_BLOCK(x, c.last - c.first)
    {
        const size_t row = c.first + x, index = row * t.keys;
        const cuda_place at(t, row);
        const cuda_sequence s = t.sequences[at.b];
        if (at.i >= s.queries) continue;
        const cuda_range r = cuda_key_range(t, s, at.i);
        real *const e = c.p + x * t.keys;
        CUDA_EACH_KEY(j, r)
        {
            e[j] = cuda_masked_score(t, at.b, at.head, at.i, j, e[j], nullptr);
            if (t.a.scores) t.a.scores[index + (size_t)j] = e[j];
        }
        const selected state = cuda_select(t.a.select, r, e, index, &slots);
        if (threadIdx.x == 0) t.a.selected[row] = state;
        finish_weights(t, s, at, row, r, e);
    }
}

void cuda_rows_select(const cuda_attention &t, const cuda_chunk &c)
{
    CUDA_LAUNCH(select_rows, cuda_blocks(c.last - c.first, 1), THREADS, 0, t, c);
}

/* ---- backward ---- */

/* dL/dw of the caller's context and weights, backward through dropout and the Gaussian window: dL/dp. Threads own keys
 * as in attention_select.h. */
static __device__ void weight_gradients(const cuda_attention &t, const cuda_sequence &s, const cuda_place &at,
                                        size_t row, cuda_range r, const cuda_chunk &c, const real *p, real *d,
                                        cuda_slots *slots)
{
    const device_attention &a = t.a;
    const uint64_t index = (uint64_t)row * (uint64_t)t.keys;
    const double center = a.position ? cuda_center(t, s, at.i) : 0, sigma = t.source.window_size / 2.0;
    double sum = 0;
    CUDA_EACH_KEY(j, r)
    {
        real x = d[j];
        if (a.dropout > 0) {
            const real factor = cuda_dropout_factor(a, index + (uint64_t)j);
            x = factor != 0 ? x * factor : 0;
        }
        if (a.dweights) x += a.dweights[index + (uint64_t)j];
        if (a.position) {
            const real gaussian = cuda_gaussian(t, center, j);
            sum += (double)x * (double)p[j] * (double)gaussian * (j - center) / (sigma * sigma);
            x *= gaussian;
        }
        d[j] = x;
    }
    if (!c.dposition) return;
    sum = cuda_block_sum(sum, slots->as<double>());
    if (threadIdx.x == 0) c.dposition[row - c.first] = (real)(sum * s.keys);
}

/* p again, and the weights that multiplied the values. */
static __device__ void weights_again(const cuda_attention &t, const cuda_sequence &s, const cuda_place &at, size_t row,
                                     cuda_range r, selected state, bool prepared, real *features, real *p, real *w,
                                     real *capped)
{
    const device_attention &a = t.a;
    const uint64_t index = (uint64_t)row * (uint64_t)t.keys;
    if (a.stored_weights) {
        CUDA_EACH_KEY(j, r) p[j] = a.stored_weights[index + (uint64_t)j];
    } else {
        if (prepared) CUDA_EACH_KEY(j, r)
        p[j] = cuda_masked_score(t, at.b, at.head, at.i, j, p[j], capped ? &capped[j] : nullptr);
        else cuda_row_scores(t, s, at, r, features, p, capped);
        cuda_select_again(a.select, r, p, state, index);
    }
    if (w == p) return;
    const double center = a.position ? cuda_center(t, s, at.i) : 0;
    CUDA_EACH_KEY(j, r)
    {
        real x = p[j];
        if (a.select.selection == ATTEND_SELECT_HARD) x = j - r.first == state.choice ? 1 : 0;
        if (a.position) x *= cuda_gaussian(t, center, j);
        if (a.dropout > 0) {
            const real factor = cuda_dropout_factor(a, index + (uint64_t)j);
            x = factor != 0 ? x * factor : 0;
        }
        w[j] = x;
    }
}

/* d_j = g . v_j of the keys that have a weight */
static __device__ void value_products(const cuda_attention &t, const cuda_sequence &s, const cuda_place &at,
                                      cuda_range r, const real *p, const real *w, real *d)
{
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32), warps = (int)(blockDim.x / 32);
    const real *g = t.a.dcontext + cuda_context(t, s, at.head, at.i);
    for (int j = r.first + warp; j < r.last; j += warps) {
        const real *v = cuda_value(t, s, at.key_head, j);
        real sum = 0;
        for (int x = lane; x < t.source.value_width; x += 32) sum += g[x] * v[x];
        sum = cuda_warp_sum(sum);
        if (lane == 0) d[j] = p[j] != 0 || w[j] != 0 ? sum : 0;
    }
}

__global__ void __launch_bounds__(THREADS) backward_rows(const cuda_attention t, const cuda_chunk c, bool prepared)
{
    CUDA_SHARED(real, features);
    __shared__ cuda_slots slots;
    CUDA_EACH_BLOCK(x, c.last - c.first)
    {
        const size_t row = c.first + x;
        const cuda_place at(t, row);
        const cuda_sequence s = t.sequences[at.b];
        real *const p = c.p + x * t.keys, *const w = c.w + x * t.keys, *const d = c.de + x * t.keys;
        real *const capped = c.dcapped ? c.dcapped + x * t.keys : nullptr;
        cuda_range r = { 0, 0 };
        if (at.i < s.queries) r = cuda_key_range(t, s, at.i);
        for (size_t j = threadIdx.x; j < t.keys; j += blockDim.x) {
            if (r.first <= (int)j && (int)j < r.last) continue;
            p[j] = w[j] = d[j] = 0;
            if (capped) capped[j] = 0;
        }
        if (c.dposition && threadIdx.x == 0) c.dposition[x] = 0;
        if (r.first >= r.last) continue;
        __syncthreads();
        const selected state = t.a.selected[row];
        weights_again(t, s, at, row, r, state, prepared, features, p, w, capped);
        __syncthreads();
        if (t.a.dcontext && !prepared)
            value_products(t, s, at, r, p, w, d);
        else if (!t.a.dcontext)
            cuda_fill_row(r, 0, d);
        __syncthreads();
        weight_gradients(t, s, at, row, r, c, p, d, &slots);
        cuda_select_backward(t.a.select, r, p, state, s.advantage, d, &slots);
        if (capped) CUDA_EACH_KEY(j, r)
            {
                const real after = d[j], y = t.source.soft_cap > 0 ? capped[j] / (real)t.source.soft_cap : 0;
                capped[j] = after;
                d[j] = after != 0 ? after * (1 - y * y) : 0;
            }
    }
}

void cuda_rows_backward(const cuda_attention &t, const cuda_chunk &c, bool prepared)
{
    const size_t shared = cuda_feature_space(t, THREADS) * sizeof(real);
    CUDA_LAUNCH(backward_rows, cuda_blocks(c.last - c.first, 1), THREADS, shared, t, c, prepared);
}
