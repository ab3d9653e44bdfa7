/* product.h: y = x W' with weights of any precision; large products use the threads of the context. */
#ifndef ATTEND_OP_PRODUCT_H
#define ATTEND_OP_PRODUCT_H

#include "core/tape.h"
#include "kernel/gemm.h"

/* Allocates m quantised rows if the weights are int8; attend_activations_set fills it. False: the context has
 * failed. */
bool attend_activations_new(attend_ctx *c, activations *a, size_t m, const packed_matrix *w);
/* Sets the m rows to multiply, at most as many as allocated, and quantises them if necessary. */
void attend_activations_set(activations *a, size_t m, const real *x, size_t row, const packed_matrix *w);

/* The number of threads to use for this many multiplications. */
int attend_product_threads(const attend_ctx *c, size_t multiplications);

/* Y (m, n) = X W', plus a bias (n) or the previous Y. Bit-identical for any number of threads. */
void attend_product(attend_ctx *c, packed_start start, const real *bias, const activations *a, const packed_matrix *w,
                    real *y, size_t ldy);

/* Allocates, sets and multiplies. False: the context has failed. */
bool attend_multiply(attend_ctx *c, packed_start start, const real *bias, size_t m, const real *x, size_t row,
                     const packed_matrix *w, real *y, size_t ldy);

/* C (m, n) = op(A) op(B), or C += op(A) op(B) with PACKED_ADD, of two arbitrary matrices (kernel/gemm.h). Bit-identical
 * for any number of threads. False: the context has failed. */
bool attend_multiply_matrices(attend_ctx *c, bool transpose_a, bool transpose_b, packed_start start, size_t m, size_t n,
                              size_t k, const real *a, size_t lda, const real *b, size_t ldb, real *to, size_t ldc);

#endif
