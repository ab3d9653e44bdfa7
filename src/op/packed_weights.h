/* packed_weights.h: weights as the packed product (kernel/gemm.h) wants them. */
#ifndef ATTEND_OP_PACKED_WEIGHTS_H
#define ATTEND_OP_PACKED_WEIGHTS_H

#include "core/tape.h"
#include "kernel/gemm.h"

/* The packed copy of op(B) (k, n) of a rank 2 parameter (gemm.h says what transpose means), in the parameter's precision; NULL when
 * memory ran out. Made on first use after a change; safe from many threads; valid until the parameter changes. */
const void *attend_param_packed(attend_param *p, bool transpose);

/* The same of any rank 2 variable of full precision; one that is not a parameter is packed into the context's arena. */
const real *attend_var_packed(attend_ctx *c, const attend_var *v, bool transpose);

/* Weights (out, in) of any precision for y = x W'; false: the context failed. */
bool attend_var_matrix(attend_ctx *c, const attend_var *w, packed_matrix *out);

#endif
