/* alignment_loss.c: loss = -scale sum_bij a_bij log(w_bij + tiny),  w_bij = 1/H sum_h weights_bhij
 *     dweights_bhij = -scale a_bij / (H (w_bij + tiny))
 * Most of a is zero; these terms are skipped. */
#include "core/tape.h"
#include "device/device.h"
#include <attend/op.h>

typedef struct alignment_node {
    attend_node node;
    attend_var *weights, *loss;
    device_alignment computed;
} alignment_node;

static void alignment_backward(attend_ctx *c, attend_node *node)
{
    alignment_node *a = (alignment_node *)node;
    a->computed.dloss = a->loss->grad;
    a->computed.dweights = a->loss->grad ? attend_grad(c, a->weights) : NULL;
    if (a->computed.dweights) attend_device_of(c)->alignment_loss_backward(&c->compute, &a->computed);
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
    c->memory->upload(copy, reference, pairs * sizeof *copy);
    const device_alignment computed = { .batch = (size_t)weights->shape[0],
                                        .heads = (size_t)weights->shape[1],
                                        .area = (size_t)weights->shape[2] * (size_t)weights->shape[3],
                                        .weights = weights->value,
                                        .reference = copy,
                                        .scale = scale,
                                        .loss = loss->value };
    attend_device_of(c)->alignment_loss(&c->compute, &computed);

    if (loss->differentiable) {
        alignment_node *a = attend_ctx_alloc(c, 1, sizeof *a);
        if (!a) return NULL;
        *a = (alignment_node){ .weights = weights, .loss = loss, .computed = computed };
        attend_record(c, &a->node, alignment_backward);
    }
    return loss;
}
