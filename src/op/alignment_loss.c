/* alignment_loss.c: loss = -scale sum_bij a_bij log(w_bij + tiny),  w_bij = 1/H sum_h weights_bhij
 *     dweights_bhij = -scale a_bij / (H (w_bij + tiny))
 * Most of a is zero; these terms are skipped. */
#include "core/tape.h"
#include <attend/op.h>
#include <math.h>
#include <string.h>

static const double tiny = 1e-6;

typedef struct alignment_node {
    attend_node node;
    attend_var *weights, *loss;
    const real *reference;
    double scale;
} alignment_node;

/* Weight (b, i, j) of the first head; those of the other heads follow at a distance of `stride`. */
static size_t first_head(const attend_var *weights, size_t pair, size_t *stride)
{
    const size_t area = (size_t)weights->shape[2] * (size_t)weights->shape[3];
    *stride = area;
    return pair / area * area * (size_t)weights->shape[1] + pair % area;
}

static double mean_weight(const attend_var *weights, size_t pair)
{
    size_t stride, at = first_head(weights, pair, &stride);
    double sum = 0;
    for (int h = 0; h < weights->shape[1]; h++, at += stride) sum += (double)weights->value[at];
    return sum / weights->shape[1];
}

static void alignment_backward(attend_ctx *c, attend_node *node)
{
    alignment_node *a = (alignment_node *)node;
    real *dw = a->loss->grad ? attend_grad(c, a->weights) : NULL;
    if (!dw) return;
    const size_t pairs = a->weights->size / (size_t)a->weights->shape[1];
    const double scale = a->scale * (double)a->loss->grad[0] / a->weights->shape[1];
    for (size_t i = 0; i < pairs; i++) {
        if (a->reference[i] == 0) continue;
        const real d = (real)(-scale * (double)a->reference[i] / (mean_weight(a->weights, i) + tiny));
        size_t stride, at = first_head(a->weights, i, &stride);
        for (int h = 0; h < a->weights->shape[1]; h++, at += stride) dw[at] += d;
    }
}

attend_var *attend_alignment_loss(attend_ctx *c, attend_var *weights, const real *reference, double scale)
{
    ATTEND_REQUIRE_IN(c, reference);
    if (!attend_check_inputs(c, "attend_alignment_loss", 1, weights)) return NULL;
    char text[ATTEND_SHAPE_TEXT];
    if (weights->rank != 4 || weights->shape[1] < 1)
        return attend_ctx_fail(c, ATTEND_BAD_USAGE,
                               "attend_alignment_loss: the weights have shape %s, expected (B, H, Tq, Tk)",
                               attend_shape_text(weights, text));
    const size_t pairs = weights->size / (size_t)weights->shape[1];
    attend_var *loss = attend_var_new(c, 1, (const int[]){ 1 }, weights->differentiable);
    real *copy = attend_ctx_alloc_reals(c, pairs);
    if (!loss || !copy) return NULL;
    memcpy(copy, reference, pairs * sizeof *copy);
    double sum = 0;
    for (size_t i = 0; i < pairs; i++)
        if (copy[i] != 0) sum -= (double)copy[i] * log(mean_weight(weights, i) + tiny);
    loss->value[0] = (real)(scale * sum);

    if (loss->differentiable) {
        alignment_node *a = attend_ctx_alloc(c, 1, sizeof *a);
        if (!a) return NULL;
        *a = (alignment_node){ .weights = weights, .loss = loss, .reference = copy, .scale = scale };
        attend_record(c, &a->node, alignment_backward);
    }
    return loss;
}
