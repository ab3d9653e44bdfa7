/* gemm.h: matrix products. All matrices are row-major.
 *
 * attend_gemm multiplies two arbitrary matrices; it packs blocks of them as it runs. The packed products multiply with
 * a matrix that is used many times, such as a weight: it is laid out once in panels of columns and read without further
 * copying. Every element of a result is summed over k in ascending order, so all of them give the same bits, however a
 * product is divided. All functions run on the calling thread, allocate nothing and cannot fail. */
#ifndef ATTEND_GEMM_H
#define ATTEND_GEMM_H

#include "kernel/kernel.h"
#include <stdbool.h>

/* Numbers of scratch memory for attend_gemm; at most about 830,000. */
size_t attend_gemm_scratch(size_t m, size_t n, size_t k);
/* C (m, n) = op(A) op(B), or C += op(A) op(B) with PACKED_ADD; op(A) (m, k), op(B) (k, n). `scratch` is aligned to 64
 * bytes. */
void attend_gemm(bool transpose_a, bool transpose_b, packed_start start, size_t m, size_t n, size_t k, const real *a,
                 size_t lda, const real *b, size_t ldb, real *c, size_t ldc, real *scratch);

/* The size, in numbers, of op(B) (k, n) packed for the kernel table in use. */
size_t attend_packed_size(size_t k, size_t n);
/* Packs op(B). With transpose, b is (n, k): a weight W is (out, in), and y = x W' needs op(B) = W'. `packed` is aligned
 * to 64 bytes. */
void attend_pack(bool transpose, size_t k, size_t n, const real *b, size_t ldb, real *packed);
/* C (m, n) = A (m, k) B, plus a bias (n) or the previous C. */
void attend_gemm_packed(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a, size_t lda,
                        const real *packed, real *c, size_t ldc);
/* The same with rows [first, first + k) of a B that was packed with all_k rows. */
void attend_gemm_packed_rows(packed_start start, size_t m, size_t n, size_t first, size_t k, size_t all_k,
                             const real *a, size_t lda, const real *packed, real *c, size_t ldc);
/* C (m, n) += A' B with A (k, m). */
void attend_gemm_packed_transposed(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *packed, real *c,
                                   size_t ldc);

/* ---- weights of any precision ---- */

/* The size in bytes of packed weights. */
size_t attend_packed_bytes(attend_precision precision, size_t k, size_t n);
/* Packs W (n, k), whose elements have this precision. */
void attend_pack_as(attend_precision precision, size_t k, size_t n, const void *w, void *packed);
/* Selects n columns of packed weights: column i of the result is column columns[i]. */
void attend_pack_columns(const packed_matrix *from, size_t n, const int *columns, void *packed);

/* k rounded up, as the product of 8-bit numbers needs it. */
size_t attend_int8_depth(size_t k);
/* The largest quantised activation with which a sum over k cannot overflow. */
int attend_int8_limit(size_t k);

/* The left operand: m rows of k numbers, `row` apart, and, as the weights need it, the same quantised or rounded. */
typedef struct activations {
    size_t m, row;
    const real *values;
    const void *quantized; /* (m, attend_int8_depth(k)), see quantize */
    const real *scales;    /* (m) */
    const int32_t *sums;   /* (m) of the quantised numbers */
    const void *halves;    /* the rows rounded to bfloat16 (halves.h) */
} activations;

/* Rows [first, first + count) of activations for weights like w. */
activations attend_activation_rows(const activations *a, size_t first, size_t count, const packed_matrix *w);

/* C (m, columns [first, first + count)) = A W' of these columns; first is a multiple of `panel`. c and bias point to
 * column `first`. */
void attend_gemm_matrix(packed_start start, const real *bias, const activations *a, const packed_matrix *w,
                        size_t first, size_t count, real *c, size_t ldc);

#endif
