/* products.c: the matrix product with packed weights, compared with the best large sgemm and with CBLAS on the same
 * product. */
#include "bench.h"

#include "kernel/gemm.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct product {
    bench *b;
    size_t m, n, k;
    float *x, *w, *packed, *y;
} product;

static void run_packed(void *state)
{
    product *p = state;
    attend_gemm_packed(PACKED_ZERO, NULL, p->m, p->n, p->k, p->x, p->k, p->packed, p->y, p->n);
}

static void run_cblas(void *state)
{
    product *p = state;
    attend_gemm(false, true, p->m, p->n, p->k, p->x, p->k, p->w, p->k, 0, p->y, p->n);
}

static void run_ceiling(void *state)
{
    product *p = state;
    bench_ceiling(p->b);
}

static void compare(bench *b, size_t m, size_t n, size_t k, double goal)
{
    product p = { .b = b,
                  .m = m,
                  .n = n,
                  .k = k,
                  .x = bench_random_floats(m * k),
                  .w = bench_random_floats(n * k),
                  .packed = bench_random_floats(attend_packed_size(k, n)),
                  .y = bench_random_floats(m * n) };
    attend_pack(true, k, n, p.w, k, p.packed);
    double seconds[3], flops = 2e-9 * (double)(m * n * k);
    bench_measure(b, 3, (const work[]){ { run_packed, &p }, { run_cblas, &p }, { run_ceiling, &p } }, seconds);
    result r = { .group = "matrix product with packed weights, 1 thread", .goal = goal };
    snprintf(r.name, sizeof r.name, "%zu rows, %zu -> %zu, vs ceiling", m, k, n);
    snprintf(r.measured, sizeof r.measured, "%.1f GFLOP/s", flops / seconds[0]);
    snprintf(r.reference, sizeof r.reference, "%.1f GFLOP/s, best large sgemm", bench_ceiling(b));
    r.ratio = flops / seconds[0] / bench_ceiling(b);
    bench_report(b, &r);
    snprintf(r.name, sizeof r.name, "%zu rows, %zu -> %zu, vs CBLAS", m, k, n);
    snprintf(r.reference, sizeof r.reference, "%.1f GFLOP/s, sgemm", flops / seconds[1]);
    r.ratio = seconds[1] / seconds[0];
    r.goal = 1;
    bench_report(b, &r);
    free(p.x), free(p.w), free(p.packed), free(p.y);
}

void bench_products(bench *b)
{
    compare(b, 64, 1536, 512, 0.95);
    compare(b, 8, 1536, 512, 0.80);
    compare(b, 5, 10000, 512, 0.90);
    for (size_t m = 1; m <= 4; m++) compare(b, m, 1536, 512, 0);
    compare(b, 1600, 1536, 512, 0);
    compare(b, 64, 512, 1536, 0);
}
