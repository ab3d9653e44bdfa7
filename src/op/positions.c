/* positions.c: y = scale x + P, where row p of P belongs to place p: sinusoids (Vaswani et al. 2017), or a table that is learned
 * (Gehring et al. 2017).
 *     dx += scale dy     dtable[p] += dy, and nothing else of dtable is touched */
#include "op/positions.h"

#include "kernel/kernel.h"
#include <limits.h>
#include <math.h>
#include <string.h>

bool attend_positions_fit(attend_ctx *c, const char *operation, const attend_ragged *r, const attend_var *x, int first)
{
    if (!attend_ragged_fits(c, operation, r, x)) return false;
    if (first >= 0 && r->longest <= INT_MAX - first) return true;
    attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: %d rows cannot stand at the places from %d on", operation, r->longest,
                    first);
    return false;
}

double attend_positions_frequency(size_t i, size_t width)
{
    return pow(10000, -2.0 * (double)i / (double)width);
}

typedef struct places_node {
    attend_node node;
    attend_var *x, *table, *y; /* table: or NULL */
    const attend_ragged *sequences;
    const int *places; /* (longest) that occur; only with a table */
    real scale;
} places_node;

static void places_backward(attend_ctx *c, attend_node *node)
{
    places_node *n = (places_node *)node;
    const real *dy = n->y->grad;
    if (!dy) return;
    real *dx = attend_grad(c, n->x);
    if (dx) attend_kernel()->axpy(n->x->size, n->scale, dy, dx);
    const attend_ragged *r = n->sequences;
    real *dt = n->table ? attend_grad_rows(c, n->table, n->places, r->longest) : NULL;
    const size_t width = (size_t)n->x->shape[1];
    for (int b = 0; dt && b < r->count; b++)
        for (int t = 0; t < r->lengths[b]; t++)
            attend_kernel()->add(width, dy + (size_t)(r->offsets[b] + t) * width, dt + (size_t)n->places[t] * width);
}

/* scale x + rows[t] for row t of each sequence, not yet on the tape */
static attend_var *shifted(attend_ctx *c, attend_var *x, double scale, const real *rows, const attend_ragged *r,
                           bool differentiable)
{
    attend_var *y = attend_var_2d(c, x->shape[0], x->shape[1], differentiable);
    const size_t width = (size_t)x->shape[1];
    for (int b = 0; y && b < r->count; b++) {
        const size_t at = (size_t)r->offsets[b] * width, n = (size_t)r->lengths[b] * width;
        if (n) memcpy(y->value + at, rows, n * sizeof(real));
        attend_kernel()->axpy(n, (real)scale, x->value + at, y->value + at);
    }
    return y;
}

static attend_var *recorded(attend_ctx *c, attend_var *x, double scale, attend_var *table, const attend_ragged *r,
                            const int *places, attend_var *y)
{
    if (!y || !y->differentiable) return y;
    places_node *n = attend_take(c, 1, sizeof *n);
    if (!n) return NULL;
    *n = (places_node){ .x = x, .table = table, .y = y, .sequences = r, .places = places, .scale = (real)scale };
    attend_record(c, &n->node, places_backward);
    return y;
}

attend_var *attend_add_sinusoids(attend_ctx *c, attend_var *x, double scale, const attend_ragged *sequences,
                                 int first_place)
{
    if (!attend_ready(c, "attend_add_sinusoids", 1, x)) return NULL;
    if (!attend_positions_fit(c, "attend_add_sinusoids", sequences, x, first_place)) return NULL;
    const size_t width = (size_t)x->shape[1], longest = (size_t)sequences->longest;
    real *rows = attend_take_reals(c, longest * width);
    if (!rows) return NULL;
    for (size_t j = 0; j < width; j++) {
        const double frequency = attend_positions_frequency(j / 2, width);
        for (size_t t = 0; t < longest; t++) {
            const double angle = ((double)first_place + (double)t) * frequency;
            rows[t * width + j] = (real)(j % 2 ? cos(angle) : sin(angle));
        }
    }
    attend_var *y = shifted(c, x, scale, rows, sequences, x->differentiable);
    return recorded(c, x, scale, NULL, sequences, NULL, y);
}

attend_var *attend_add_rows(attend_ctx *c, attend_var *x, double scale, attend_var *table,
                            const attend_ragged *sequences, int first_place)
{
    if (!attend_ready(c, "attend_add_rows", 1, x) || !attend_ready_weights(c, "attend_add_rows", table)) return NULL;
    if (!attend_positions_fit(c, "attend_add_rows", sequences, x, first_place)) return NULL;
    if (table->rank != 2 || table->shape[1] != x->shape[1]) {
        char ts[ATTEND_SHAPE_TEXT], xs[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_add_rows: a table %s does not fit rows of %s",
                               attend_shape_text(table, ts), attend_shape_text(x, xs));
    }
    const int longest = sequences->longest;
    if (longest > table->shape[0] - first_place)
        return attend_ctx_fail(c, ATTEND_BAD_USAGE,
                               "attend_add_rows: a sequence is %d long, and the table has rows for %d places",
                               first_place + longest, table->shape[0]);
    const size_t width = (size_t)x->shape[1];
    int *places = attend_take(c, (size_t)longest, sizeof *places);
    real *copy = table->value ? NULL : attend_take_reals(c, (size_t)longest * width);
    if (!places || (!table->value && !copy)) return NULL;
    for (int t = 0; t < longest; t++) {
        places[t] = first_place + t;
        if (copy) attend_param_row(table->param, (size_t)places[t], copy + (size_t)t * width);
    }
    const real *rows = copy ? copy : table->value + (size_t)first_place * width;
    attend_var *y = shifted(c, x, scale, rows, sequences, x->differentiable || table->differentiable);
    return recorded(c, x, scale, table, sequences, places, y);
}
