/* cpu_product.c: matrix products; large ones are divided among the threads of the context. */
#include "device/cpu.h"

#include <string.h>

/* Minimum number of multiplications for which threads are used. Waking a spinning thread takes one or two microseconds,
 * a tenth of the time of this many multiplications. */
enum { MIN_PARALLEL = 200000 };

int attend_cpu_product_threads(const attend_compute *c, size_t multiplications)
{
    return c->pool && multiplications >= MIN_PARALLEL ? attend_pool_threads(c->pool) : 1;
}

/* ---- packed weights ---- */

const void *attend_cpu_packed_layout(void)
{
    return attend_kernel();
}

size_t attend_cpu_packed_bytes(attend_precision precision, size_t k, size_t n)
{
    return attend_packed_bytes(precision, k, n);
}

void attend_cpu_pack(const attend_compute *c, attend_precision precision, bool transpose, size_t k, size_t n,
                     const void *w, void *packed)
{
    (void)c;
    if (transpose)
        attend_pack_as(precision, k, n, w, packed);
    else
        attend_pack(false, k, n, w, n, packed);
}

bool attend_cpu_activations(const attend_compute *c, activations *a, size_t m, const real *x, size_t row,
                            const packed_matrix *w)
{
    *a = (activations){ .m = m, .values = x, .row = row };
    if (w->precision != ATTEND_INT8) return true;
    const attend_kernel_table *t = attend_kernel();
    const size_t bytes = (size_t)t->int8_bytes, row_bytes = attend_int8_depth(w->k) * bytes, used = w->k * bytes;
    const int limit = attend_int8_limit(w->k);
    char *quantized = attend_arena_alloc(c->scratch, m * row_bytes);
    real *scales = attend_arena_alloc(c->scratch, m * sizeof *scales);
    int32_t *sums = attend_arena_alloc(c->scratch, m * sizeof *sums);
    if (!quantized || !scales || !sums) return false;
    for (size_t i = 0; i < m; i++) {
        char *to = quantized + i * row_bytes;
        scales[i] = t->quantize(w->k, x + i * row, limit, to, &sums[i]);
        memset(to + used, 0, row_bytes - used);
    }
    a->quantized = quantized, a->scales = scales, a->sums = sums;
    return true;
}

typedef struct shared_product {
    packed_start start;
    const real *bias;
    const activations *a;
    const packed_matrix *w;
    real *y;
    size_t ldy, width; /* width: columns per piece */
} shared_product;

static void run_columns(void *user, int i)
{
    const shared_product *s = user;
    const size_t first = (size_t)i * s->width, left = s->w->n - first;
    attend_gemm_matrix(s->start, s->bias ? s->bias + first : NULL, s->a, s->w, first, left < s->width ? left : s->width,
                       s->y + first, s->ldy);
}

void attend_cpu_multiply(const attend_compute *c, packed_start start, const real *bias, const activations *a,
                         const packed_matrix *w, real *y, size_t ldy)
{
    const size_t threads = (size_t)attend_cpu_product_threads(c, a->m * w->n * w->k);
    if (threads == 1) {
        attend_gemm_matrix(start, bias, a, w, 0, w->n, y, ldy);
        return;
    }
    const size_t panel = (size_t)attend_kernel()->panel,
                 unit = 6 * panel; /* a single row uses up to six panels at once */
    const size_t width = (w->n + threads * unit - 1) / (threads * unit) * unit;
    shared_product s = { .start = start, .bias = bias, .a = a, .w = w, .y = y, .ldy = ldy, .width = width };
    attend_pool_run(c->pool, (int)((w->n + width - 1) / width), run_columns, &s);
}

bool attend_cpu_product(const attend_compute *c, packed_start start, const real *bias, size_t m, const real *x,
                        size_t ldx, const packed_matrix *w, real *y, size_t ldy)
{
    activations a;
    const arena_mark mark = attend_arena_mark(c->scratch);
    const bool ok = attend_cpu_activations(c, &a, m, x, ldx, w);
    if (ok) attend_cpu_multiply(c, start, bias, &a, w, y, ldy);
    attend_arena_rewind(c->scratch, mark);
    return ok;
}

/* ---- two arbitrary matrices, divided by rows of C ---- */

typedef struct shared_gemm {
    const device_gemm *g;
    size_t height; /* rows per piece */
    real *scratch;
    size_t scratch_size; /* per piece */
} shared_gemm;

static void run_rows(void *user, int i)
{
    const shared_gemm *s = user;
    const device_gemm *g = s->g;
    const size_t first = (size_t)i * s->height, rows = g->m - first < s->height ? g->m - first : s->height;
    attend_gemm(g->transpose_a, g->transpose_b, g->start, rows, g->n, g->k,
                g->a + (g->transpose_a ? first : first * g->lda), g->lda, g->b, g->ldb, g->c + first * g->ldc, g->ldc,
                s->scratch + (size_t)i * s->scratch_size);
}

bool attend_cpu_gemm(const attend_compute *c, const device_gemm *g)
{
    enum { UNIT = 96, ALIGNED = 16 }; /* a block of A; numbers in a cache line */
    if (g->m == 0 || g->n == 0) return true;
    const size_t threads = (size_t)attend_cpu_product_threads(c, g->m * g->n * g->k);
    const size_t height = threads == 1 ? g->m : (g->m + threads * UNIT - 1) / (threads * UNIT) * UNIT;
    const size_t pieces = (g->m + height - 1) / height;
    const size_t size = (attend_gemm_scratch(height, g->n, g->k) + ALIGNED - 1) / ALIGNED * ALIGNED;
    const arena_mark mark = attend_arena_mark(c->scratch);
    shared_gemm s = { .g = g,
                      .height = height,
                      .scratch = attend_arena_alloc(c->scratch, pieces * size * sizeof(real)),
                      .scratch_size = size };
    if (s.scratch && pieces == 1) run_rows(&s, 0);
    if (s.scratch && pieces > 1) attend_pool_run(c->pool, (int)pieces, run_rows, &s);
    attend_arena_rewind(c->scratch, mark);
    return s.scratch != NULL;
}
