/* lstmn_backward.c: the backward pass of the LSTMN (lstmn.c has the formulas). */
#include "op/lstmn.h"

#include "core/tape.h"
#include "op/packed_weights.h"
#include "op/product.h"
#include "op/weight_gradient.h"

/* A copy of the gradient that later operations added to v. */
static real *copy_gradient(attend_ctx *c, const attend_var *v)
{
    real *copy = attend_ctx_alloc_reals(c, v->size);
    if (copy && v->grad)
        c->memory->copy(copy, v->grad, v->size * sizeof *copy);
    else if (copy)
        c->memory->zero(copy, v->size * sizeof *copy);
    return copy;
}

static bool gradients_alloc(attend_ctx *c, lstmn_run *r)
{
    const size_t count = (size_t)r->sequences->count;
    r->dh = copy_gradient(c, r->y);
    r->dc = copy_gradient(c, r->memory);
    if (r->source) r->gates.da = attend_ctx_alloc_reals(c, count * r->hidden);
    for (int i = 0; i < r->attention_count; i++) {
        r->dkt[i] = attend_ctx_alloc_reals(c, count * r->attentions[i].d.width);
        const attend_var *weights = r->attentions[i].weights_var;
        r->attentions[i].d.doutputs = weights ? weights->grad : NULL;
    }
    if (c->status != ATTEND_OK) return false;
    r->attentions[LSTMN_SELF].d.dk = r->dh, r->attentions[LSTMN_SELF].d.dm = r->dc;
    r->gates.dh = r->dh, r->gates.dc = r->dc;
    return true;
}

static bool pack_backward(attend_ctx *c, lstmn_run *r)
{
    bool ok =
        attend_var_matrix_backward(c, r->u.w, &r->u.matrix) && attend_var_matrix_backward(c, r->wk.w, &r->wk.matrix);
    for (int i = 0; i < r->attention_count; i++) ok = ok && attend_var_matrix_backward(c, r->wt[i].w, &r->wt[i].matrix);
    if (r->source) ok = ok && attend_var_matrix_backward(c, r->ur.w, &r->ur.matrix);
    return ok;
}

static device_input from(const real *x, size_t stride, const int *rows)
{
    return (device_input){ x, stride, rows };
}

static device_output to(real *y, size_t stride, const int *rows)
{
    return (device_output){ y, stride, rows };
}

/* dh of the first n rows of the step, whose dkey is complete: dh += dkey Wk */
static bool key_backward(lstmn_run *r, int n)
{
    attend_ctx *c = r->c;
    const attend_device *d = attend_device_of(c);
    const size_t h = r->hidden, a = r->attentions[LSTMN_SELF].d.attention_width, count = (size_t)n;
    d->copy(&c->compute, count, a, from(r->attentions[LSTMN_SELF].d.dkey, a, r->rows), to(r->gathered, a, NULL));
    if (!attend_multiply(c, PACKED_ZERO, NULL, count, r->gathered, a, &r->wk.matrix, r->product, h)) return false;
    d->add(&c->compute, count, h, from(r->product, h, NULL), to(r->dh, h, r->rows));
    return true;
}

/* dkt of the n rows of the step: (dquery of the next row) Wt, for the first `next` that have a next row, + dgates w;
 * the matrix of w begins at row `first` of the gates */
static bool context_backward(lstmn_run *r, const step_weight *w, int kind, int n, int next, size_t first)
{
    attend_ctx *c = r->c;
    const device_lstmn *l = &r->attentions[kind].d;
    const size_t width = l->width, a = l->attention_width;
    real *dkt = r->dkt[kind];
    attend_device_of(c)->copy(&c->compute, (size_t)next, a, from(l->query, a, r->next_rows), to(r->gathered, a, NULL));
    if (!attend_multiply(c, PACKED_ZERO, NULL, (size_t)next, r->gathered, a, &r->wt[kind].matrix, dkt, width))
        return false;
    c->memory->zero(dkt + (size_t)next * width, (size_t)(n - next) * width * sizeof(real));
    return attend_multiply(c, PACKED_ADD, NULL, (size_t)n, r->gates.recurrent + first, r->blocks * r->hidden,
                           &w->matrix, dkt, width);
}

static bool attention_backward(lstmn_run *r, int kind, int t, int n, device_input dmt)
{
    attend_ctx *c = r->c;
    attend_lstmn_set_views(r, kind, t, n);
    return attend_ctx_computed(c, attend_device_of(c)->lstmn_attention_backward(&c->compute, &r->attentions[kind].d,
                                                                                (size_t)n, r->rows, r->views,
                                                                                r->dkt[kind], dmt));
}

static bool backward_step(lstmn_run *r, int t, int n, int next)
{
    attend_ctx *c = r->c;
    const size_t h = r->hidden;
    lstmn_set_rows(r, t, n, r->rows);
    lstmn_set_rows(r, t + 1, next, r->next_rows);
    if (!key_backward(r, next)) return false;
    attend_device_of(c)->lstmn_gates_backward(&c->compute, &r->gates, (size_t)n, r->rows);
    if (r->source && (!context_backward(r, &r->ur, LSTMN_SOURCE, n, next, 4 * h) ||
                      !attention_backward(r, LSTMN_SOURCE, t, n, from(r->gates.da, h, NULL))))
        return false;
    if (!attend_lstmn_is_first(r, t) && !context_backward(r, &r->u, LSTMN_SELF, n, next, 0)) return false;
    return attention_backward(r, LSTMN_SELF, t, n, from(r->dc, h, r->rows)); /* at the first row: clears the query */
}

/* y = x w' + b of all rows: dx, dw and db from dy (N, out), rows `stride` apart. */
static void input_gradients(attend_ctx *c, const lstmn_run *r, attend_var *w, attend_var *b, size_t out, const real *dy,
                            size_t stride)
{
    const size_t rows = (size_t)r->sequences->rows, in = (size_t)r->x->shape[1];
    real *dx = attend_grad(c, r->x), *db = attend_grad(c, b);
    packed_matrix packed;
    if (dx && attend_var_matrix_backward(c, w, &packed))
        attend_multiply(c, PACKED_ADD, NULL, rows, dy, stride, &packed, dx, in);
    attend_weight_gradient(c, w, 0, rows, out, dy, stride, r->x->value, in);
    if (db) attend_add_rows(c, rows, out, dy, stride, db);
}

/* (N, K): kt of the row before each row. */
static const real *all_previous_kt(attend_ctx *c, const lstmn_run *r, int kind)
{
    const attend_ragged *s = r->sequences;
    const size_t width = r->attentions[kind].d.width;
    real *all = attend_ctx_alloc_reals(c, (size_t)s->rows * width);
    const real **pointers = attend_ctx_alloc(c, (size_t)s->rows, sizeof *pointers), **pointer = pointers;
    if (!all || !pointers) return NULL;
    for (int b = 0; b < s->count; b++)
        for (int t = 0; t < s->lengths[b]; t++) *pointer++ = attend_lstmn_previous_kt(r, kind, b, t);
    attend_device_of(c)->copy_from(&c->compute, (size_t)s->rows, width, pointers, to(all, width, NULL));
    return all;
}

static void weight_gradients(attend_ctx *c, lstmn_run *r)
{
    const size_t h = r->hidden, wide = r->blocks * h, rows = (size_t)r->sequences->rows;
    input_gradients(c, r, r->w, r->b, 4 * h, r->gates.gates, wide);
    attend_weight_gradient(c, r->u.w, 0, rows, 4 * h, r->gates.gates, wide, r->attentions[LSTMN_SELF].d.kt, h);
    attend_weight_gradient(c, r->wk.w, 0, rows, r->attentions[LSTMN_SELF].d.attention_width,
                           r->attentions[LSTMN_SELF].d.dkey, r->attentions[LSTMN_SELF].d.attention_width, r->y->value,
                           h);
    for (int i = 0; i < r->attention_count; i++) {
        const lstmn_attention *l = &r->attentions[i];
        const device_lstmn *d = &l->d;
        input_gradients(c, r, l->wx, l->b, d->attention_width, d->query, d->attention_width);
        const real *before = l->wt->differentiable ? all_previous_kt(c, r, i) : NULL;
        if (before)
            attend_weight_gradient(c, l->wt, 0, rows, d->attention_width, d->query, d->attention_width, before,
                                   d->width);
    }
    if (!r->source) return;
    input_gradients(c, r, r->wr, r->br, h, r->gates.gates + 4 * h, wide);
    attend_weight_gradient(c, r->ur.w, 0, rows, h, r->gates.gates + 4 * h, wide, r->attentions[LSTMN_SOURCE].d.kt,
                           r->attentions[LSTMN_SOURCE].d.width);
}

static bool no_gradient(const lstmn_run *r)
{
    for (int i = 0; i < r->attention_count; i++)
        if (r->attentions[i].weights_var && r->attentions[i].weights_var->grad) return false;
    return !r->y->grad && !r->memory->grad;
}

void attend_lstmn_backward(attend_ctx *c, attend_node *node)
{
    lstmn_run *r = (lstmn_run *)node;
    const attend_ragged *s = r->sequences;
    if (no_gradient(r)) return;
    /* allocated before the mark, because it outlives the rewind */
    r->attentions[LSTMN_SELF].d.dkey =
        attend_ctx_alloc_zeros(c, (size_t)s->rows * r->attentions[LSTMN_SELF].d.attention_width);
    real *dv[2] = { attend_grad(c, r->attentions[LSTMN_SELF].v), NULL };
    if (r->source) {
        r->attentions[LSTMN_SOURCE].d.dk = attend_grad(c, r->source->gamma);
        r->attentions[LSTMN_SOURCE].d.dm = attend_grad(c, r->source->alpha);
        r->attentions[LSTMN_SOURCE].d.dkey = attend_grad(c, r->source->keys);
        dv[LSTMN_SOURCE] = attend_grad(c, r->attentions[LSTMN_SOURCE].v);
    }
    const attend_mark mark = attend_ctx_mark(c);
    if (c->status != ATTEND_OK || !attend_lstmn_scratch_alloc(c, r) || !gradients_alloc(c, r) || !pack_backward(c, r))
        return;
    for (int t = s->max_length - 1; t >= 0; t--)
        if (!backward_step(r, t, s->active[t], t + 1 < s->max_length ? s->active[t + 1] : 0)) return;
    for (int i = 0; i < r->attention_count; i++)
        if (dv[i]) attend_add_rows(c, 1, r->attentions[i].d.attention_width, r->attentions[i].d.dv, 0, dv[i]);
    attend_ctx_release(c, mark);
    weight_gradients(c, r);
}
