/* plain_additive.c: u . tanh(a + b) and its derivative in plain C. A prepared row is the row itself. */
#include "kernel/plain_math.h"

#include "kernel/tables.h"
#include <string.h>

bool attend_plain_additive_row(size_t n, const real *x, real *prepared)
{
    memcpy(prepared, x, n * sizeof *x);
    return true;
}

void attend_plain_additive(const additive_block *t, real *e, size_t e_stride)
{
    for (size_t i = 0; i < t->queries; i++)
        for (size_t j = 0; j < t->keys; j++) {
            const real *a = t->query + i * t->stride, *b = t->key + j * t->stride;
            double sum = 0;
            for (size_t c = 0; c < t->width; c++) sum += (double)t->u[c] * real_tanh(a[c] + b[c]);
            e[i * e_stride + j] = (real)sum;
        }
}

void attend_plain_additive_backward(const additive_block *t, const additive_gradients *g)
{
    for (size_t i = 0; i < t->queries; i++)
        for (size_t j = 0; j < t->keys; j++) {
            const real *a = t->query + i * t->stride, *b = t->key + j * t->stride;
            const real de = g->score[i * g->score_stride + j];
            if (de == 0) continue; /* the pair may hold NaN */
            for (size_t c = 0; c < t->width; c++) {
                const real y = real_tanh(a[c] + b[c]), d = de * t->u[c] * (1 - y * y);
                if (g->query) g->query[i * g->query_stride + c] += d;
                if (g->key) g->key[j * g->key_stride + c] += d;
                if (g->u) g->u[c] += de * y;
            }
        }
}
