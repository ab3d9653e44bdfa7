/* halves.h: matrix products in bf16 and bf16x3 (attend/precision.h), for factors in fp32. gemm.h has those in fp32.
 *
 * A factor is rounded to bfloat16 once, when weights are packed or a block of activations is read. With bf16x3 it becomes
 * two numbers, high = x and low = x - high, both rounded.
 *
 * Layout     Of a row of activations: the high halves, then the low ones, each padded with zeros to a multiple of `depth`.
 *            Of packed weights: the panels of the high halves, then those of the low ones; a panel has k / 2 rows of `panel`
 *            pairs (kernel.h). On tables without products of bfloat16 numbers the halves are stored and multiplied as
 *            floats, in the layout of gemm.h.
 * Bits       A row's result does not depend on the other rows or on how a product is divided. It does depend on the table:
 *            each instruction has its own order of additions, and some take subnormal numbers for 0.
 * Error      With s = sum |a b| over k, and apart from subnormal numbers: bf16 is within k 2^-24 s of the product of the
 *            rounded factors, which is within 2^-7 s of that of the factors; bf16x3 is within (3 k 2^-24 + 3 2^-16) s.
 *
 * All functions run on the calling thread, allocate nothing and cannot fail. `compute` is not fp32. */
#ifndef ATTEND_HALVES_H
#define ATTEND_HALVES_H

#include "kernel/gemm.h"

/* The size in bytes of packed weights op(B) (k, n). */
size_t attend_halves_bytes(attend_compute_precision compute, size_t k, size_t n);
/* Packs op(B) of fp32 or bf16 numbers; with transpose, b is (n, k). bf16 numbers need transpose. */
void attend_halves_pack(attend_precision precision, attend_compute_precision compute, bool transpose, size_t k,
                        size_t n, const void *b, size_t ldb, void *packed);
/* attend_pack_columns for such weights. */
void attend_halves_pack_columns(const packed_matrix *from, size_t n, const int *columns, void *packed);

/* The size in bytes of a row of activations with k numbers. */
size_t attend_halves_row_bytes(attend_compute_precision compute, size_t k);
/* Rounds m rows of k numbers, ldx apart. */
void attend_halves_split(attend_compute_precision compute, size_t m, size_t k, const real *x, size_t ldx, void *rows);
/* C (m, columns [first, first + count)) = A W' of these columns; see attend_gemm_matrix. */
void attend_halves_multiply(packed_start start, const real *bias, size_t m, const void *rows, const packed_matrix *w,
                            size_t first, size_t count, real *c, size_t ldc);

/* attend_gemm; scratch has so many numbers. */
size_t attend_halves_gemm_scratch(attend_compute_precision compute, size_t m, size_t n, size_t k);
void attend_halves_gemm(attend_compute_precision compute, bool transpose_a, bool transpose_b, packed_start start,
                        size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb, real *c,
                        size_t ldc, real *scratch);

#endif
