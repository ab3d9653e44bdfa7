/* cpu_score_location_sensitive.c: e_ij = scale u . tanh(a_i + beta_j + Uf f_j), where
 *     f_jc = sum_s F_cs previous[j + s - size / 2], zero outside the source. */
#include "device/scores.h"

#include "kernel/kernel.h"

enum { U = ATTEND_ADDITIVE_U, UF = ATTEND_ADDITIVE_UF, F = ATTEND_ADDITIVE_F };

size_t attend_location_sensitive_scratch(const attend_tile *t)
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

void attend_location_sensitive_tile(const attend_tile *t)
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

void attend_location_sensitive_tile_backward(const attend_tile *t, const attend_tile_gradients *g)
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
