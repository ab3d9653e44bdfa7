/* product.h: y = x W' with weights of any precision, on the context's threads where the product is worth it. */
#ifndef ATTEND_OP_PRODUCT_H
#define ATTEND_OP_PRODUCT_H

#include "core/tape.h"
#include "kernel/gemm.h"

/* Room for the rows in whole numbers, if the weights want them; the numbers are set by attend_activations_set. False: no memory, and
 * the context failed. */
bool attend_activations_new(attend_ctx *c, activations *a, size_t m, const packed_matrix *w);
/* The rows to multiply: m of those there is room for. */
void attend_activations_set(activations *a, size_t m, const real *x, size_t row, const packed_matrix *w);

/* Threads that so many multiplications are worth. */
int attend_product_threads(const attend_ctx *c, size_t multiplications);

/* Y (m, n) from zero, from a bias (n), or added to what Y holds. The same to the bit on any number of threads. */
void attend_product(attend_ctx *c, packed_start start, const real *bias, const activations *a, const packed_matrix *w,
                    real *y, size_t ldy);

/* All three at once. False: no memory. */
bool attend_multiply(attend_ctx *c, packed_start start, const real *bias, size_t m, const real *x, size_t row,
                     const packed_matrix *w, real *y, size_t ldy);

#endif
