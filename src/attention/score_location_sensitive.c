/* score_location_sensitive.c: e(q, k_j) = u . tanh(Wq q + Wk k_j + b + Uf f_j),  f = F * previous weights (Chorowski
 * et al. 2015): the additive score with features of the previous weights. f_j has one element for each filter:
 *     f_jc = sum_s F_cs previous[j + s - size / 2], zero outside the source. */
#include "kernel/kernel.h"
#include <attend/score.h>

enum { U = 3, UF, F };

/* The first four parameters, the mappings and their checks are those of the additive score. */
static attend_score_parameter parameter(const attend_widths *w, int i)
{
    if (i == UF) return (attend_score_parameter){ "uf", 2, { w->attention > 0 ? w->attention : w->query, w->filters } };
    if (i == F) return (attend_score_parameter){ "f", 2, { w->filters, w->filter_size } };
    return attend_score_additive.parameter(w, i);
}

static attend_var *prepare_queries(attend_ctx *c, attend_var *const *w, attend_var *queries)
{
    return attend_score_additive.prepare_queries(c, w, queries);
}

static attend_var *prepare_keys(attend_ctx *c, attend_var *const *w, attend_var *keys)
{
    return attend_score_additive.prepare_keys(c, w, keys);
}

static const char *check_tile(const attend_tile *t)
{
    const char *why = attend_score_additive.check_tile(t);
    if (why) return why;
    if (t->shapes[UF][0] != t->query_width) return "uf must have a row for each element of u";
    return t->shapes[UF][1] == t->shapes[F][0] ? NULL : "uf must have a column for each filter";
}

static size_t scratch_size(const attend_tile *t)
{
    return (size_t)t->query_width + (size_t)t->shapes[F][0];
}

/* x = tanh(a_i + beta_j + Uf f_j). f_j precedes x in the scratch memory. */
static real *pair(const attend_tile *t, int i, int j)
{
    const int at = t->first_key + j;
    const size_t n = (size_t)t->query_width, filters = (size_t)t->shapes[F][0], size = (size_t)t->shapes[F][1];
    const real *a = t->query + (size_t)i * t->query_stride, *beta = t->key + (size_t)j * t->key_stride;
    const real *previous = t->previous + (size_t)i * t->previous_stride;
    real *f = t->scratch, *x = f + filters;
    for (size_t c = 0; c < filters; c++) {
        f[c] = 0;
        for (size_t s = 0; s < size; s++) {
            const ptrdiff_t from = at + (ptrdiff_t)s - (ptrdiff_t)(size / 2);
            if (from >= 0 && from < t->all_keys) f[c] += t->parameters[F][c * size + s] * previous[from];
        }
    }
    for (size_t l = 0; l < n; l++) {
        x[l] = a[l] + beta[l];
        for (size_t c = 0; c < filters; c++) x[l] += t->parameters[UF][l * filters + c] * f[c];
    }
    attend_kernel()->tanh(n, x, x);
    return x;
}

static void tile(const attend_tile *t)
{
    for (int i = 0; i < t->queries; i++)
        for (int j = 0; j < t->keys; j++)
            t->score[(size_t)i * t->score_stride + (size_t)j] =
                (real)t->scale * attend_kernel()->dot((size_t)t->query_width, t->parameters[U], pair(t, i, j));
}

/* Passes dx (channels) backward through Uf f_j: to Uf, the filters and the previous weights. */
static void location_backward(const attend_tile *t, const attend_tile_gradients *g, int i, int j, const real *dx)
{
    const int at = t->first_key + j;
    const size_t n = (size_t)t->query_width, filters = (size_t)t->shapes[F][0], size = (size_t)t->shapes[F][1];
    const real *f = t->scratch, *previous = t->previous + (size_t)i * t->previous_stride;
    real *dprevious = g->previous ? g->previous + (size_t)i * t->previous_stride : NULL;
    for (size_t c = 0; c < filters; c++) {
        real df = 0;
        for (size_t l = 0; l < n; l++) {
            df += t->parameters[UF][l * filters + c] * dx[l];
            if (g->parameters[UF]) g->parameters[UF][l * filters + c] += dx[l] * f[c];
        }
        for (size_t s = 0; s < size; s++) {
            const ptrdiff_t from = at + (ptrdiff_t)s - (ptrdiff_t)(size / 2);
            if (from < 0 || from >= t->all_keys) continue;
            if (g->parameters[F]) g->parameters[F][c * size + s] += df * previous[from];
            if (dprevious) dprevious[from] += df * t->parameters[F][c * size + s];
        }
    }
}

static void tile_backward(const attend_tile *t, const attend_tile_gradients *g)
{
    const size_t n = (size_t)t->query_width;
    for (int i = 0; i < t->queries; i++)
        for (int j = 0; j < t->keys; j++) {
            const real de = (real)t->scale * g->score[(size_t)i * t->score_stride + (size_t)j];
            if (de == 0) continue;
            real *x = pair(t, i, j);
            if (g->parameters[U]) attend_kernel()->axpy(n, de, x, g->parameters[U]);
            for (size_t l = 0; l < n; l++) x[l] = de * t->parameters[U][l] * (1 - x[l] * x[l]);
            if (g->query) attend_kernel()->add(n, x, g->query + (size_t)i * t->query_stride);
            if (g->key) attend_kernel()->add(n, x, g->key + (size_t)j * t->key_stride);
            location_backward(t, g, i, j, x);
        }
}

const attend_score attend_score_location_sensitive = { .name = "location-sensitive",
                                                       .formula = "u.tanh(Wq q + Wk k + b + Uf (F * previous weights))",
                                                       .has_inner_width = true,
                                                       .parameter = parameter,
                                                       .prepare_keys = prepare_keys,
                                                       .prepare_queries = prepare_queries,
                                                       .check_tile = check_tile,
                                                       .needs_previous_weights = true,
                                                       .tile_parameters = 1u << U | 1u << UF | 1u << F,
                                                       .scratch_size = scratch_size,
                                                       .tile = tile,
                                                       .tile_backward = tile_backward };
