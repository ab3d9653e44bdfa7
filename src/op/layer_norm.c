/* layer_norm.c: y = gain (x - mean) / sqrt(variance + epsilon) + bias over the last axis
 * (Ba, Kiros, Hinton 2016). With xh = (x - mean) rstd and g = dy gain:
 *     dx += rstd (g - mean(g) - xh mean(g xh))     dgain += dy xh     dbias += dy */
#include "core/tape.h"
#include "device/device.h"
#include <attend/op.h>

typedef struct layer_norm_node {
    attend_node node;
    attend_var *x, *gain, *bias, *y;
    real *statistics; /* mean and 1 / standard deviation of each row */
} layer_norm_node;

static void layer_norm_backward(attend_ctx *c, attend_node *node)
{
    layer_norm_node *l = (layer_norm_node *)node;
    const real *dy = l->y->grad;
    if (!dy) return;
    size_t width = l->gain->size, rows = width ? l->x->size / width : 0;
    real *dx = attend_grad(c, l->x), *dgain = attend_grad(c, l->gain), *dbias = attend_grad(c, l->bias);
    if (c->status == ATTEND_OK)
        attend_device_of(c)->layer_norm_backward(&c->compute, &(device_layer_norm){ .rows = rows,
                                                                                    .width = width,
                                                                                    .x = l->x->value,
                                                                                    .gain = l->gain->value,
                                                                                    .statistics = l->statistics,
                                                                                    .dy = dy,
                                                                                    .dx = dx,
                                                                                    .dgain = dgain,
                                                                                    .dbias = dbias });
}

attend_var *attend_layer_norm(attend_ctx *c, attend_var *x, attend_var *gain, attend_var *bias, double epsilon)
{
    if (!attend_check_inputs(c, "attend_layer_norm", 3, x, gain, bias)) return NULL;
    if (gain->rank != 1 || gain->shape[0] != x->shape[x->rank - 1] || !attend_same_shape(gain, bias)) {
        char xs[ATTEND_SHAPE_TEXT], gs[ATTEND_SHAPE_TEXT], bs[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_layer_norm: gain %s and bias %s do not fit rows of %s",
                               attend_shape_text(gain, gs), attend_shape_text(bias, bs), attend_shape_text(x, xs));
    }
    if (!(epsilon >= 0))
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_layer_norm: epsilon %g is negative", epsilon);
    bool differentiable = x->differentiable || gain->differentiable || bias->differentiable;
    attend_var *y = attend_var_new(c, x->rank, x->shape, differentiable);
    size_t width = gain->size, rows = width ? x->size / width : 0;
    real *statistics = y ? attend_ctx_alloc_reals(c, 2 * rows) : NULL;
    if (!statistics) return NULL;
    attend_device_of(c)->layer_norm(&c->compute, &(device_layer_norm){ .rows = rows,
                                                                       .width = width,
                                                                       .x = x->value,
                                                                       .gain = gain->value,
                                                                       .bias = bias->value,
                                                                       .epsilon = (real)epsilon,
                                                                       .y = y->value,
                                                                       .statistics = statistics });

    if (y->differentiable) {
        layer_norm_node *l = attend_ctx_alloc(c, 1, sizeof *l);
        if (!l) return NULL;
        *l = (layer_norm_node){ .x = x, .gain = gain, .bias = bias, .y = y, .statistics = statistics };
        attend_record(c, &l->node, layer_norm_backward);
    }
    return y;
}
