/* gemm.h: matrix products, through two doors. All matrices are row-major.
 *
 * CBLAS for products of two large matrices. Packed weights for everything that multiplies the same matrix
 * again and again: a weight is laid out once in panels of columns, then streams through the product with
 * no further copying. One thread each; threads never share one product. */
#ifndef ATTEND_GEMM_H
#define ATTEND_GEMM_H

#include "kernel/kernel.h"
#include <attend/precision.h>
#include <stdbool.h>

/* C (m, n) = op(A) op(B) + beta C, op(A) (m, k), op(B) (k, n); beta is 0 (C is not read) or 1. */
void attend_gemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const real *a, size_t lda,
                 const real *b, size_t ldb, real beta, real *c, size_t ldc);

/* Numbers that packing op(B) (k, n) takes with the table in use. */
size_t attend_packed_size(size_t k, size_t n);
/* Packs op(B): with transpose, b is (n, k) as weights are (out, in) and y = x W' wants op(B) = W'.
 * `packed` is 64-byte aligned. */
void attend_pack(bool transpose, size_t k, size_t n, const real *b, size_t ldb, real *packed);
/* C (m, n) = A (m, k) B, from zero, from a bias (n), or added to what C holds. */
void attend_gemm_packed(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a, size_t lda,
                        const real *packed, real *c, size_t ldc);
/* The same with rows [first, first + k) of a B that was packed with all_k of them. */
void attend_gemm_packed_rows(packed_start start, size_t m, size_t n, size_t first, size_t k, size_t all_k,
                             const real *a, size_t lda, const real *packed, real *c, size_t ldc);
/* C (m, n) += A' B with A (k, m). */
void attend_gemm_packed_transposed(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *packed, real *c,
                                   size_t ldc);

/* ---- weights of any precision ---- */

/* Weights laid out for y = x W', W (n, k):
 *     fp32, bf16   panels of `panel` columns; in a panel, its columns of each k in turn
 *     int8         the same, but two k of each column side by side; k is filled up to an even number */
typedef struct packed_matrix {
    attend_precision precision;
    size_t k, n;
    const void *data;
    const real *steps; /* (n), of int8 */
} packed_matrix;

size_t attend_packed_bytes(attend_precision precision, size_t k, size_t n);
/* Packs W (n, k), given in its precision. */
void attend_pack_as(attend_precision precision, size_t k, size_t n, const void *w, void *packed);
/* Some columns of packed weights as packed weights: column i is columns[i]. */
void attend_pack_columns(const packed_matrix *from, size_t n, const int *columns, void *packed);

/* k as the int8 product wants it. */
static inline size_t packed_even(size_t k)
{
    return (k + 1) & ~(size_t)1;
}
/* The largest whole number an activation may be, so that no sum over k overflows. */
int attend_int8_limit(size_t k);

/* What is multiplied: m rows of k numbers, `row` apart, and for int8 weights the same in whole numbers. */
typedef struct activations {
    size_t m, row;
    const real *numbers;
    const int16_t *whole; /* (m, packed_even(k)) */
    const real *steps;    /* (m) */
} activations;

/* C (m, columns [first, first + count)) = A W' of these columns; first is a multiple of `panel`. c and bias begin at column `first`. */
void attend_gemm_matrix(packed_start start, const real *bias, const activations *a, const packed_matrix *w,
                        size_t first, size_t count, real *c, size_t ldc);

#endif
