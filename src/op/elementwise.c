/* elementwise.c: y = a + b, a b, s a, tanh a, sigmoid a, relu a, gelu a, and the sum of all elements. */
#include "core/tape.h"
#include "device/device.h"
#include <attend/op.h>

typedef struct elementwise_node {
    attend_node node;
    attend_var *a, *b, *y;
    real factor;
} elementwise_node;

/* Records the operation if necessary and returns y, which is computed already. */
static attend_var *recorded(attend_ctx *c, attend_var *a, attend_var *b, attend_var *y, double factor,
                            attend_backward_fn backward)
{
    if (!y->differentiable) return y;
    elementwise_node *e = attend_ctx_alloc(c, 1, sizeof *e);
    if (!e) return NULL;
    *e = (elementwise_node){ .a = a, .b = b, .y = y, .factor = (real)factor };
    attend_record(c, &e->node, backward);
    return y;
}

/* ---- two operands: b has the shape of a, or is a vector applied to each row ---- */

static bool repeats(const attend_var *a, const attend_var *b)
{
    return !attend_same_shape(a, b) && b->rank == 1 && a->rank >= 1 && b->shape[0] == a->shape[a->rank - 1];
}

static attend_var *binary_result(attend_ctx *c, const char *name, attend_var *a, attend_var *b)
{
    if (!attend_check_inputs(c, name, 2, a, b)) return NULL;
    if (!attend_same_shape(a, b) && !repeats(a, b)) {
        char as[ATTEND_SHAPE_TEXT], bs[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(
            c, ATTEND_BAD_USAGE,
            "%s: the shapes %s and %s must be equal, or the second a vector as wide as the rows of the first", name,
            attend_shape_text(a, as), attend_shape_text(b, bs));
    }
    return attend_var_new(c, a->rank, a->shape, a->differentiable || b->differentiable);
}

/* The rows of a to which b is applied, and their width; a single row if the shapes are equal. */
static size_t rows_of(const attend_var *a, const attend_var *b, size_t *width)
{
    *width = b->size;
    return b->size ? a->size / b->size : 0;
}

static void add_backward(attend_ctx *c, attend_node *node)
{
    elementwise_node *e = (elementwise_node *)node;
    const real *dy = e->y->grad;
    if (!dy) return;
    bool first;
    real *da = attend_grad_or_new(c, e->a, &first);
    const attend_device *d = attend_device_of(c);
    size_t width, rows = rows_of(e->a, e->b, &width);
    const device_input in = { .data = dy, .stride = width };
    if (da) (first ? d->copy : d->add)(&c->compute, rows, width, in, (device_output){ .data = da, .stride = width });
    first = false;
    real *db = rows == 1 ? attend_grad_or_new(c, e->b, &first) : attend_grad(c, e->b);
    if (db)
        (first ? d->copy : d->add)(&c->compute, rows, width, in,
                                   (device_output){ .data = db }); /* the sum of the rows */
}

attend_var *attend_add(attend_ctx *c, attend_var *a, attend_var *b)
{
    attend_var *y = binary_result(c, "attend_add", a, b);
    if (!y) return NULL;
    const attend_device *d = attend_device_of(c);
    size_t width, rows = rows_of(a, b, &width);
    const device_output out = { .data = y->value, .stride = width };
    d->copy(&c->compute, rows, width, (device_input){ .data = a->value, .stride = width }, out);
    d->add(&c->compute, rows, width, (device_input){ .data = b->value }, out);
    return recorded(c, a, b, y, 0, add_backward);
}

static void mul_backward(attend_ctx *c, attend_node *node)
{
    elementwise_node *e = (elementwise_node *)node;
    const real *dy = e->y->grad;
    if (!dy) return;
    const attend_device *d = attend_device_of(c);
    size_t width, rows = rows_of(e->a, e->b, &width);
    real *da = attend_grad(c, e->a), *db = attend_grad(c, e->b);
    const device_input in = { .data = dy, .stride = width }, a = { .data = e->a->value, .stride = width };
    if (da)
        d->mul_add(&c->compute, rows, width, in, (device_input){ .data = e->b->value },
                   (device_output){ .data = da, .stride = width });
    if (db) d->mul_add(&c->compute, rows, width, in, a, (device_output){ .data = db });
}

attend_var *attend_mul(attend_ctx *c, attend_var *a, attend_var *b)
{
    attend_var *y = binary_result(c, "attend_mul", a, b);
    if (!y) return NULL;
    size_t width, rows = rows_of(a, b, &width);
    attend_device_of(c)->mul(&c->compute, rows, width, (device_input){ .data = a->value, .stride = width },
                             (device_input){ .data = b->value }, (device_output){ .data = y->value, .stride = width });
    return recorded(c, a, b, y, 0, mul_backward);
}

/* ---- one operand ---- */

static attend_var *unary_result(attend_ctx *c, const char *name, attend_var *a)
{
    if (!attend_check_inputs(c, name, 1, a)) return NULL;
    attend_var *y = attend_var_new(c, a->rank, a->shape, a->differentiable);
    if (y) y->needed = true; /* backward reads it */
    return y;
}

static void scale_backward(attend_ctx *c, attend_node *node)
{
    elementwise_node *e = (elementwise_node *)node;
    real *da = e->y->grad ? attend_grad(c, e->a) : NULL;
    if (da) attend_device_of(c)->axpy(&c->compute, e->a->size, e->factor, e->y->grad, da);
}

attend_var *attend_scale(attend_ctx *c, attend_var *a, double factor)
{
    attend_var *y = unary_result(c, "attend_scale", a);
    if (!y) return NULL;
    attend_device_of(c)->scale(&c->compute, a->size, (real)factor, a->value, y->value);
    return recorded(c, a, NULL, y, factor, scale_backward);
}

/* ---- activation functions ---- */

static void activation_backward(attend_ctx *c, const elementwise_node *e, device_activation f)
{
    real *da = e->y->grad ? attend_grad(c, e->a) : NULL;
    if (da)
        attend_device_of(c)->activate_backward(&c->compute, f, e->a->size, e->y->grad, e->a->value, e->y->value, da);
}

static attend_var *activation(attend_ctx *c, attend_var *a, attend_var *y, device_activation f,
                              attend_backward_fn backward)
{
    if (!y) return NULL;
    attend_device_of(c)->activate(&c->compute, f, a->size, a->value, y->value);
    return recorded(c, a, NULL, y, 0, backward);
}

static void tanh_backward(attend_ctx *c, attend_node *node) /* da += dy (1 - y y) */
{
    activation_backward(c, (elementwise_node *)node, DEVICE_TANH);
}

attend_var *attend_tanh(attend_ctx *c, attend_var *a)
{
    return activation(c, a, unary_result(c, "attend_tanh", a), DEVICE_TANH, tanh_backward);
}

static void sigmoid_backward(attend_ctx *c, attend_node *node) /* da += dy y (1 - y) */
{
    activation_backward(c, (elementwise_node *)node, DEVICE_SIGMOID);
}

attend_var *attend_sigmoid(attend_ctx *c, attend_var *a)
{
    return activation(c, a, unary_result(c, "attend_sigmoid", a), DEVICE_SIGMOID, sigmoid_backward);
}

static void relu_backward(attend_ctx *c, attend_node *node) /* da += dy where y > 0 */
{
    activation_backward(c, (elementwise_node *)node, DEVICE_RELU);
}

attend_var *attend_relu(attend_ctx *c, attend_var *a)
{
    return activation(c, a, unary_result(c, "attend_relu", a), DEVICE_RELU, relu_backward);
}

static void gelu_backward(attend_ctx *c, attend_node *node) /* da += dy (P(a) + a P'(a)) */
{
    activation_backward(c, (elementwise_node *)node, DEVICE_GELU);
}

attend_var *attend_gelu(attend_ctx *c, attend_var *a)
{
    if (!attend_check_inputs(c, "attend_gelu", 1, a)) return NULL;
    attend_var *y = attend_var_new(c, a->rank, a->shape, a->differentiable);
    return activation(c, a, y, DEVICE_GELU, gelu_backward);
}

/* ---- the sum ---- */

static void sum_backward(attend_ctx *c, attend_node *node)
{
    elementwise_node *e = (elementwise_node *)node;
    real *da = e->y->grad ? attend_grad(c, e->a) : NULL;
    if (da) attend_device_of(c)->add_number(&c->compute, e->a->size, e->y->grad, da);
}

attend_var *attend_sum(attend_ctx *c, attend_var *a)
{
    if (!attend_check_inputs(c, "attend_sum", 1, a)) return NULL;
    attend_var *y = attend_var_new(c, 1, (const int[]){ 1 }, a->differentiable);
    if (!y) return NULL;
    attend_device_of(c)->sum(&c->compute, a->size, a->value, y->value);
    return recorded(c, a, NULL, y, 0, sum_backward);
}
