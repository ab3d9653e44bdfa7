/* cpu_score_additive.c: e_ij = scale u . tanh(a_i + beta_j), and with x = de u (1 - tanh^2)
 *     da_i += sum_j x,  dbeta_j += sum_i x,  du += de tanh
 * Rows of a and beta are prepared (kernel/additive_pairs.h), those of the keys once for all queries. */
#include "device/scores.h"

#include "kernel/additive_pairs.h"
#include <string.h>

enum { CHUNK = 32 }; /* keys prepared at a time if they are not cached */

/* ---- prepared rows ---- */

size_t attend_additive_cache_size(int keys, int key_width)
{
    return (size_t)keys * attend_additive_row_size((size_t)key_width);
}

void attend_additive_cache(int keys, int key_width, const real *key, size_t key_stride, real *cache)
{
    attend_additive_prepare((size_t)keys, (size_t)key_width, key, key_stride, cache);
}

/* ---- tiles ---- */

size_t attend_additive_scratch(const attend_tile *t)
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
    memcpy(u, t->parameters[ATTEND_ADDITIVE_U] + (size_t)t->head * n, n * sizeof *u);
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

void attend_additive_tile(const attend_tile *t)
{
    work w = work_new(t);
    all_keys(&w, t, NULL);
}

void attend_additive_tile_backward(const attend_tile *t, const attend_tile_gradients *g)
{
    const size_t n = (size_t)t->query_width;
    work w = work_new(t);
    all_keys(&w, t, g);
    if (g->parameters[ATTEND_ADDITIVE_U])
        attend_kernel()->axpy(n, (real)t->scale, w.du, g->parameters[ATTEND_ADDITIVE_U] + (size_t)t->head * n);
}
