/* gather.c: y[i] = table[ids[i]]
 *     dtable[ids[i]] += dy[i]; only these rows of dtable are touched, since embedding tables are large. */
#include "core/tape.h"
#include "device/device.h"
#include <attend/op.h>
#include <string.h>

typedef struct gather_node {
    attend_node node;
    attend_var *table, *y;
    const int *ids;
} gather_node;

static void gather_backward(attend_ctx *c, attend_node *node)
{
    gather_node *g = (gather_node *)node;
    const real *dy = g->y->grad;
    real *dt = dy ? attend_grad_rows(c, g->table, g->ids, g->y->shape[0]) : NULL;
    const size_t width = (size_t)g->y->shape[1];
    if (dt)
        attend_device_of(c)->add(&c->compute, (size_t)g->y->shape[0], width,
                                 (device_input){ .data = dy, .stride = width },
                                 (device_output){ .data = dt, .stride = width, .rows = g->ids });
}

attend_var *attend_gather(attend_ctx *c, attend_var *table, const int *ids, int n)
{
    ATTEND_REQUIRE_IN(c, c && (ids || n < 1));
    if (!attend_check_weight(c, "attend_gather", table)) return NULL;
    if (table->rank != 2 || n < 0) {
        char text[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE,
                               "attend_gather: cannot gather %d rows of a table %s; it must be (V, D)", n,
                               attend_shape_text(table, text));
    }
    for (int i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= table->shape[0])
            return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_gather: id %d at position %d is not in [0, %d)", ids[i],
                                   i, table->shape[0]);
    attend_var *y = attend_var_2d(c, n, table->shape[1], table->differentiable);
    if (!y) return NULL;
    const device_table rows = attend_var_table(table);
    attend_device_of(c)->gather(&c->compute, (size_t)n, ids, &rows, (size_t)table->shape[1], y->value);

    if (y->differentiable) {
        gather_node *g = attend_ctx_alloc(c, 1, sizeof *g);
        int *copy = attend_ctx_alloc(c, (size_t)n, sizeof *copy);
        if (!g || !copy) return NULL;
        if (n) memcpy(copy, ids, (size_t)n * sizeof *copy);
        *g = (gather_node){ .table = table, .y = y, .ids = copy };
        attend_record(c, &g->node, gather_backward);
    }
    return y;
}
