/* weight_gradient.h: dW += dy' x, immediately or, for few rows, combined with other products at the end of the backward
 * pass.
 *
 * If a loop uses a weight at every step, each step has a product of few rows for its gradient, and each product reads
 * and writes all of dW. Stacked, the rows of all steps make one product that runs at full speed. This is safe: the
 * gradient of a parameter is not read before the end of the backward pass, and dy and x do not change after the
 * backward function of their operation. */
#ifndef ATTEND_OP_WEIGHT_GRADIENT_H
#define ATTEND_OP_WEIGHT_GRADIENT_H

#include "core/tape.h"

/* Rows [first, first + out) of dW (..., in) += dy' x.   dy (n, out), x (n, in), rows ldy and ldx apart */
void attend_weight_gradient(attend_ctx *c, attend_var *w, size_t first, size_t n, size_t out, const real *dy,
                            size_t ldy, const real *x, size_t ldx);

#endif
