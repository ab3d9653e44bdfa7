/* check.c: f'(x) = [8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))] / 12 h + O(h^4), against the tape. */
#include <attend/check.h>

#include "core/tape.h"
#include <math.h>
#include <stdio.h>

typedef struct checker {
    attend_ctx *c;
    attend_loss_fn fn;
    void *user;
    int status;
} checker;

static attend_var *build(checker *k, bool recording)
{
    attend_ctx_reset(k->c);
    attend_ctx_set_recording(k->c, recording);
    attend_ctx_set_training(k->c, true);
    attend_ctx_set_random(k->c, 1, 1);
    attend_var *loss = k->fn(k->c, k->user);
    if (!loss && k->c->status == ATTEND_OK)
        attend_ctx_fail(k->c, ATTEND_BAD_USAGE, "attend_check_gradients: the loss is NULL");
    if (k->status == ATTEND_OK) k->status = k->c->status;
    return loss;
}

static double loss_at(checker *k, attend_param *p, size_t i, double x)
{
    real *value = attend_param_edit(p);
    if (value)
        value[i] = (real)x;
    else
        k->status = ATTEND_NO_MEMORY;
    attend_param_changed(p);
    const real *loss = attend_value(build(k, false));
    return loss ? (double)*loss : 0;
}

static double quotient(checker *k, attend_param *p, size_t i, double h)
{
    const real *value = attend_param_value(p), x = value ? value[i] : 0;
    double near = loss_at(k, p, i, (double)x + h) - loss_at(k, p, i, (double)x - h);
    double far = loss_at(k, p, i, (double)x + 2 * h) - loss_at(k, p, i, (double)x - 2 * h);
    real *edited = attend_param_edit(p);
    if (edited) edited[i] = x;
    attend_param_changed(p);
    return (8 * near - far) / (12 * h);
}

/* Compares every element of every parameter. */
static void walk(attend_check *out, checker *k, attend_params *params, const attend_grads *grads, double step)
{
    for (int i = 0; i < params->count; i++) {
        const real *gradient = attend_grads_of(grads, params->list[i]);
        for (size_t j = 0; gradient && j < params->list[i]->size; j++)
            out->largest = fmax(out->largest, fabs((double)gradient[j]));
    }
    for (int i = 0; i < params->count; i++) {
        attend_param *p = params->list[i];
        const real *gradient = attend_grads_of(grads, p);
        if (!gradient) k->status = ATTEND_NO_MEMORY;
        for (size_t j = 0; k->status == ATTEND_OK && j < p->size; j++) {
            double tape = (double)gradient[j], measured = quotient(k, p, j, step);
            double size = fmax(fmax(fabs(tape), fabs(measured)), out->largest / 1000);
            double error = size > 0 ? fabs(tape - measured) / size : 0;
            out->elements++;
            if (error <= out->worst && isfinite(error)) continue;
            out->worst = isfinite(error) ? error : INFINITY;
            out->tape = tape;
            out->quotient = measured;
            snprintf(out->where, sizeof out->where, "%s[%zu]", p->name, j);
        }
    }
}

int attend_check_gradients(attend_check *out, attend_params *params, attend_loss_fn loss, void *user, double step)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && params && loss);
    *out = (attend_check){ 0 };
    checker k = { .fn = loss, .user = user };
    attend_grads *grads = NULL;
    int status = attend_grads_new(&grads, params);
    if (status == ATTEND_OK) status = attend_ctx_new(&k.c);
    if (status == ATTEND_OK) {
        attend_ctx_set_grads(k.c, grads);
        attend_var *value = build(&k, true);
        status = attend_backward(k.c, value);
    }
    if (status == ATTEND_OK) {
        attend_ctx_set_grads(k.c, NULL);
        walk(out, &k, params, grads, step > 0 ? step : 1e-4);
        if (k.status != ATTEND_OK) status = attend_fail(k.status, "%s", k.c->message);
    }
    attend_ctx_free(k.c);
    attend_grads_free(grads);
    return status;
}
