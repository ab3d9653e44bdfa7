/* dropout.c: y = x * mask / (1 - p), mask one with probability 1 - p (Srivastava et al. 2014), one mask an element, or one
 * a sequence shared by its rows (Gal, Ghahramani 2016). The mask is a function of the context's random numbers. */
#include "core/tape.h"
#include "kernel/kernel.h"
#include "op/ragged.h"
#include <attend/op.h>

typedef struct dropout_node {
    attend_node node;
    attend_var *x, *y;
    const unsigned char *keep; /* as `sequences` say: (N, D), or (B, D) */
    const attend_ragged *sequences;
    real scale;
} dropout_node;

/* y (= or +=) x * mask * scale over `rows` rows that share one mask, or one row as long as everything. */
static void apply(size_t rows, size_t width, const unsigned char *keep, real scale, const real *x, real *y, bool add)
{
    const attend_kernel_table *k = attend_kernel();
    for (size_t i = 0; i < rows; i++) (add ? k->drop_add : k->drop)(width, keep, scale, x + i * width, y + i * width);
}

static void apply_all(const dropout_node *d, const real *x, real *y, bool add)
{
    if (!d->sequences) {
        apply(1, d->x->size, d->keep, d->scale, x, y, add);
        return;
    }
    size_t width = (size_t)d->x->shape[1];
    for (int b = 0; b < d->sequences->count; b++) {
        size_t at = (size_t)d->sequences->offsets[b] * width;
        apply((size_t)d->sequences->lengths[b], width, d->keep + (size_t)b * width, d->scale, x + at, y + at, add);
    }
}

static void dropout_backward(attend_ctx *c, attend_node *node)
{
    dropout_node *d = (dropout_node *)node;
    real *dx = d->y->grad ? attend_grad(c, d->x) : NULL;
    if (dx) apply_all(d, d->y->grad, dx, true);
}

static attend_var *dropout(attend_ctx *c, const char *name, attend_var *x, const attend_ragged *sequences, double p)
{
    if (!(p >= 0 && p < 1)) return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: probability %g is not in [0, 1)", name, p);
    if (!c->training || p == 0) return x;
    size_t masks = sequences ? (size_t)sequences->count * (size_t)x->shape[1] : x->size;
    attend_var *y = attend_var_new(c, x->rank, x->shape, x->differentiable);
    dropout_node *d = attend_take(c, 1, sizeof *d);
    unsigned char *keep = attend_take(c, masks, 1);
    if (!y || !d || !keep) return NULL;
    const attend_rng random = attend_ctx_random(c);
    attend_kernel()->keep(&random, 0, masks, p, keep);
    *d = (dropout_node){ .x = x, .y = y, .keep = keep, .sequences = sequences, .scale = (real)(1 / (1 - p)) };
    apply_all(d, x->value, y->value, false);
    if (y->differentiable) attend_record(c, &d->node, dropout_backward);
    return y;
}

attend_var *attend_dropout(attend_ctx *c, attend_var *x, double p)
{
    if (!attend_ready(c, "attend_dropout", 1, x)) return NULL;
    return dropout(c, "attend_dropout", x, NULL, p);
}

attend_var *attend_dropout_shared(attend_ctx *c, attend_var *x, const attend_ragged *sequences, double p)
{
    if (!attend_ready(c, "attend_dropout_shared", 1, x)) return NULL;
    if (!attend_ragged_fits(c, "attend_dropout_shared", sequences, x)) return NULL;
    return dropout(c, "attend_dropout_shared", x, sequences, p);
}
