/* lstmn_backward.c: the backward pass of the LSTMN (lstmn.c has the formulas). */
#include "op/lstmn.h"

#include "core/tape.h"
#include "op/packed_weights.h"
#include "op/row_sum.h"
#include "op/weight_gradient.h"

/* A copy of the gradient that later operations added to v. */
static real *copy_gradient(attend_ctx *c, const attend_var *v)
{
    real *copy = attend_ctx_alloc_reals(c, v->size);
    if (copy) lstmn_copy_or_zero(v->size, v->grad, copy);
    return copy;
}

static bool gradients_alloc(attend_ctx *c, lstmn_run *r)
{
    const size_t count = (size_t)r->sequences->count;
    r->dh = copy_gradient(c, r->y);
    r->dc = copy_gradient(c, r->memory);
    if (r->source) r->dat = attend_ctx_alloc_reals(c, count * r->hidden);
    for (int i = 0; i < r->attention_count; i++) r->dkt[i] = attend_ctx_alloc_reals(c, count * r->attentions[i].width);
    if (c->status != ATTEND_OK) return false;
    r->attentions[LSTMN_SELF].dk = r->dh, r->attentions[LSTMN_SELF].dm = r->dc;
    return true;
}

static bool pack_backward(attend_ctx *c, lstmn_run *r)
{
    bool ok =
        (r->u.packed = attend_var_packed(c, r->u.w, false)) && (r->wk.packed = attend_var_packed(c, r->wk.w, false));
    for (int i = 0; i < r->attention_count; i++) ok = ok && (r->wt[i].packed = attend_var_packed(c, r->wt[i].w, false));
    if (r->source) ok = ok && (r->ur.packed = attend_var_packed(c, r->ur.w, false));
    return ok;
}

/* dh of the first n rows of step t, whose dkey is complete: dh += dkey Wk */
static void key_backward(lstmn_run *r, int t, int n)
{
    const size_t h = r->hidden, a = r->attentions[LSTMN_SELF].attention_width;
    for (int i = 0; i < n; i++)
        memcpy(r->gathered + (size_t)i * a, r->attentions[LSTMN_SELF].dkey + lstmn_row(r, i, t) * a, a * sizeof(real));
    attend_gemm_packed(PACKED_ZERO, NULL, (size_t)n, h, a, r->gathered, a, r->wk.packed, r->product, h);
    for (int i = 0; i < n; i++) attend_kernel()->add(h, r->product + (size_t)i * h, r->dh + lstmn_row(r, i, t) * h);
}

/* dkt of the n rows of step t: (dquery of the next row) Wt, for the first `next` that have a next row, + dgates w */
static void context_backward(lstmn_run *r, const step_weight *w, int kind, int t, int n, int next, size_t first,
                             size_t k)
{
    const lstmn_attention *l = &r->attentions[kind];
    const size_t width = l->width, a = l->attention_width;
    real *dkt = r->dkt[kind];
    for (int i = 0; i < next; i++)
        memcpy(r->gathered + (size_t)i * a, l->query + lstmn_row(r, i, t + 1) * a, a * sizeof(real));
    attend_gemm_packed(PACKED_ZERO, NULL, (size_t)next, width, a, r->gathered, a, r->wt[kind].packed, dkt, width);
    memset(dkt + (size_t)next * width, 0, (size_t)(n - next) * width * sizeof(real));
    attend_gemm_packed(PACKED_ADD, NULL, (size_t)n, width, k, r->recurrent + first, r->blocks * r->hidden, w->packed,
                       dkt, width);
}

/* Replaces r->gates by their derivatives and dc by the derivative of ct. */
static void gates_backward(lstmn_run *r, int t, int n)
{
    const size_t h = r->hidden, wide = r->blocks * h;
    for (int i = 0; i < n; i++) {
        const size_t row = lstmn_row(r, i, t);
        real *gates = r->gates + row * wide, *dc = r->dc + row * h;
        const real *dh = r->dh + row * h, *ct = r->attentions[LSTMN_SELF].mt + row * h,
                   *memory = r->memory->value + row * h;
        if (r->source)
            attend_kernel()->lstm_fused_backward(h, dh, ct, r->attentions[LSTMN_SOURCE].mt + row * h, memory, gates,
                                                 gates, dc, r->dat + (size_t)i * h);
        else
            attend_kernel()->lstm_backward(h, ATTEND_TANH, dh, ct, memory, gates, gates, dc);
        memcpy(r->recurrent + (size_t)i * wide, gates, wide * sizeof(real));
    }
}

static void backward_step(lstmn_run *r, int t, int n, int next)
{
    const size_t h = r->hidden;
    key_backward(r, t, next);
    gates_backward(r, t, n);
    if (r->source) {
        context_backward(r, &r->ur, LSTMN_SOURCE, t, n, next, 4 * h, h);
        for (int i = 0; i < n; i++)
            attend_lstmn_attention_backward(&r->attentions[LSTMN_SOURCE], lstmn_row(r, i, t),
                                            attend_lstmn_view(r, LSTMN_SOURCE, i, t),
                                            r->dkt[LSTMN_SOURCE] + (size_t)i * r->attentions[LSTMN_SOURCE].width,
                                            r->dat + (size_t)i * h);
    }
    if (!attend_lstmn_is_first(r, t)) context_backward(r, &r->u, LSTMN_SELF, t, n, next, 0, 4 * h);
    for (int i = 0; i < n; i++) /* at the first row this only clears the query */
        attend_lstmn_attention_backward(&r->attentions[LSTMN_SELF], lstmn_row(r, i, t),
                                        attend_lstmn_view(r, LSTMN_SELF, i, t), r->dkt[LSTMN_SELF] + (size_t)i * h,
                                        r->dc + lstmn_row(r, i, t) * h);
}

/* y = x w' + b of all rows: dx, dw and db from dy (N, out), rows `stride` apart. */
static void input_gradients(attend_ctx *c, const lstmn_run *r, attend_var *w, attend_var *b, size_t out, const real *dy,
                            size_t stride)
{
    const size_t rows = (size_t)r->sequences->rows, in = (size_t)r->x->shape[1];
    real *dx = attend_grad(c, r->x), *db = attend_grad(c, b);
    const real *packed = dx ? attend_var_packed(c, w, false) : NULL;
    if (packed) attend_gemm_packed(PACKED_ADD, NULL, rows, in, out, dy, stride, packed, dx, in);
    attend_weight_gradient(c, w, 0, rows, out, dy, stride, r->x->value, in);
    if (db) attend_row_sum(rows, out, dy, stride, db);
}

/* (N, K): kt of the row before each row. */
static const real *all_previous_kt(attend_ctx *c, const lstmn_run *r, int kind)
{
    const attend_ragged *s = r->sequences;
    const size_t width = r->attentions[kind].width;
    real *all = attend_ctx_alloc_reals(c, (size_t)s->rows * width), *to = all;
    for (int b = 0; all && b < s->count; b++)
        for (int t = 0; t < s->lengths[b]; t++, to += width)
            lstmn_copy_or_zero(width, attend_lstmn_previous_kt(r, kind, b, t), to);
    return all;
}

static void weight_gradients(attend_ctx *c, lstmn_run *r)
{
    const size_t h = r->hidden, wide = r->blocks * h, rows = (size_t)r->sequences->rows;
    input_gradients(c, r, r->w, r->b, 4 * h, r->gates, wide);
    attend_weight_gradient(c, r->u.w, 0, rows, 4 * h, r->gates, wide, r->attentions[LSTMN_SELF].kt, h);
    attend_weight_gradient(c, r->wk.w, 0, rows, r->attentions[LSTMN_SELF].attention_width,
                           r->attentions[LSTMN_SELF].dkey, r->attentions[LSTMN_SELF].attention_width, r->y->value, h);
    for (int i = 0; i < r->attention_count; i++) {
        const lstmn_attention *l = &r->attentions[i];
        input_gradients(c, r, l->wx, l->b, l->attention_width, l->query, l->attention_width);
        const real *before = l->wt->differentiable ? all_previous_kt(c, r, i) : NULL;
        if (before)
            attend_weight_gradient(c, l->wt, 0, rows, l->attention_width, l->query, l->attention_width, before,
                                   l->width);
    }
    if (!r->source) return;
    input_gradients(c, r, r->wr, r->br, h, r->gates + 4 * h, wide);
    attend_weight_gradient(c, r->ur.w, 0, rows, h, r->gates + 4 * h, wide, r->attentions[LSTMN_SOURCE].kt,
                           r->attentions[LSTMN_SOURCE].width);
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
    r->attentions[LSTMN_SELF].dkey =
        attend_ctx_alloc_zeros(c, (size_t)s->rows * r->attentions[LSTMN_SELF].attention_width);
    real *dv[2] = { attend_grad(c, r->attentions[LSTMN_SELF].v), NULL };
    if (r->source) {
        r->attentions[LSTMN_SOURCE].dk = attend_grad(c, r->source->gamma);
        r->attentions[LSTMN_SOURCE].dm = attend_grad(c, r->source->alpha);
        r->attentions[LSTMN_SOURCE].dkey = attend_grad(c, r->source->keys);
        dv[LSTMN_SOURCE] = attend_grad(c, r->attentions[LSTMN_SOURCE].v);
    }
    const attend_mark mark = attend_arena_mark(&c->arena);
    if (c->status != ATTEND_OK || !attend_lstmn_scratch_alloc(c, r) || !gradients_alloc(c, r) || !pack_backward(c, r))
        return;
    for (int t = s->max_length - 1; t >= 0; t--)
        backward_step(r, t, s->active[t], t + 1 < s->max_length ? s->active[t + 1] : 0);
    for (int i = 0; i < r->attention_count; i++)
        if (dv[i]) attend_kernel()->add(r->attentions[i].attention_width, r->attentions[i].dv, dv[i]);
    attend_arena_rewind(&c->arena, mark);
    weight_gradients(c, r);
}
