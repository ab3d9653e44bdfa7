/* dropout.c: y = x * mask / (1 - p), where the mask is 1 with probability 1 - p (Srivastava et al. 2014), either for
 * each element or for each sequence, shared by its rows (Gal, Ghahramani 2016). The mask is a function of the context's
 * random numbers. */
#include "core/tape.h"
#include "device/device.h"
#include "op/ragged.h"
#include <attend/op.h>

typedef struct dropout_node {
    attend_node node;
    attend_var *x, *y;
    device_dropout dropout;
} dropout_node;

static void dropout_backward(attend_ctx *c, attend_node *node)
{
    dropout_node *d = (dropout_node *)node;
    real *dx = d->y->grad ? attend_grad(c, d->x) : NULL;
    if (dx) attend_device_of(c)->dropout(&c->compute, &d->dropout, d->y->grad, dx, true);
}

static attend_var *dropout(attend_ctx *c, const char *name, attend_var *x, const attend_ragged *sequences, double p)
{
    if (!(p >= 0 && p < 1)) return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: probability %g is not in [0, 1)", name, p);
    if (!c->training || p == 0) return x;
    size_t masks = sequences ? (size_t)sequences->count * (size_t)x->shape[1] : x->size;
    attend_var *y = attend_var_new(c, x->rank, x->shape, x->differentiable);
    dropout_node *d = attend_ctx_alloc(c, 1, sizeof *d);
    unsigned char *mask = attend_ctx_alloc_device(c, masks, 1);
    if (!y || !d || !mask) return NULL;
    const attend_rng random = attend_ctx_random(c);
    const attend_device *device = attend_device_of(c);
    device->dropout_mask(&c->compute, &random, masks, p, mask);
    *d = (dropout_node){ .x = x, .y = y };
    d->dropout = (device_dropout){ .n = x->size,
                                   .width = (size_t)x->shape[x->rank - 1],
                                   .mask = mask,
                                   .sequences = sequences,
                                   .scale = (real)(1 / (1 - p)) };
    device->dropout(&c->compute, &d->dropout, x->value, y->value, false);
    if (y->differentiable) attend_record(c, &d->node, dropout_backward);
    return y;
}

attend_var *attend_dropout(attend_ctx *c, attend_var *x, double p)
{
    if (!attend_check_inputs(c, "attend_dropout", 1, x)) return NULL;
    return dropout(c, "attend_dropout", x, NULL, p);
}

attend_var *attend_dropout_shared(attend_ctx *c, attend_var *x, const attend_ragged *sequences, double p)
{
    if (!attend_check_inputs(c, "attend_dropout_shared", 1, x)) return NULL;
    if (!attend_ragged_fits(c, "attend_dropout_shared", sequences, x)) return NULL;
    return dropout(c, "attend_dropout_shared", x, sequences, p);
}
