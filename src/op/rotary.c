/* rotary.c: rotary position embedding (Su et al. 2021): rotates each pair of a head's D numbers by an angle
 * proportional to the position p of the row:
 *     y_2i   = x_2i cos(p w_i) - x_2i+1 sin(p w_i)        w_i = 10000^(-2i / D)
 *     y_2i+1 = x_2i sin(p w_i) + x_2i+1 cos(p w_i)
 * Backward applies the opposite rotation to dy. */
#include "device/device.h"
#include "op/positions.h"

typedef struct rotary_node {
    attend_node node;
    attend_var *x, *y;
    device_rotary rotary;
} rotary_node;

static void rotary_backward(attend_ctx *c, attend_node *node)
{
    rotary_node *n = (rotary_node *)node;
    real *dx = n->y->grad ? attend_grad(c, n->x) : NULL;
    if (dx) attend_device_of(c)->rotary(&c->compute, &n->rotary, n->y->grad, dx, true);
}

attend_var *attend_rotary(attend_ctx *c, attend_var *x, const attend_ragged *sequences, int heads, int first_position)
{
    if (!attend_check_inputs(c, "attend_rotary", 1, x)) return NULL;
    if (!attend_positions_fit(c, "attend_rotary", sequences, x, first_position)) return NULL;
    if (heads < 1 || x->shape[1] % heads != 0 || x->shape[1] / heads % 2 != 0) {
        char text[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE,
                               "attend_rotary: rows of %s cannot be divided into %d heads of an even width",
                               attend_shape_text(x, text), heads);
    }
    attend_var *y = attend_var_2d(c, x->shape[0], x->shape[1], x->differentiable);
    const size_t positions = (size_t)sequences->max_length, head = (size_t)(x->shape[1] / heads);
    real *cosines = attend_ctx_alloc_reals(c, positions * head), *sines = attend_ctx_alloc_reals(c, positions * head);
    if (!y || !cosines || !sines) return NULL;
    const attend_device *d = attend_device_of(c);
    d->rotary_angles(&c->compute, positions, head, first_position, cosines, sines);
    const device_rotary rotary = { sequences, (size_t)x->shape[1], head, cosines, sines };
    d->rotary(&c->compute, &rotary, x->value, y->value, false);
    if (y->differentiable) {
        rotary_node *n = attend_ctx_alloc(c, 1, sizeof *n);
        if (!n) return NULL;
        *n = (rotary_node){ .x = x, .y = y, .rotary = rotary };
        attend_record(c, &n->node, rotary_backward);
    }
    return y;
}
