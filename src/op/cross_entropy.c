/* cross_entropy.c: softmax and cross-entropy with label smoothing (Szegedy et al. 2016) in one operation, in place.
 *
 * With x a row of logits, m = max x, l = sum exp(x - m), lse = m + ln l, p = exp(x - lse), q the smoothed target:
 *     loss = scale sum_rows sum_v q_v (lse - x_v)  =  scale sum_rows [lse - (1 - s) x_target - s mean(x)]
 *     dx = scale (p - q)
 * Forward replaces the logits by exp(x - m) and stores 1 / l; backward replaces these by dx, which becomes the gradient
 * of the logits without a second (N, V) array. */
#include "core/tape.h"
#include "kernel/kernel.h"
#include <attend/op.h>
#include <math.h>
#include <string.h>

typedef struct loss_node {
    attend_node node;
    attend_var *logits, *loss;
    const int *targets;
    real *inverse_sums; /* (N): 1 / l */
    double smoothing, scale;
} loss_node;

static void cross_entropy_backward(attend_ctx *c, attend_node *node)
{
    (void)c;
    loss_node *e = (loss_node *)node;
    if (!e->loss->grad) return;
    const size_t width = (size_t)e->logits->shape[1];
    const double scale = e->scale * (double)e->loss->grad[0];
    const real spread = (real)(-scale * e->smoothing / (double)width);
    for (int i = 0; i < e->logits->shape[0]; i++) {
        real *x = e->logits->value + (size_t)i * width;
        if (e->targets[i] < 0) {
            memset(x, 0, width * sizeof(real));
            continue;
        }
        attend_kernel()->scale_shift(width, spread, (real)scale * e->inverse_sums[i], x, x);
        x[e->targets[i]] -= (real)(scale * (1 - e->smoothing));
    }
    e->logits->grad = e->logits->value;
}

/* One row: returns its loss (without scale), replaces the logits by their exponentials, and sets 1 / their sum and -log
 * p(target). */
static double row_forward(size_t width, real *x, int target, double smoothing, real *inverse_sum, real *nll)
{
    const attend_kernel_table *k = attend_kernel();
    const real largest = k->max(width, x);
    const double at_target = (double)x[target] - (double)largest;
    double mean = 0;
    if (smoothing > 0) mean = (double)k->sum(width, x) / (double)width - (double)largest;
    const double sum = (double)k->exp_sum(width, x, largest, x);
    const double log_sum = log(sum);
    *inverse_sum = (real)(1 / sum);
    if (nll) *nll = (real)(log_sum - at_target);
    return log_sum - (1 - smoothing) * at_target - smoothing * mean;
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
    if (!loss || !e || !copy || !inverse_sums) return NULL;
    if (rows) memcpy(copy, targets, rows * sizeof *copy);

    double total = 0;
    for (size_t i = 0; i < rows; i++) {
        if (nll) nll[i] = 0;
        if (targets[i] >= 0)
            total += row_forward(width, logits->value + i * width, targets[i], smoothing, &inverse_sums[i],
                                 nll ? &nll[i] : NULL);
    }
    loss->value[0] = (real)(scale * total);
    logits->consumed = true;

    if (loss->differentiable) {
        *e = (loss_node){ .logits = logits,
                          .loss = loss,
                          .targets = copy,
                          .inverse_sums = inverse_sums,
                          .smoothing = smoothing,
                          .scale = scale };
        attend_record(c, &e->node, cross_entropy_backward);
    }
    return loss;
}
