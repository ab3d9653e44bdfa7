/* positions.c: y = scale x + P, where row p of P encodes position p: sinusoids (Vaswani et al. 2017) or a learned table
 * (Gehring et al. 2017).
 *     dx += scale dy     dtable[p] += dy (only these rows of dtable are touched) */
#include "op/positions.h"

#include "device/device.h"
#include <limits.h>

bool attend_positions_fit(attend_ctx *c, const char *operation, const attend_ragged *r, const attend_var *x, int first)
{
    if (!attend_ragged_fits(c, operation, r, x)) return false;
    if (first >= 0 && r->max_length <= INT_MAX - first) return true;
    attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: %d rows cannot have positions from %d", operation, r->max_length, first);
    return false;
}

typedef struct positions_node {
    attend_node node;
    attend_var *x, *table, *y; /* table may be NULL */
    const attend_ragged *sequences;
    const int *positions; /* (max_length) the positions in use; only with a table */
    real scale;
} positions_node;

static void positions_backward(attend_ctx *c, attend_node *node)
{
    positions_node *n = (positions_node *)node;
    const real *dy = n->y->grad;
    if (!dy) return;
    real *dx = attend_grad(c, n->x);
    const attend_device *d = attend_device_of(c);
    if (dx) d->axpy(&c->compute, n->x->size, n->scale, dy, dx);
    const attend_ragged *r = n->sequences;
    real *dt = n->table ? attend_grad_rows(c, n->table, n->positions, r->max_length) : NULL;
    const size_t width = (size_t)n->x->shape[1];
    if (dt && r->max_length > 0)
        d->add_positions_backward(&c->compute, r, width, dy, dt + (size_t)n->positions[0] * width);
}

/* scale x + rows[t] for row t of each sequence, not yet on the tape */
static attend_var *shifted(attend_ctx *c, attend_var *x, double scale, const real *rows, const attend_ragged *r,
                           bool differentiable)
{
    attend_var *y = attend_var_2d(c, x->shape[0], x->shape[1], differentiable);
    if (y)
        attend_device_of(c)->add_positions(&c->compute, r, (size_t)x->shape[1], (real)scale, rows, x->value, y->value);
    return y;
}

static attend_var *recorded(attend_ctx *c, attend_var *x, double scale, attend_var *table, const attend_ragged *r,
                            const int *positions, attend_var *y)
{
    if (!y || !y->differentiable) return y;
    positions_node *n = attend_ctx_alloc(c, 1, sizeof *n);
    if (!n) return NULL;
    *n = (positions_node){
        .x = x, .table = table, .y = y, .sequences = r, .positions = positions, .scale = (real)scale
    };
    attend_record(c, &n->node, positions_backward);
    return y;
}

attend_var *attend_add_sinusoids(attend_ctx *c, attend_var *x, double scale, const attend_ragged *sequences,
                                 int first_position)
{
    if (!attend_check_inputs(c, "attend_add_sinusoids", 1, x)) return NULL;
    if (!attend_positions_fit(c, "attend_add_sinusoids", sequences, x, first_position)) return NULL;
    const size_t width = (size_t)x->shape[1], length = (size_t)sequences->max_length;
    real *rows = attend_ctx_alloc_reals(c, length * width);
    if (!rows) return NULL;
    attend_device_of(c)->sinusoids(&c->compute, length, width, first_position, rows);
    attend_var *y = shifted(c, x, scale, rows, sequences, x->differentiable);
    return recorded(c, x, scale, NULL, sequences, NULL, y);
}

attend_var *attend_add_learned_positions(attend_ctx *c, attend_var *x, double scale, attend_var *table,
                                         const attend_ragged *sequences, int first_position)
{
    if (!attend_check_inputs(c, "attend_add_learned_positions", 1, x) ||
        !attend_check_weight(c, "attend_add_learned_positions", table))
        return NULL;
    if (!attend_positions_fit(c, "attend_add_learned_positions", sequences, x, first_position)) return NULL;
    if (table->rank != 2 || table->shape[1] != x->shape[1]) {
        char ts[ATTEND_SHAPE_TEXT], xs[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_add_learned_positions: the table %s does not fit x %s",
                               attend_shape_text(table, ts), attend_shape_text(x, xs));
    }
    const int length = sequences->max_length;
    if (length > table->shape[0] - first_position)
        return attend_ctx_fail(c, ATTEND_BAD_USAGE,
                               "attend_add_learned_positions: a sequence needs %d positions, but the table has only %d",
                               first_position + length, table->shape[0]);
    const size_t width = (size_t)x->shape[1];
    int *positions = attend_ctx_alloc(c, (size_t)length, sizeof *positions);
    real *copy = table->value ? NULL : attend_ctx_alloc_reals(c, (size_t)length * width);
    if (!positions || (!table->value && !copy)) return NULL;
    for (int t = 0; t < length; t++) positions[t] = first_position + t;
    const device_table all = attend_var_table(table);
    if (copy) attend_device_of(c)->gather(&c->compute, (size_t)length, positions, &all, width, copy);
    const real *rows = copy ? copy : table->value + (size_t)first_position * width;
    attend_var *y = shifted(c, x, scale, rows, sequences, x->differentiable || table->differentiable);
    return recorded(c, x, scale, table, sequences, positions, y);
}
