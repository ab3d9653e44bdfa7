/* packed_weights.h: weights in the layout of the device's product. */
#ifndef ATTEND_OP_PACKED_WEIGHTS_H
#define ATTEND_OP_PACKED_WEIGHTS_H

#include "core/tape.h"
#include "device/device.h"

/* The packed copy of op(B) (k, n) of a rank 2 parameter (gemm.h defines transpose), in the parameter's precision, for
 * products of a precision that attend_product_precision returns; NULL if memory ran out. Created at the first use after a
 * change; thread-safe; valid until the parameter changes. */
const void *attend_param_packed(attend_param *p, attend_compute_precision precision, bool transpose);

/* Updates the packed copies that exist after parameters have changed, on the threads of the pool: at the first use, a
 * single thread would do it while the others wait. If memory runs out, that is left to the first use. No other thread may
 * compute with the parameters meanwhile. */
void attend_params_repack(const attend_params *set, attend_pool *pool);

/* The same as attend_param_packed for any rank 2 variable in full precision, for products in fp32; if it is not a parameter,
 * it is packed into the context's device memory. */
const real *attend_var_packed(attend_ctx *c, const attend_var *v, bool transpose);

/* Weights (out, in) of any precision for y = x W', in the context's precision of products; false: the context has failed. */
bool attend_var_matrix(attend_ctx *c, const attend_var *w, packed_matrix *out);
/* The same for weights in full precision and dx = dy W; false: the context has failed. */
bool attend_var_matrix_backward(attend_ctx *c, const attend_var *w, packed_matrix *out);

#endif
