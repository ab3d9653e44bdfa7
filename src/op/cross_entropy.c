/* cross_entropy.c: softmax and cross-entropy with label smoothing (Szegedy et al. 2016) in one operation, in place.
 *
 * With x a row of logits, m = max x, l = sum exp(x - m), lse = m + ln l, p = exp(x - lse), q the smoothed target:
 *     loss = scale sum_rows sum_v q_v (lse - x_v)  =  scale sum_rows [lse - (1 - s) x_target - s mean(x)]
 *     dx = scale (p - q)
 * Forward replaces the logits by exp(x - m) and stores 1 / l; backward replaces these by dx, which becomes the gradient
 * of the logits without a second (N, V) array. */
#include "core/tape.h"
#include "device/device.h"
#include <attend/op.h>
#include <string.h>

typedef struct loss_node {
    attend_node node;
    attend_var *logits, *loss;
    device_loss computed;
} loss_node;

static void cross_entropy_backward(attend_ctx *c, attend_node *node)
{
    loss_node *e = (loss_node *)node;
    if (!e->loss->grad) return;
    e->computed.dloss = e->loss->grad;
    attend_device_of(c)->cross_entropy_backward(&c->compute, &e->computed);
    e->logits->grad = e->logits->value;
}

static bool arguments_fit(attend_ctx *c, const attend_var *logits, const int *targets, double smoothing)
{
    char text[ATTEND_SHAPE_TEXT];
    if (logits->rank != 2 || logits->shape[1] < 1)
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_cross_entropy: the logits have shape %s, expected (N, V)",
                        attend_shape_text(logits, text));
    else if (!(smoothing >= 0 && smoothing < 1))
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_cross_entropy: smoothing %g is not in [0, 1)", smoothing);
    else
        for (int i = 0; i < logits->shape[0]; i++)
            if (targets[i] >= logits->shape[1])
                attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_cross_entropy: target %d of row %d is not below V = %d",
                                targets[i], i, logits->shape[1]);
    return c->status == ATTEND_OK;
}

attend_var *attend_cross_entropy(attend_ctx *c, attend_var *logits, const int *targets, double smoothing, double scale,
                                 real *nll)
{
    ATTEND_REQUIRE_IN(c, targets);
    /* Logits that another operation reads are copied; those that come straight from attend_linear are not. */
    bool shared = logits && (logits->needed || logits->param);
    if (!attend_check_inputs(c, "attend_cross_entropy", 1, logits)) return NULL;
    if (!arguments_fit(c, logits, targets, smoothing)) return NULL;
    if (shared) logits = attend_reshape(c, logits, logits->rank, logits->shape);
    if (!logits) return NULL;
    size_t rows = (size_t)logits->shape[0], width = (size_t)logits->shape[1];
    attend_var *loss = attend_var_new(c, 1, (const int[]){ 1 }, logits->differentiable);
    loss_node *e = attend_ctx_alloc(c, 1, sizeof *e);
    int *copy = attend_ctx_alloc(c, rows, sizeof *copy);
    real *inverse_sums = attend_ctx_alloc_reals(c, rows);
    real *row_losses = nll && !c->memory->on_host ? attend_ctx_alloc_reals(c, rows) : nll;
    if (!loss || !e || !copy || !inverse_sums || (nll && !row_losses)) return NULL;
    if (rows) memcpy(copy, targets, rows * sizeof *copy);

    *e = (loss_node){ .logits = logits, .loss = loss };
    e->computed = (device_loss){ .rows = rows,
                                 .width = width,
                                 .logits = logits->value,
                                 .targets = copy,
                                 .smoothing = smoothing,
                                 .scale = scale,
                                 .inverse_sums = inverse_sums,
                                 .loss = loss->value,
                                 .nll = row_losses };
    attend_device_of(c)->cross_entropy(&c->compute, &e->computed);
    if (row_losses != nll && !attend_ctx_read(c, nll, row_losses, rows * sizeof *nll)) return NULL;
    logits->consumed = true;
    if (loss->differentiable) attend_record(c, &e->node, cross_entropy_backward);
    return loss;
}
