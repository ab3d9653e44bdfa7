/* swiglu.c: y = a s(a) b, s the logistic function, for rows [a, b] (Shazeer 2020, "GLU variants improve Transformer").
 *     da += dy b s (1 + a (1 - s))     db += dy a s */
#include "core/tape.h"
#include "device/device.h"
#include <attend/op.h>

typedef struct swiglu_node {
    attend_node node;
    attend_var *ab, *y;
} swiglu_node;

static void swiglu_backward(attend_ctx *c, attend_node *node)
{
    swiglu_node *s = (swiglu_node *)node;
    const real *dy = s->y->grad;
    real *d = dy ? attend_grad(c, s->ab) : NULL;
    if (d)
        attend_device_of(c)->swiglu_backward(&c->compute, (size_t)s->y->shape[0], (size_t)s->y->shape[1], dy,
                                             s->ab->value, d);
}

attend_var *attend_swiglu(attend_ctx *c, attend_var *ab)
{
    if (!attend_check_inputs(c, "attend_swiglu", 1, ab)) return NULL;
    if (ab->rank != 2 || ab->shape[1] % 2 != 0) {
        char text[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_swiglu: the shape %s is not (N, 2 F)",
                               attend_shape_text(ab, text));
    }
    attend_var *y = attend_var_2d(c, ab->shape[0], ab->shape[1] / 2, ab->differentiable);
    if (!y) return NULL;
    attend_device_of(c)->swiglu(&c->compute, (size_t)y->shape[0], (size_t)y->shape[1], ab->value, y->value);
    if (y->differentiable) {
        swiglu_node *s = attend_ctx_alloc(c, 1, sizeof *s);
        if (!s) return NULL;
        *s = (swiglu_node){ .ab = ab, .y = y };
        attend_record(c, &s->node, swiglu_backward);
    }
    return y;
}
