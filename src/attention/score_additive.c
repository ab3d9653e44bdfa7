/* score_additive.c: e(q, k) = u . tanh(Wq q + Wk k + b)      (Bahdanau et al. 2015; Luong et al. 2015, "concat")
 * beta = Wk k + b once a source, a = Wq q once a query; the tile does the rest:
 *     x = de u (1 - tanh^2),  da_i += sum_j x,  dbeta_j += sum_i x,  du += de tanh
 * Rows of a and beta are made ready once (kernel.h), those of the keys for all queries. A row that cannot be, since
 * something in it is large or no number, meets every row of the other side by tanh itself: which way a pair goes
 * depends on its two rows alone, so its score is the same in any tile. */
#include "kernel/kernel.h"
#include <attend/score.h>
#include <string.h>

enum { WQ, WK, B, U };
enum {
    LINE = 16, /* numbers */
    CHUNK = 32 /* keys made ready at a time where there is no cache */
};

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

static const char *refuse_tile(const attend_tile *t)
{
    if (t->query_width != t->key_width) return "Wq and Wk must lead to the same number of channels";
    return t->shapes[U][0] == t->heads * t->query_width ? NULL : "u must have a number for each channel of each head";
}

/* ---- ready rows ---- */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static size_t padded(int width)
{
    return round_up((size_t)width, (size_t)attend_kernel()->panel);
}

/* A ready row and, behind it, whether it is one. An odd number of lines: equal columns of many rows spread over the
 * whole cache. */
static size_t row_size(int width)
{
    return ((round_up(padded(width), LINE) / LINE + 1) | 1) * LINE;
}

static bool is_ready(const real *row, int width)
{
    return row[padded(width)] != 0;
}

static void make_ready(int rows, int width, const real *x, size_t stride, real *ready)
{
    const size_t size = row_size(width), flag = padded(width);
    for (int i = 0; i < rows; i++, x += stride, ready += size)
        ready[flag] = attend_kernel()->additive_row((size_t)width, x, ready) ? 1 : 0;
}

static size_t cache_size(int keys, int key_width)
{
    return (size_t)keys * row_size(key_width);
}

/* ---- tiles ---- */

/* A tile with what is in its scratch, and where its gradients go. */
typedef struct work {
    const attend_tile *t;
    const attend_tile_gradients *g; /* NULL: forward */
    real *u, *du;                   /* scale u; sum de tanh: (width), 0 up to padded(width) */
    real *pair;                     /* (width) */
    real *query;                    /* ready rows */
    const real *key;                /* ready rows, from .. */
    int first;                      /* .. this key of the tile on */
} work;

static size_t scratch_size(const attend_tile *t)
{
    const int rows = t->queries + (t->keys < CHUNK ? t->keys : CHUNK);
    return 3 * padded(t->query_width) + (size_t)rows * row_size(t->query_width);
}

static work work_new(const attend_tile *t, const attend_tile_gradients *g)
{
    const size_t n = (size_t)t->query_width, room = padded(t->query_width);
    work w = { .t = t, .g = g, .u = t->scratch };
    w.du = w.u + room;
    w.pair = w.du + room;
    w.query = w.pair + room;
    memset(w.u, 0, 2 * room * sizeof *w.u);
    memcpy(w.u, t->parameters[U] + (size_t)t->head * n, n * sizeof *w.u);
    attend_kernel()->scale(n, (real)t->scale, w.u);
    make_ready(t->queries, t->query_width, t->query, t->query_stride, w.query);
    return w;
}

/* Where the numbers of the pair (i, j) are. */
static size_t score_at(const work *w, int i, int j)
{
    return (size_t)i * w->t->score_stride + (size_t)j;
}

static real *row_of(real *rows, size_t stride, int i)
{
    return rows ? rows + (size_t)i * stride : NULL;
}

/* Queries [i, i_last) and keys [j, j_last), whose rows are all ready. */
static void fast(const work *w, int i, int i_last, int j, int j_last)
{
    const attend_tile *t = w->t;
    const size_t size = row_size(t->query_width);
    const additive_block block = { .queries = (size_t)(i_last - i),
                                   .keys = (size_t)(j_last - j),
                                   .width = (size_t)t->query_width,
                                   .query = w->query + (size_t)i * size,
                                   .key = w->key + (size_t)(j - w->first) * size,
                                   .stride = size,
                                   .u = w->u };
    if (!w->g) {
        attend_kernel()->additive(&block, t->score + score_at(w, i, j), t->score_stride);
        return;
    }
    const additive_gradients to = { .score = w->g->score + score_at(w, i, j),
                                    .score_stride = t->score_stride,
                                    .query = row_of(w->g->query, t->query_stride, i),
                                    .query_stride = t->query_stride,
                                    .key = row_of(w->g->key, t->key_stride, j),
                                    .key_stride = t->key_stride,
                                    .u = w->du };
    attend_kernel()->additive_backward(&block, &to);
}

/* One pair, whatever its numbers. */
static void exact(const work *w, int i, int j)
{
    const attend_tile *t = w->t;
    const size_t n = (size_t)t->query_width;
    const real *a = t->query + (size_t)i * t->query_stride, *beta = t->key + (size_t)j * t->key_stride;
    real *y = w->pair;
    for (size_t l = 0; l < n; l++) y[l] = a[l] + beta[l];
    attend_kernel()->tanh(n, y, y);
    if (!w->g) {
        t->score[score_at(w, i, j)] = attend_kernel()->dot(n, w->u, y);
        return;
    }
    const real de = w->g->score[score_at(w, i, j)];
    if (de == 0) return;
    attend_kernel()->axpy(n, de, y, w->du);
    for (size_t l = 0; l < n; l++) y[l] = de * w->u[l] * (1 - y[l] * y[l]);
    if (w->g->query) attend_kernel()->add(n, y, row_of(w->g->query, t->query_stride, i));
    if (w->g->key) attend_kernel()->add(n, y, row_of(w->g->key, t->key_stride, j));
}

/* The end of a run of rows that are all ready, or all not, from row i of n on. */
static int run_end(const real *rows, int width, int i, int n)
{
    const size_t size = row_size(width);
    const bool ready = is_ready(rows + (size_t)i * size, width);
    while (i < n && is_ready(rows + (size_t)i * size, width) == ready) i++;
    return i;
}

/* All queries against keys [w->first, last). */
static void keys_of_tile(const work *w, int last)
{
    const int width = w->t->query_width;
    const size_t size = row_size(width);
    for (int i = 0, i_last; i < w->t->queries; i = i_last) {
        i_last = run_end(w->query, width, i, w->t->queries);
        const bool ready = is_ready(w->query + (size_t)i * size, width);
        for (int j = w->first, j_last; j < last; j = j_last) {
            j_last = w->first + run_end(w->key, width, j - w->first, last - w->first);
            if (ready && is_ready(w->key + (size_t)(j - w->first) * size, width)) {
                fast(w, i, i_last, j, j_last);
                continue;
            }
            for (int k = i; k < i_last; k++)
                for (int l = j; l < j_last; l++) exact(w, k, l);
        }
    }
}

static void all_keys(work *w)
{
    const attend_tile *t = w->t;
    const size_t size = row_size(t->key_width);
    if (t->cache) {
        w->key = t->cache + (size_t)t->first_key * size;
        keys_of_tile(w, t->keys);
        return;
    }
    real *ready = w->query + (size_t)t->queries * size;
    w->key = ready;
    for (int last; w->first < t->keys; w->first = last) {
        last = t->keys - w->first < CHUNK ? t->keys : w->first + CHUNK;
        make_ready(last - w->first, t->key_width, t->key + (size_t)w->first * t->key_stride, t->key_stride, ready);
        keys_of_tile(w, last);
    }
}

static void tile(const attend_tile *t)
{
    work w = work_new(t, NULL);
    all_keys(&w);
}

static void tile_backward(const attend_tile *t, const attend_tile_gradients *g)
{
    const size_t n = (size_t)t->query_width;
    work w = work_new(t, g);
    all_keys(&w);
    if (g->parameters[U]) attend_kernel()->axpy(n, (real)t->scale, w.du, g->parameters[U] + (size_t)t->head * n);
}

const attend_score attend_score_additive = { .name = "additive",
                                             .formula = "u.tanh(Wq q + Wk k + b)",
                                             .parameter = parameter,
                                             .prepare_keys = prepare_keys,
                                             .prepare_queries = prepare_queries,
                                             .refuse_tile = refuse_tile,
                                             .in_tile = 1u << U,
                                             .in_linear = 1u << WQ | 1u << WK,
                                             .cache_size = cache_size,
                                             .cache_keys = make_ready,
                                             .scratch_size = scratch_size,
                                             .tile = tile,
                                             .tile_backward = tile_backward };
