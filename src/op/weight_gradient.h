/* weight_gradient.h: dW += dy' x, at once or, for few rows, together with its like at the end of the walk back.
 *
 * A weight that a loop uses at every step gets a product of few rows from each, and every one of them reads and writes
 * all of dW. Put one below another, the rows of all steps make one product that runs at full speed. Nobody reads the gradient
 * of a parameter before the walk is over, and neither dy nor x changes any more once an operation was walked. */
#ifndef ATTEND_OP_WEIGHT_GRADIENT_H
#define ATTEND_OP_WEIGHT_GRADIENT_H

#include "core/tape.h"

/* Rows [first, first + out) of dW (.., in) += dy' x.   dy (n, out), x (n, in), rows ldy and ldx apart */
void attend_weight_gradient(attend_ctx *c, attend_var *w, size_t first, size_t n, size_t out, const real *dy,
                            size_t ldy, const real *x, size_t ldx);

#endif
