/* score_additive.c: e(q, k) = u . tanh(Wq q + Wk k + b)      (Bahdanau et al. 2015; Luong et al. 2015, "concat")
 * beta = Wk k + b is computed once for each source, a = Wq q once for each query, and the rest in the tile:
 *     x = de u (1 - tanh^2),  da_i += sum_j x,  dbeta_j += sum_i x,  du += de tanh
 * Rows of a and beta are prepared (kernel/additive_pairs.h), those of the keys once for all queries. */
#include "kernel/additive_pairs.h"
#include <attend/score.h>
#include <string.h>

enum { WQ, WK, B, U };
enum { CHUNK = 32 }; /* keys prepared at a time if they are not cached */

static int inner(const attend_widths *w)
{
    return w->attention > 0 ? w->attention : w->query;
}

static attend_score_parameter parameter(const attend_widths *w, int i)
{
    const int a = inner(w), shared = a / w->heads * w->key_heads;
    switch (i) {
    case WQ:
        return (attend_score_parameter){ "wq", 2, { a, w->query } };
    case WK:
        return (attend_score_parameter){ "wk", 2, { shared, w->key } };
    case B:
        return (attend_score_parameter){ "b", 1, { shared, 0 } };
    case U:
        return (attend_score_parameter){ "u", 1, { a, 0 } };
    default:
        return (attend_score_parameter){ 0 };
    }
}

static attend_var *prepare_queries(attend_ctx *c, attend_var *const *w, attend_var *queries)
{
    return attend_linear(c, queries, w[WQ], NULL);
}

static attend_var *prepare_keys(attend_ctx *c, attend_var *const *w, attend_var *keys)
{
    return attend_linear(c, keys, w[WK], w[B]);
}

static const char *check_tile(const attend_tile *t)
{
    if (t->query_width != t->key_width) return "wq and wk must have the same number of rows for each head";
    return t->shapes[U][0] == t->heads * t->query_width ? NULL : "u must have an element for each row of wq";
}

/* ---- prepared rows ---- */

static size_t cache_size(int keys, int key_width)
{
    return (size_t)keys * attend_additive_row_size((size_t)key_width);
}

static void cache_keys(int keys, int key_width, const real *key, size_t key_stride, real *cache)
{
    attend_additive_prepare((size_t)keys, (size_t)key_width, key, key_stride, cache);
}

/* ---- tiles ---- */

static size_t scratch_size(const attend_tile *t)
{
    const size_t rows = (size_t)t->queries + (size_t)(t->keys < CHUNK ? t->keys : CHUNK), n = (size_t)t->query_width;
    return 3 * attend_additive_padded(n) + rows * attend_additive_row_size(n);
}

/* A tile and the content of its scratch memory. */
typedef struct work {
    additive_pairs pairs; /* all queries; u is multiplied by the scale */
    real *du;             /* (width) sum de tanh; 0 up to the padded width */
    real *keys;           /* for prepared keys */
} work;

static work work_new(const attend_tile *t)
{
    const size_t n = (size_t)t->query_width, padded = attend_additive_padded(n), queries = (size_t)t->queries;
    real *u = t->scratch, *du = u + padded, *pair = du + padded, *query = pair + padded;
    memset(u, 0, 2 * padded * sizeof *u);
    memcpy(u, t->parameters[U] + (size_t)t->head * n, n * sizeof *u);
    attend_kernel()->scale(n, (real)t->scale, u);
    attend_additive_prepare(queries, n, t->query, t->query_stride, query);
    return (work){ .pairs = { .queries = queries,
                              .width = n,
                              .query = t->query,
                              .query_stride = t->query_stride,
                              .key_stride = t->key_stride,
                              .prepared_query = query,
                              .u = u,
                              .scratch = pair },
                   .du = du,
                   .keys = query + queries * attend_additive_row_size(n) };
}

/* Scores, or gradients if g is not NULL, of all queries with the keys [first, last), whose prepared rows are
 * `prepared`. */
static void some_keys(work *w, const attend_tile *t, const attend_tile_gradients *g, int first, int last,
                      const real *prepared)
{
    const size_t from = (size_t)first;
    w->pairs.keys = (size_t)(last - first);
    w->pairs.key = t->key + from * t->key_stride;
    w->pairs.prepared_key = prepared;
    if (!g) {
        attend_additive_scores(&w->pairs, t->score + from, t->score_stride);
        return;
    }
    attend_additive_scores_backward(&w->pairs,
                                    &(additive_gradients){ .score = g->score + from,
                                                           .score_stride = t->score_stride,
                                                           .query = g->query,
                                                           .query_stride = t->query_stride,
                                                           .key = g->key ? g->key + from * t->key_stride : NULL,
                                                           .key_stride = t->key_stride,
                                                           .u = w->du });
}

static void all_keys(work *w, const attend_tile *t, const attend_tile_gradients *g)
{
    const size_t n = w->pairs.width;
    if (t->cache) {
        some_keys(w, t, g, 0, t->keys, t->cache + (size_t)t->first_key * attend_additive_row_size(n));
        return;
    }
    for (int first = 0, last; first < t->keys; first = last) {
        last = t->keys - first < CHUNK ? t->keys : first + CHUNK;
        attend_additive_prepare((size_t)(last - first), n, t->key + (size_t)first * t->key_stride, t->key_stride,
                                w->keys);
        some_keys(w, t, g, first, last, w->keys);
    }
}

static void tile(const attend_tile *t)
{
    work w = work_new(t);
    all_keys(&w, t, NULL);
}

static void tile_backward(const attend_tile *t, const attend_tile_gradients *g)
{
    const size_t n = (size_t)t->query_width;
    work w = work_new(t);
    all_keys(&w, t, g);
    if (g->parameters[U]) attend_kernel()->axpy(n, (real)t->scale, w.du, g->parameters[U] + (size_t)t->head * n);
}

const attend_score attend_score_additive = { .name = "additive",
                                             .formula = "u.tanh(Wq q + Wk k + b)",
                                             .has_inner_width = true,
                                             .parameter = parameter,
                                             .prepare_keys = prepare_keys,
                                             .prepare_queries = prepare_queries,
                                             .check_tile = check_tile,
                                             .tile_parameters = 1u << U,
                                             .linear_parameters = 1u << WQ | 1u << WK,
                                             .cache_size = cache_size,
                                             .cache_keys = cache_keys,
                                             .scratch_size = scratch_size,
                                             .tile = tile,
                                             .tile_backward = tile_backward };
