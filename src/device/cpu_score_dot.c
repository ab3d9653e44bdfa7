/* cpu_score_dot.c: e_ij = scale q_i.k_j     dq_i += scale sum_j de_ij k_j     dk_j += scale sum_i de_ij q_i
 * The cache holds the keys packed for matrix products (kernel/gemm.h) in both orders: K' for the scores, K for dq. */
#include "device/scores.h"

#include "kernel/gemm.h"
#include <string.h>

size_t attend_dot_cache_size(int keys, int key_width)
{
    return attend_packed_size((size_t)key_width, (size_t)keys) + attend_packed_size((size_t)keys, (size_t)key_width);
}

/* The offset of K, which follows K', in the cache. */
static size_t k_offset(int keys, int key_width)
{
    return attend_packed_size((size_t)key_width, (size_t)keys);
}

void attend_dot_cache(int keys, int key_width, const real *key, size_t key_stride, real *cache)
{
    attend_pack(true, (size_t)key_width, (size_t)keys, key, key_stride, cache);
    attend_pack(false, (size_t)keys, (size_t)key_width, key, key_stride, cache + k_offset(keys, key_width));
}

/* The offset of the packed queries in the scratch memory, aligned. */
static size_t packed_offset(const attend_tile *t)
{
    return ((size_t)t->queries * (size_t)t->query_width + 15) / 16 * 16;
}

/* Scratch memory: the scaled queries of the tile, and a packed copy. */
size_t attend_dot_scratch(const attend_tile *t)
{
    const size_t queries = (size_t)t->queries, width = (size_t)t->query_width;
    return packed_offset(t) + attend_packed_size(queries, width);
}

static real *scaled_queries(const attend_tile *t)
{
    const size_t width = (size_t)t->query_width;
    for (int i = 0; i < t->queries; i++) {
        real *to = t->scratch + (size_t)i * width;
        memcpy(to, t->query + (size_t)i * t->query_stride, width * sizeof *to);
        attend_kernel()->scale(width, (real)t->scale, to);
    }
    return t->scratch;
}

void attend_dot_tile(const attend_tile *t)
{
    const size_t width = (size_t)t->query_width;
    const real *query = scaled_queries(t);
    if (t->cache && t->first_key % attend_kernel()->panel == 0) {
        attend_gemm_packed(PACKED_ZERO, NULL, (size_t)t->queries, (size_t)t->keys, width, query, width,
                           t->cache + (size_t)t->first_key * width, t->score, t->score_stride);
        return;
    }
    for (int i = 0; i < t->queries; i++)
        for (int j = 0; j < t->keys; j++)
            t->score[(size_t)i * t->score_stride + (size_t)j] =
                attend_kernel()->dot(width, query + (size_t)i * width, t->key + (size_t)j * t->key_stride);
}

void attend_dot_tile_backward(const attend_tile *t, const attend_tile_gradients *g)
{
    const size_t width = (size_t)t->query_width, queries = (size_t)t->queries, keys = (size_t)t->keys;
    if (g->key) {
        real *packed = t->scratch + packed_offset(t);
        attend_pack(false, queries, width, scaled_queries(t), width, packed);
        attend_gemm_packed_transposed(keys, width, queries, g->score, t->score_stride, packed, g->key, t->key_stride);
    }
    if (!g->query) return;
    if (t->cache)
        attend_gemm_packed_rows(PACKED_ZERO, queries, width, (size_t)t->first_key, keys, (size_t)t->all_keys, g->score,
                                t->score_stride, t->cache + k_offset(t->all_keys, t->key_width), t->scratch, width);
    else
        for (size_t i = 0; i < queries; i++)
            attend_kernel()->weighted_sum(width, keys, g->score + i * t->score_stride, t->key, t->key_stride,
                                          t->scratch + i * width);
    for (size_t i = 0; i < queries; i++)
        attend_kernel()->axpy(width, (real)t->scale, t->scratch + i * width, g->query + i * t->query_stride);
}
