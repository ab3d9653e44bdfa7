/* plain_int8.c: the integer product in plain C: the reference, and the kernel of machines without vector kernels. */
#include "kernel/tables.h"

#include <math.h>
#include <string.h>

enum { PANEL = 8, GROUP = 4 };

real attend_plain_quantize(size_t n, const real *x, int limit, void *q, int32_t *sum)
{
    int8_t *to = q;
    real largest = 0;
    memset(to, 0, n);
    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) return (real)NAN;
        if (fabs((double)x[i]) > (double)largest) largest = (real)fabs((double)x[i]);
    }
    const real scale = largest / (real)limit, inverse = (real)limit / largest;
    if (!(scale > 0) || !isfinite(inverse)) return 0;
    for (size_t i = 0; i < n; i++) *sum += to[i] = (int8_t)lrint((double)(x[i] * inverse));
    return scale;
}

void attend_plain_packed_int8(const int8_product *p)
{
    for (size_t j = 0; j < p->n; j++) {
        const int8_t *column = (const int8_t *)p->b + j / PANEL * PANEL * p->k + j % PANEL * GROUP;
        for (size_t i = 0; i < p->m; i++) {
            const int8_t *a = (const int8_t *)p->a + i * p->k;
            real *to = p->c + i * p->ldc + j;
            int32_t sum = 0;
            for (size_t l = 0; l < p->k; l++) sum += a[l] * column[l / GROUP * GROUP * PANEL + l % GROUP];
            const real start = p->start == PACKED_ADD ? *to : p->start == PACKED_BIAS ? p->bias[j] : 0;
            *to = start + (real)sum * (p->a_scales[i] * p->b_scales[j]);
        }
    }
}
