/* score_additive.c: e(q, k) = u . tanh(Wq q + Wk k + b)      (Bahdanau et al. 2015; Luong et al. 2015, "concat")
 * Wk k + b once a source, Wq q once a query; the tile does the rest.
 *     dx = de u (1 - tanh^2),  da_i += sum_j dx,  dbeta_j += sum_i dx,  du += de tanh */
#include "kernel/kernel.h"
#include <attend/score.h>

enum { WQ, WK, B, U };

static int inner(const attend_widths *w)
{
    return w->attention > 0 ? w->attention : w->query;
}

static attend_score_parameter parameter(const attend_widths *w, int i)
{
    const int a = inner(w), shared = a / w->heads * w->key_heads;
    switch (i) {
    case WQ: return (attend_score_parameter){ "wq", 2, { a, w->query } };
    case WK: return (attend_score_parameter){ "wk", 2, { shared, w->key } };
    case B: return (attend_score_parameter){ "b", 1, { shared, 0 } };
    case U: return (attend_score_parameter){ "u", 1, { a, 0 } };
    default: return (attend_score_parameter){ 0 };
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

static const char *refuse_tile(int query_width, int key_width, int keys)
{
    (void)keys;
    return query_width == key_width ? NULL : "Wq and Wk must lead to the same number of channels";
}

/* tanh(a_i + beta_j) of one pair into x. */
static void pair(const attend_tile *t, int i, int j, real *x)
{
    const size_t n = (size_t)t->query_width;
    const real *a = t->query + (size_t)i * t->query_stride, *beta = t->key + (size_t)j * t->key_stride;
    for (size_t l = 0; l < n; l++) x[l] = a[l] + beta[l];
    attend_kernel()->tanh(n, x, x);
}

static size_t scratch_size(const attend_tile *t)
{
    return (size_t)t->query_width;
}

static void tile(const attend_tile *t)
{
    const size_t n = (size_t)t->query_width;
    const real *u = t->parameters[U] + (size_t)t->head * n;
    for (int i = 0; i < t->queries; i++)
        for (int j = 0; j < t->keys; j++) {
            pair(t, i, j, t->scratch);
            t->score[(size_t)i * t->score_stride + (size_t)j] = (real)t->scale * attend_kernel()->dot(n, u, t->scratch);
        }
}

static void tile_backward(const attend_tile *t, const attend_tile_gradients *g)
{
    const size_t n = (size_t)t->query_width;
    const real *u = t->parameters[U] + (size_t)t->head * n;
    real *du = g->parameters[U] ? g->parameters[U] + (size_t)t->head * n : NULL;
    for (int i = 0; i < t->queries; i++)
        for (int j = 0; j < t->keys; j++) {
            const real de = (real)t->scale * g->score[(size_t)i * t->score_stride + (size_t)j];
            if (de == 0) continue;
            real *x = t->scratch;
            pair(t, i, j, x);
            if (du) attend_kernel()->axpy(n, de, x, du);
            for (size_t l = 0; l < n; l++) x[l] = de * u[l] * (1 - x[l] * x[l]);
            if (g->query) attend_kernel()->add(n, x, g->query + (size_t)i * t->query_stride);
            if (g->key) attend_kernel()->add(n, x, g->key + (size_t)j * t->key_stride);
        }
}

const attend_score attend_score_additive = { .name = "additive",
                                             .formula = "u.tanh(Wq q + Wk k + b)",
                                             .parameter = parameter,
                                             .prepare_keys = prepare_keys,
                                             .prepare_queries = prepare_queries,
                                             .refuse_tile = refuse_tile,
                                             .in_tile = 1u << U,
                                             .scratch_size = scratch_size,
                                             .tile = tile,
                                             .tile_backward = tile_backward };
