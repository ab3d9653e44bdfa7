/* rearrange.c: operations that only move numbers: concat, stack, slice, reshape. Backward adds each derivative to the
 * element from which the number came. */
#include "core/tape.h"
#include "device/device.h"
#include <attend/op.h>
#include <limits.h>
#include <string.h>

static void copy(attend_ctx *c, int rows, int width, device_input x, device_output y)
{
    attend_device_of(c)->copy(&c->compute, (size_t)rows, (size_t)width, x, y);
}

static void add(attend_ctx *c, int rows, int width, device_input x, device_output y)
{
    attend_device_of(c)->add(&c->compute, (size_t)rows, (size_t)width, x, y);
}

/* Rows of a matrix with this many columns, from a column on. */
static device_input from(const real *x, int first, int columns)
{
    return (device_input){ .data = x + first, .stride = (size_t)columns };
}

static device_output to(real *y, int first, int columns)
{
    return (device_output){ .data = y + first, .stride = (size_t)columns };
}

/* ---- concat and stack ---- */

typedef struct join_node {
    attend_node node;
    attend_var *y;
    int count;
    attend_var *parts[];
} join_node;

static void concat_backward(attend_ctx *c, attend_node *node)
{
    join_node *j = (join_node *)node;
    if (!j->y->grad) return;
    for (int i = 0, first = 0; i < j->count; first += j->parts[i++]->shape[1]) {
        const int width = j->parts[i]->shape[1];
        real *grad = attend_grad(c, j->parts[i]);
        if (grad) add(c, j->y->shape[0], width, from(j->y->grad, first, j->y->shape[1]), to(grad, 0, width));
    }
}

static void stack_backward(attend_ctx *c, attend_node *node)
{
    join_node *j = (join_node *)node;
    const real *dy = j->y->grad;
    for (int i = 0; dy && i < j->count; i++) {
        real *grad = attend_grad(c, j->parts[i]);
        const int width = j->y->shape[1];
        if (grad) add(c, j->parts[i]->shape[0], width, from(dy, 0, width), to(grad, 0, width));
        dy += j->parts[i]->size;
    }
}

/* The result of joining (N, D) parts along `axis`, not yet filled; the other axis must agree. */
static attend_var *join_result(attend_ctx *c, const char *name, attend_var *const *parts, int count, int axis)
{
    if (count < 1) return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: there are no parts", name);
    int shape[2] = { 0, 0 };
    bool differentiable = false;
    for (int i = 0; i < count; i++) {
        if (!attend_check_inputs(c, name, 1, parts[i])) return NULL;
        if (parts[i]->rank != 2 || parts[i]->shape[!axis] != parts[0]->shape[!axis]) {
            char a[ATTEND_SHAPE_TEXT], b[ATTEND_SHAPE_TEXT];
            return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: part %d is %s, which does not fit the first, %s", name, i,
                                   attend_shape_text(parts[i], a), attend_shape_text(parts[0], b));
        }
        if (parts[i]->shape[axis] > INT_MAX - shape[axis])
            return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: the total length of the parts is too large", name);
        shape[axis] += parts[i]->shape[axis];
        differentiable |= parts[i]->differentiable;
    }
    shape[!axis] = parts[0]->shape[!axis];
    return attend_var_new(c, 2, shape, differentiable);
}

static attend_var *join_record(attend_ctx *c, attend_var *y, attend_var *const *parts, int count,
                               attend_backward_fn backward)
{
    if (!y->differentiable) return y;
    join_node *j = attend_ctx_alloc(c, 1, sizeof *j + (size_t)count * sizeof *parts);
    if (!j) return NULL;
    *j = (join_node){ .y = y, .count = count };
    memcpy(j->parts, parts, (size_t)count * sizeof *parts);
    attend_record(c, &j->node, backward);
    return y;
}

attend_var *attend_concat(attend_ctx *c, attend_var *const *parts, int count)
{
    ATTEND_REQUIRE_IN(c, c && (parts || count < 1));
    if (c->status != ATTEND_OK) return NULL;
    attend_var *y = join_result(c, "attend_concat", parts, count, 1);
    if (!y) return NULL;
    for (int i = 0, first = 0; i < count; first += parts[i++]->shape[1]) {
        const int width = parts[i]->shape[1];
        copy(c, y->shape[0], width, from(parts[i]->value, 0, width), to(y->value, first, y->shape[1]));
    }
    return join_record(c, y, parts, count, concat_backward);
}

attend_var *attend_stack(attend_ctx *c, attend_var *const *parts, int count)
{
    ATTEND_REQUIRE_IN(c, c && (parts || count < 1));
    if (c->status != ATTEND_OK) return NULL;
    attend_var *y = join_result(c, "attend_stack", parts, count, 0);
    if (!y) return NULL;
    const int width = y->shape[1];
    real *rows = y->value;
    for (int i = 0; i < count; rows += parts[i++]->size)
        copy(c, parts[i]->shape[0], width, from(parts[i]->value, 0, width), to(rows, 0, width));
    return join_record(c, y, parts, count, stack_backward);
}

/* ---- stack with permuted rows ---- */

typedef struct permuted_node {
    attend_node node;
    attend_var *y;
    int count;
    const int *to_rows;
    attend_var *parts[];
} permuted_node;

static void stack_at_backward(attend_ctx *c, attend_node *node)
{
    permuted_node *s = (permuted_node *)node;
    if (!s->y->grad) return;
    const int width = s->y->shape[1], *to_row = s->to_rows;
    for (int i = 0; i < s->count; to_row += s->parts[i++]->shape[0]) {
        real *d = attend_grad(c, s->parts[i]);
        if (d)
            add(c, s->parts[i]->shape[0], width, (device_input){ s->y->grad, (size_t)width, to_row }, to(d, 0, width));
    }
}

/* Whether to_rows is a permutation. */
static bool is_permutation(attend_ctx *c, const int *to_rows, int rows)
{
    const attend_mark mark = attend_ctx_mark(c);
    unsigned char *seen = attend_ctx_alloc(c, (size_t)rows + 1, 1);
    if (!seen) return false;
    memset(seen, 0, (size_t)rows);
    int good = 0;
    for (; good < rows && to_rows[good] >= 0 && to_rows[good] < rows && !seen[to_rows[good]]; good++)
        seen[to_rows[good]] = 1;
    attend_ctx_release(c, mark);
    if (good < rows)
        attend_ctx_fail(c, ATTEND_BAD_USAGE,
                        "attend_stack_at: row %d goes to row %d, which is used twice or out of range of %d rows", good,
                        to_rows[good], rows);
    return good == rows;
}

attend_var *attend_stack_at(attend_ctx *c, attend_var *const *parts, int count, const int *to_rows)
{
    ATTEND_REQUIRE_IN(c, c && ((parts && to_rows) || count < 1));
    if (c->status != ATTEND_OK) return NULL;
    attend_var *y = join_result(c, "attend_stack_at", parts, count, 0);
    if (!y || !is_permutation(c, to_rows, y->shape[0])) return NULL;
    const int width = y->shape[1], *to_row = to_rows;
    for (int i = 0; i < count; to_row += parts[i++]->shape[0])
        copy(c, parts[i]->shape[0], width, from(parts[i]->value, 0, width),
             (device_output){ y->value, (size_t)width, to_row });
    if (!y->differentiable) return y;
    permuted_node *s = attend_ctx_alloc(c, 1, sizeof *s + (size_t)count * sizeof *parts);
    int *copy = attend_ctx_alloc(c, (size_t)y->shape[0], sizeof *copy);
    if (!s || !copy) return NULL;
    memcpy(copy, to_rows, (size_t)y->shape[0] * sizeof *copy);
    *s = (permuted_node){ .y = y, .count = count, .to_rows = copy };
    memcpy(s->parts, parts, (size_t)count * sizeof *parts);
    attend_record(c, &s->node, stack_at_backward);
    return y;
}

/* ---- slice and reshape ---- */

typedef struct view_node {
    attend_node node;
    attend_var *a, *y;
    int first;
} view_node;

static attend_var *view_record(attend_ctx *c, attend_var *a, attend_var *y, int first, attend_backward_fn backward)
{
    if (!y->differentiable) return y;
    view_node *v = attend_ctx_alloc(c, 1, sizeof *v);
    if (!v) return NULL;
    *v = (view_node){ .a = a, .y = y, .first = first };
    attend_record(c, &v->node, backward);
    return y;
}

static void slice_backward(attend_ctx *c, attend_node *node)
{
    view_node *v = (view_node *)node;
    real *da = v->y->grad ? attend_grad(c, v->a) : NULL;
    const int width = v->y->shape[1];
    if (da) add(c, v->y->shape[0], width, from(v->y->grad, 0, width), to(da, v->first, v->a->shape[1]));
}

attend_var *attend_slice(attend_ctx *c, attend_var *a, int first, int count)
{
    if (!attend_check_inputs(c, "attend_slice", 1, a)) return NULL;
    if (a->rank != 2 || first < 0 || count < 0 || count > a->shape[1] - first) {
        char text[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_slice: %d columns from column %d are out of range of %s",
                               count, first, attend_shape_text(a, text));
    }
    attend_var *y = attend_var_2d(c, a->shape[0], count, a->differentiable);
    if (!y) return NULL;
    copy(c, a->shape[0], count, from(a->value, first, a->shape[1]), to(y->value, 0, count));
    return view_record(c, a, y, first, slice_backward);
}

static void reshape_backward(attend_ctx *c, attend_node *node)
{
    view_node *v = (view_node *)node;
    real *da = v->y->grad ? attend_grad(c, v->a) : NULL;
    if (da)
        attend_device_of(c)->add(&c->compute, 1, v->a->size, (device_input){ .data = v->y->grad },
                                 (device_output){ .data = da });
}

attend_var *attend_reshape(attend_ctx *c, attend_var *a, int rank, const int *shape)
{
    ATTEND_REQUIRE_IN(c, shape || rank < 1);
    if (!attend_check_inputs(c, "attend_reshape", 1, a)) return NULL;
    attend_var *y = attend_var_new(c, rank, shape, a->differentiable);
    if (!y) return NULL;
    if (y->size != a->size) {
        char as[ATTEND_SHAPE_TEXT], ys[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_reshape: %s and %s have different numbers of elements",
                               attend_shape_text(a, as), attend_shape_text(y, ys));
    }
    c->memory->copy(y->value, a->value, a->size * sizeof(real));
    return view_record(c, a, y, 0, reshape_backward);
}
