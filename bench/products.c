/* products.c: matrix products on one thread, compared with the peak of the processor: large ones of all forms, and
 * products with packed weights. */
#include "bench.h"

#include "kernel/gemm.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct product {
    size_t m, n, k;
    bool transpose_a, transpose_b;
    float *x, *w, *packed, *y;
} product;

static void run_packed(void *state)
{
    product *p = state;
    attend_gemm_packed(PACKED_ZERO, NULL, p->m, p->n, p->k, p->x, p->k, p->packed, p->y, p->n);
}

static void run_gemm(void *state)
{
    product *p = state;
    attend_gemm(p->transpose_a, p->transpose_b, PACKED_ADD, p->m, p->n, p->k, p->x, p->transpose_a ? p->m : p->k, p->w,
                p->transpose_b ? p->k : p->n, p->y, p->n, p->packed);
}

static void report(bench *b, const char *group, const product *p, const char *form, void (*run)(void *state),
                   double goal)
{
    double speed, peak;
    const double operations = 2 * (double)p->m * (double)p->n * (double)p->k;
    result r = { .group = group,
                 .goal = goal,
                 .ratio = bench_share_of_peak(b, (work){ run, (void *)(uintptr_t)p }, operations, &speed, &peak) };
    snprintf(r.name, sizeof r.name, "%s%zu rows, %zu -> %zu", form, p->m, p->k, p->n);
    snprintf(r.measured, sizeof r.measured, "%.1f GFLOP/s", speed);
    snprintf(r.reference, sizeof r.reference, "%.1f GFLOP/s, peak", peak);
    bench_report(b, &r);
}

static product product_new(size_t m, size_t n, size_t k, size_t packed)
{
    return (product){ .m = m,
                      .n = n,
                      .k = k,
                      .x = bench_random_floats(m * k),
                      .w = bench_random_floats(n * k),
                      .packed = bench_random_floats(packed),
                      .y = bench_random_floats(m * n) };
}

static void product_free(product *p)
{
    free(p->x), free(p->w), free(p->packed), free(p->y);
}

static void packed(bench *b, size_t m, size_t n, size_t k, double goal)
{
    product p = product_new(m, n, k, attend_packed_size(k, n));
    attend_pack(true, k, n, p.w, k, p.packed);
    report(b, "matrix product with packed weights, 1 thread", &p, "", run_packed, goal);
    product_free(&p);
}

static void arbitrary(bench *b, size_t m, size_t n, size_t k, double goal)
{
    static const char *const forms[] = { "A B, ", "A B', ", "A' B, " };
    product p = product_new(m, n, k, attend_gemm_scratch(m, n, k));
    for (int form = 0; form < 3; form++) {
        p.transpose_a = form == 2, p.transpose_b = form == 1;
        report(b, "matrix product of two arbitrary matrices, 1 thread", &p, forms[form], run_gemm, goal);
    }
    product_free(&p);
}

void bench_products(bench *b)
{
    arbitrary(b, 1024, 1024, 1024, 0.93);
    if (!bench_quick(b)) arbitrary(b, 2048, 2048, 2048, 0.93);
    arbitrary(b, 1536, 512, 1600, 0);
    packed(b, 64, 1536, 512, 0.93);
    packed(b, 8, 1536, 512, 0.80);
    packed(b, 5, 10000, 512, 0.80);
    for (size_t m = 1; m <= 4; m++) packed(b, m, 1536, 512, 0);
    packed(b, 1600, 1536, 512, 0.93);
    packed(b, 64, 512, 1536, 0);
}
