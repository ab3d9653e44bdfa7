/* gemm.h: matrix products, through two doors. All matrices are row-major.
 *
 * CBLAS for products of two large matrices. Packed weights for everything that multiplies the same matrix
 * again and again: a weight is laid out once in panels of columns, then streams through the product with
 * no further copying. One thread each; threads never share one product. */
#ifndef ATTEND_GEMM_H
#define ATTEND_GEMM_H

#include "kernel/kernel.h"
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

#endif
