/* product.h: matrix products of the context's device that fail the context if memory runs out. */
#ifndef ATTEND_OP_PRODUCT_H
#define ATTEND_OP_PRODUCT_H

#include "device/device.h"

/* Y (m, n) = X W' with packed weights of any precision, plus a bias (n) or the previous Y. False: the context has
 * failed. */
bool attend_multiply(attend_ctx *c, packed_start start, const real *bias, size_t m, const real *x, size_t row,
                     const packed_matrix *w, real *y, size_t ldy);

/* C (m, n) (+)= op(A) op(B) of two arbitrary matrices. False: the context has failed. */
bool attend_multiply_matrices(attend_ctx *c, const device_gemm *g);

/* sum (width) += the sum of the n rows of x, which are `stride` apart: the gradient of a bias. */
void attend_add_rows(attend_ctx *c, size_t n, size_t width, const real *x, size_t stride, real *sum);

#endif
