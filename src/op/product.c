#include "op/product.h"

#include <string.h>

/* Minimum number of multiplications for which threads are used. Waking a spinning thread takes one or two microseconds,
 * a tenth of the time of this many multiplications. */
enum { MIN_PARALLEL = 200000 };

bool attend_activations_new(attend_ctx *c, activations *a, size_t m, const packed_matrix *w)
{
    *a = (activations){ 0 };
    if (w->precision != ATTEND_INT8) return true;
    a->quantized = attend_ctx_alloc(c, m * attend_int8_depth(w->k), (size_t)attend_kernel()->int8_bytes);
    a->scales = attend_ctx_alloc_reals(c, m);
    a->sums = attend_ctx_alloc(c, m, sizeof *a->sums);
    return a->quantized && a->scales && a->sums;
}

void attend_activations_set(activations *a, size_t m, const real *x, size_t row, const packed_matrix *w)
{
    a->m = m, a->values = x, a->row = row;
    if (w->precision != ATTEND_INT8) return;
    const attend_kernel_table *t = attend_kernel();
    const size_t bytes = (size_t)t->int8_bytes, row_bytes = attend_int8_depth(w->k) * bytes, used = w->k * bytes;
    const int limit = attend_int8_limit(w->k);
    /* These arrays were allocated by attend_activations_new. */
    char *quantized = (char *)(uintptr_t)a->quantized;
    real *scales = (real *)(uintptr_t)a->scales;
    int32_t *sums = (int32_t *)(uintptr_t)a->sums;
    for (size_t i = 0; i < m; i++) {
        char *to = quantized + i * row_bytes;
        scales[i] = t->quantize(w->k, x + i * row, limit, to, &sums[i]);
        memset(to + used, 0, row_bytes - used);
    }
}

typedef struct shared_product {
    packed_start start;
    const real *bias;
    const activations *a;
    const packed_matrix *w;
    real *y;
    size_t ldy, width; /* width: columns per piece */
} shared_product;

static void run_piece(void *user, int i)
{
    const shared_product *s = user;
    const size_t first = (size_t)i * s->width, left = s->w->n - first;
    attend_gemm_matrix(s->start, s->bias ? s->bias + first : NULL, s->a, s->w, first, left < s->width ? left : s->width,
                       s->y + first, s->ldy);
}

int attend_product_threads(const attend_ctx *c, size_t multiplications)
{
    return c->pool && multiplications >= MIN_PARALLEL ? attend_pool_threads(c->pool) : 1;
}

void attend_product(attend_ctx *c, packed_start start, const real *bias, const activations *a, const packed_matrix *w,
                    real *y, size_t ldy)
{
    const size_t threads = (size_t)attend_product_threads(c, a->m * w->n * w->k);
    if (threads == 1) {
        attend_gemm_matrix(start, bias, a, w, 0, w->n, y, ldy);
        return;
    }
    const size_t panel = (size_t)attend_kernel()->panel,
                 unit = 6 * panel; /* a single row uses up to six panels at once */
    const size_t width = (w->n + threads * unit - 1) / (threads * unit) * unit;
    shared_product s = { .start = start, .bias = bias, .a = a, .w = w, .y = y, .ldy = ldy, .width = width };
    attend_pool_run(c->pool, (int)((w->n + width - 1) / width), run_piece, &s);
}

bool attend_multiply(attend_ctx *c, packed_start start, const real *bias, size_t m, const real *x, size_t row,
                     const packed_matrix *w, real *y, size_t ldy)
{
    activations a;
    const attend_mark mark = attend_arena_mark(&c->arena);
    const bool ok = attend_activations_new(c, &a, m, w);
    if (ok) {
        attend_activations_set(&a, m, x, row, w);
        attend_product(c, start, bias, &a, w, y, ldy);
    }
    attend_arena_rewind(&c->arena, mark);
    return ok;
}

/* ---- two arbitrary matrices, divided by rows of C ---- */

typedef struct shared_gemm {
    bool transpose_a, transpose_b;
    packed_start start;
    size_t m, n, k, height; /* height: rows per piece */
    const real *a, *b;
    size_t lda, ldb;
    real *c;
    size_t ldc;
    real *scratch;
    size_t scratch_size; /* per piece */
} shared_gemm;

static void run_rows(void *user, int i)
{
    const shared_gemm *s = user;
    const size_t first = (size_t)i * s->height, rows = s->m - first < s->height ? s->m - first : s->height;
    attend_gemm(s->transpose_a, s->transpose_b, s->start, rows, s->n, s->k,
                s->a + (s->transpose_a ? first : first * s->lda), s->lda, s->b, s->ldb, s->c + first * s->ldc, s->ldc,
                s->scratch + (size_t)i * s->scratch_size);
}

bool attend_multiply_matrices(attend_ctx *c, bool transpose_a, bool transpose_b, packed_start start, size_t m, size_t n,
                              size_t k, const real *a, size_t lda, const real *b, size_t ldb, real *to, size_t ldc)
{
    enum { UNIT = 96, ALIGNED = 16 }; /* a block of A; numbers in a cache line */
    if (m == 0 || n == 0) return true;
    const size_t threads = (size_t)attend_product_threads(c, m * n * k);
    const size_t height = threads == 1 ? m : (m + threads * UNIT - 1) / (threads * UNIT) * UNIT;
    const size_t pieces = (m + height - 1) / height;
    const size_t size = (attend_gemm_scratch(height, n, k) + ALIGNED - 1) / ALIGNED * ALIGNED;
    const attend_mark mark = attend_arena_mark(&c->arena);
    shared_gemm s = { .transpose_a = transpose_a,
                      .transpose_b = transpose_b,
                      .start = start,
                      .m = m,
                      .n = n,
                      .k = k,
                      .height = height,
                      .a = a,
                      .b = b,
                      .lda = lda,
                      .ldb = ldb,
                      .c = to,
                      .ldc = ldc,
                      .scratch = attend_ctx_alloc_reals(c, pieces * size),
                      .scratch_size = size };
    if (s.scratch && pieces == 1) run_rows(&s, 0);
    if (s.scratch && pieces > 1) attend_pool_run(c->pool, (int)pieces, run_rows, &s);
    attend_arena_rewind(&c->arena, mark);
    return s.scratch != NULL;
}
