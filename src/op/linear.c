/* linear.c: y = x W' + b
 *     dx += dy W      dW += dy' x      db += sum of dy's rows */
#include "core/tape.h"
#include "op/packed_weights.h"
#include "op/product.h"
#include "op/weight_gradient.h"
#include <attend/op.h>

typedef struct linear_node {
    attend_node node;
    attend_var *x, *w, *b, *y;
} linear_node;

static void linear_backward(attend_ctx *c, attend_node *node)
{
    linear_node *l = (linear_node *)node;
    const real *dy = l->y->grad;
    if (!dy) return;
    size_t n = (size_t)l->x->shape[0], in = (size_t)l->x->shape[1], out = (size_t)l->w->shape[0];
    bool first;
    real *dx = attend_grad_or_new(c, l->x, &first);
    packed_matrix w;
    if (dx && attend_var_matrix_backward(c, l->w, &w))
        attend_multiply(c, first ? PACKED_ZERO : PACKED_ADD, NULL, n, dy, out, &w, dx, in);
    attend_weight_gradient(c, l->w, 0, n, out, dy, out, l->x->value, in);
    real *db = attend_grad(c, l->b);
    if (db) attend_add_rows(c, n, out, dy, out, db);
}

attend_var *attend_linear(attend_ctx *c, attend_var *x, attend_var *w, attend_var *b)
{
    if (!attend_check_inputs(c, "attend_linear", 1, x) || !attend_check_weight(c, "attend_linear", w)) return NULL;
    char xs[ATTEND_SHAPE_TEXT], ws[ATTEND_SHAPE_TEXT];
    if (x->rank != 2 || w->rank != 2 || x->shape[1] != w->shape[1])
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_linear: x %s and w %s must be (N, Din) and (Dout, Din)",
                               attend_shape_text(x, xs), attend_shape_text(w, ws));
    if (b && (b->rank != 1 || b->shape[0] != w->shape[0]))
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_linear: the bias %s does not fit the weights %s",
                               attend_shape_text(b, xs), attend_shape_text(w, ws));

    size_t n = (size_t)x->shape[0], in = (size_t)x->shape[1], out = (size_t)w->shape[0];
    bool differentiable = x->differentiable || w->differentiable || (b && b->differentiable);
    attend_var *y = attend_var_2d(c, x->shape[0], w->shape[0], differentiable);
    packed_matrix packed;
    if (!y || !attend_var_matrix(c, w, &packed) ||
        !attend_multiply(c, b ? PACKED_BIAS : PACKED_ZERO, b ? b->value : NULL, n, x->value, in, &packed, y->value,
                         out))
        return NULL;

    if (y->differentiable) {
        linear_node *l = attend_ctx_alloc(c, 1, sizeof *l);
        if (!l) return NULL;
        *l = (linear_node){ .x = x, .w = w, .b = b, .y = y };
        attend_record(c, &l->node, linear_backward);
    }
    return y;
}
