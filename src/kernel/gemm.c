#include "kernel/gemm.h"

#include <string.h>

#ifdef ATTEND_CBLAS
#include <cblas.h>
#include <pthread.h>

/* Each shard runs on one thread of the library. A BLAS with threads of its own would compete with them, and its
 * rounding would depend on their number. These are the switches of OpenBLAS and BLIS; the one that is linked exists. */
extern void openblas_set_num_threads(int) __attribute__((weak));
extern void bli_thread_set_num_threads(int) __attribute__((weak));

static void one_thread(void)
{
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    if (bli_thread_set_num_threads) bli_thread_set_num_threads(1);
}

void attend_gemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const real *a, size_t lda,
                 const real *b, size_t ldb, real beta, real *c, size_t ldc)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, one_thread);
    if (m == 0 || n == 0) return;
#ifdef ATTEND_DOUBLE
    cblas_dgemm(
#else
    cblas_sgemm(
#endif
        CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n,
        (int)k, 1, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

#else

void attend_gemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const real *a, size_t lda,
                 const real *b, size_t ldb, real beta, real *c, size_t ldc)
{
    const size_t a_row = transpose_a ? 1 : lda, a_column = transpose_a ? lda : 1;
    const size_t b_row = transpose_b ? 1 : ldb, b_column = transpose_b ? ldb : 1;
    for (size_t i = 0; i < m; i++) {
        real *row = c + i * ldc;
        if (beta == 0) memset(row, 0, n * sizeof *row);
        for (size_t l = 0; l < k; l++)
            for (size_t j = 0; j < n; j++) row[j] += a[i * a_row + l * a_column] * b[l * b_row + j * b_column];
    }
}

#endif

/* Panels of `panel` columns, one after another; within a panel, row after row of k. The last panel is padded with
 * zeros. */
size_t attend_packed_size(size_t k, size_t n)
{
    size_t panel = (size_t)attend_kernel()->panel;
    return (n + panel - 1) / panel * panel * k;
}

/* A panel of W' from rows of W, in blocks of 8 x 8, so that neither side is accessed with a long stride for long. */
static void pack_transposed(size_t panel, size_t columns, size_t k, const real *b, size_t ldb, real *packed)
{
    enum { BLOCK = 8 };
    for (size_t i = 0; i < k; i += BLOCK) {
        size_t ks = k - i < BLOCK ? k - i : BLOCK;
        for (size_t j = 0; j < columns; j++)
            for (size_t l = 0; l < ks; l++) packed[(i + l) * panel + j] = b[j * ldb + i + l];
        for (size_t l = 0; l < ks; l++)
            for (size_t j = columns; j < panel; j++) packed[(i + l) * panel + j] = 0;
    }
}

void attend_pack(bool transpose, size_t k, size_t n, const real *b, size_t ldb, real *packed)
{
    const size_t panel = (size_t)attend_kernel()->panel;
    for (size_t j = 0; j < n; j += panel, packed += panel * k) {
        size_t columns = n - j < panel ? n - j : panel;
        if (transpose) {
            pack_transposed(panel, columns, k, b + j * ldb, ldb, packed);
            continue;
        }
        for (size_t i = 0; i < k; i++) {
            memcpy(packed + i * panel, b + i * ldb + j, columns * sizeof *packed);
            for (size_t l = columns; l < panel; l++) packed[i * panel + l] = 0;
        }
    }
}

void attend_gemm_packed(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a, size_t lda,
                        const real *packed, real *c, size_t ldc)
{
    if (m == 0 || n == 0) return;
    const attend_kernel_table *t = attend_kernel();
    t->packed(start, bias, m, n, k, a, lda, 1, packed, k * (size_t)t->panel, c, ldc);
}

void attend_gemm_packed_rows(packed_start start, size_t m, size_t n, size_t first, size_t k, size_t all_k,
                             const real *a, size_t lda, const real *packed, real *c, size_t ldc)
{
    if (m == 0 || n == 0) return;
    const attend_kernel_table *t = attend_kernel();
    const size_t panel = (size_t)t->panel;
    t->packed(start, NULL, m, n, k, a, lda, 1, packed + first * panel, all_k * panel, c, ldc);
}

void attend_gemm_packed_transposed(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *packed, real *c,
                                   size_t ldc)
{
    if (m == 0 || n == 0) return;
    const attend_kernel_table *t = attend_kernel();
    t->packed(PACKED_ADD, NULL, m, n, k, a, 1, lda, packed, k * (size_t)t->panel, c, ldc);
}

/* ---- weights of any precision ---- */

size_t attend_packed_bytes(attend_precision precision, size_t k, size_t n)
{
    if (precision == ATTEND_INT8) return attend_packed_size(packed_even(k), n);
    return attend_packed_size(k, n) * (precision == ATTEND_BFLOAT16 ? sizeof(uint16_t) : sizeof(real));
}

static void pack_bf16(size_t k, size_t n, const uint16_t *w, uint16_t *packed)
{
    const size_t panel = (size_t)attend_kernel()->panel;
    memset(packed, 0, attend_packed_bytes(ATTEND_BFLOAT16, k, n));
    for (size_t j = 0; j < n; j++)
        for (size_t l = 0; l < k; l++) packed[(j / panel * k + l) * panel + j % panel] = w[j * k + l];
}

static void pack_int8(size_t k, size_t n, const int8_t *w, int8_t *packed)
{
    const size_t panel = (size_t)attend_kernel()->panel, even = packed_even(k);
    memset(packed, 0, attend_packed_bytes(ATTEND_INT8, k, n));
    for (size_t j = 0; j < n; j++) {
        int8_t *column = packed + j / panel * panel * even + j % panel * 2;
        for (size_t l = 0; l < k; l++) column[l / 2 * 2 * panel + l % 2] = w[j * k + l];
    }
}

void attend_pack_as(attend_precision precision, size_t k, size_t n, const void *w, void *packed)
{
    if (precision == ATTEND_INT8)
        pack_int8(k, n, w, packed);
    else if (precision == ATTEND_BFLOAT16)
        pack_bf16(k, n, w, packed);
    else
        attend_pack(true, k, n, w, k, packed);
}

/* A column consists of numbers, or pairs of int8, that are the width of a panel apart. */
void attend_pack_columns(const packed_matrix *from, size_t n, const int *columns, void *packed)
{
    const size_t panel = (size_t)attend_kernel()->panel;
    const size_t size = from->precision == ATTEND_FP32 ? sizeof(real) : sizeof(uint16_t);
    const size_t k = from->precision == ATTEND_INT8 ? packed_even(from->k) / 2 : from->k;
    memset(packed, 0, attend_packed_bytes(from->precision, from->k, n));
    for (size_t j = 0; j < n; j++) {
        const size_t column = (size_t)columns[j];
        const char *source = (const char *)from->data + (column / panel * k * panel + column % panel) * size;
        char *to = (char *)packed + (j / panel * k * panel + j % panel) * size;
        if (size == sizeof(uint16_t))
            for (size_t l = 0; l < k; l++) memcpy(to + l * panel * size, source + l * panel * size, sizeof(uint16_t));
        else
            for (size_t l = 0; l < k; l++) memcpy(to + l * panel * size, source + l * panel * size, sizeof(real));
    }
}

int attend_int8_limit(size_t k)
{
    const size_t limit = INT32_MAX / 127 / (k ? k : 1);
    return limit > INT16_MAX ? INT16_MAX : limit < 1 ? 1 : (int)limit;
}

void attend_gemm_matrix(packed_start start, const real *bias, const activations *a, const packed_matrix *w,
                        size_t first, size_t count, real *c, size_t ldc)
{
    const attend_kernel_table *t = attend_kernel();
    const size_t k = w->k;
    if (a->m == 0 || count == 0) return;
    if (w->precision == ATTEND_INT8)
        t->packed_int8(&(int8_product){ .start = start,
                                        .bias = bias,
                                        .m = a->m,
                                        .n = count,
                                        .k = packed_even(k),
                                        .a = a->quantized,
                                        .a_scales = a->scales,
                                        .b = (const int8_t *)w->data + first * packed_even(k),
                                        .b_scales = w->scales + first,
                                        .c = c,
                                        .ldc = ldc });
    else if (w->precision == ATTEND_BFLOAT16)
        t->packed_bf16(start, bias, a->m, count, k, a->values, a->row, (const uint16_t *)w->data + first * k, c, ldc);
    else
        t->packed(start, bias, a->m, count, k, a->values, a->row, 1, (const real *)w->data + first * k,
                  k * (size_t)t->panel, c, ldc);
}
