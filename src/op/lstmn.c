/* lstmn.c: the long short-term memory-network (Cheng, Dong, Lapata 2016) over a batch of sequences as one operation.
 *     (ht, ct) = attention over (h, c) of the previous rows       (device/cpu_lstmn.c)
 *     i, f, o = sigmoid(W x + U ht + b)   g = tanh(.)   c = f ct + i g   h = o tanh(c)
 * and, with deep fusion,
 *     (gt, at) = attention over the tapes of a source   r = sigmoid(Wr x + Ur gt + br)   c = r at + f ct + i g
 *
 * As in cell.c, products that do not depend on the previous step run once over all rows: W x and Wx x in the forward
 * pass, dx and the gradients of all weights in the backward pass. The products U ht, Wt ht (for the query of the next
 * row) and Wk h (for the keys) run step by step over the active sequences. The backward pass runs the steps in reverse,
 * so that dh and dc of a row are complete when it is processed: only later rows attend to it. */
#include "op/lstmn.h"

#include "core/tape.h"
#include "op/packed_weights.h"
#include "op/product.h"
#include <string.h>

static int past_count_of(const lstmn_run *r, int sequence)
{
    return r->past_offsets ? r->past_offsets[sequence + 1] - r->past_offsets[sequence] : 0;
}

/* The rows that row t of a sequence attends to. */
static device_lstmn_view self_view(const lstmn_run *r, int sequence, int t)
{
    const int past = past_count_of(r, sequence), all = past + t, attended = r->span && r->span < all ? r->span : all;
    const int own = attended < t ? attended : t;
    device_lstmn_view v = { .past_count = attended - own, .count = own };
    v.first = (size_t)(r->sequences->offsets[sequence] + t - own);
    if (v.past_count) v.past = r->past + r->past_offsets[sequence] + past - v.past_count;
    return v;
}

static device_lstmn_view source_view(const lstmn_run *r, int sequence)
{
    const int source = r->source_of ? r->source_of[sequence] : sequence;
    return (device_lstmn_view){ .first = (size_t)r->source->sequences->offsets[source],
                                .count = r->source->sequences->lengths[source] };
}

void attend_lstmn_set_views(lstmn_run *r, int kind, int t, int n)
{
    for (int i = 0; i < n; i++) {
        const int sequence = r->sequences->order[i];
        r->views[i] = kind == LSTMN_SELF ? self_view(r, sequence, t) : source_view(r, sequence);
    }
}

const real *attend_lstmn_previous_kt(const lstmn_run *r, int kind, int sequence, int t)
{
    const device_lstmn *l = &r->attentions[kind].d;
    if (t > 0) return l->kt + (size_t)(r->sequences->offsets[sequence] + t - 1) * l->width;
    if (past_count_of(r, sequence) == 0) return NULL;
    return r->past[r->past_offsets[sequence + 1] - 1] + (kind == LSTMN_SELF ? r->tape.context : r->tape.source_context);
}

/* ---- memory ---- */

/* Allocates the weights and sets their offsets. want_weights: also creates the variable with the weights. */
static bool weights_alloc(attend_ctx *c, lstmn_run *r, int kind, bool want_weights, bool differentiable)
{
    const attend_ragged *s = r->sequences;
    lstmn_attention *l = &r->attentions[kind];
    size_t *offsets = attend_ctx_alloc(c, (size_t)s->rows + 1, sizeof *offsets);
    size_t *output_offsets = want_weights ? attend_ctx_alloc(c, (size_t)s->rows, sizeof *output_offsets) : NULL;
    if (c->status != ATTEND_OK) return false;
    int columns = 0;
    for (int b = 0; b < s->count; b++) {
        const int attended = kind == LSTMN_SELF ? past_count_of(r, b) + s->lengths[b] : source_view(r, b).count;
        if (attended > columns) columns = attended;
    }
    if (want_weights) {
        l->weights_var = attend_var_new(c, 4, (const int[]){ s->count, 1, s->max_length, columns }, differentiable);
        if (!l->weights_var) return false;
        l->d.outputs = l->weights_var->value;
        c->memory->zero(l->d.outputs, l->weights_var->size * sizeof(real));
    }
    size_t end = 0;
    for (int b = 0; b < s->count; b++)
        for (int t = 0; t < s->lengths[b]; t++) {
            const size_t row = (size_t)s->offsets[b] + (size_t)t;
            const device_lstmn_view v = kind == LSTMN_SELF ? self_view(r, b, t) : source_view(r, b);
            const int attended = v.past_count + v.count,
                      first = kind == LSTMN_SELF ? past_count_of(r, b) + t - attended : 0;
            offsets[row] = end;
            end += (size_t)attended;
            if (output_offsets)
                output_offsets[row] = ((size_t)b * (size_t)s->max_length + (size_t)t) * (size_t)columns + (size_t)first;
        }
    offsets[s->rows] = end;
    l->d.weight_offsets = offsets, l->d.output_offsets = output_offsets;
    l->d.weights = attend_ctx_alloc_reals(c, end);
    return l->d.weights != NULL;
}

/* Allocates what the backward pass needs of one kind of attention. */
static bool attention_alloc(attend_ctx *c, lstmn_run *r, int kind, bool want_weights, bool differentiable)
{
    const size_t rows = (size_t)r->sequences->rows;
    device_lstmn *l = &r->attentions[kind].d;
    l->query = attend_ctx_alloc_reals(c, rows * l->attention_width);
    l->kt = attend_ctx_alloc_reals(c, rows * l->width);
    l->mt = attend_ctx_alloc_reals(c, rows * l->hidden);
    return c->status == ATTEND_OK && weights_alloc(c, r, kind, want_weights, differentiable);
}

static bool outputs_alloc(attend_ctx *c, lstmn_run *r, const attend_lstmn_io *io, bool differentiable)
{
    const size_t rows = (size_t)r->sequences->rows, a = r->attentions[LSTMN_SELF].d.attention_width;
    r->y = attend_var_2d(c, r->sequences->rows, (int)r->hidden, differentiable);
    r->memory = attend_var_2d(c, r->sequences->rows, (int)r->hidden, differentiable);
    r->gates.gates = attend_ctx_alloc_reals(c, rows * r->blocks * r->hidden);
    r->key = attend_ctx_alloc_reals(c, rows * a);
    r->prepared = attend_ctx_alloc_reals(c, rows * attend_device_of(c)->additive_row(a));
    if (c->status != ATTEND_OK) return false;
    device_lstmn *self = &r->attentions[LSTMN_SELF].d;
    self->k = r->y->value, self->m = r->memory->value, self->key = r->key, self->prepared = r->prepared;
    for (int i = 0; i < r->attention_count; i++)
        if (!attention_alloc(c, r, i, i == LSTMN_SELF ? io->want_weights : io->want_source_weights, differentiable))
            return false;
    r->gates.hidden = r->hidden, r->gates.blocks = r->blocks;
    r->gates.ct = self->mt, r->gates.at = r->source ? r->attentions[LSTMN_SOURCE].d.mt : NULL;
    r->gates.memory = r->memory->value, r->gates.h = r->y->value;
    return true;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* v padded with zeros, as the device needs it, and zeros for its gradient. */
static bool pad_v(attend_ctx *c, lstmn_attention *l)
{
    const size_t padded = attend_device_of(c)->additive_width(l->d.attention_width);
    real *v = attend_ctx_alloc_zeros(c, padded);
    l->d.v = v;
    l->d.dv = attend_ctx_alloc_zeros(c, padded);
    if (c->status == ATTEND_OK) c->memory->copy(v, l->v->value, l->d.attention_width * sizeof(real));
    return c->status == ATTEND_OK;
}

bool attend_lstmn_scratch_alloc(attend_ctx *c, lstmn_run *r)
{
    const size_t count = (size_t)r->sequences->count;
    size_t max_width = r->hidden;
    for (int i = 0; i < r->attention_count; i++) {
        device_lstmn *l = &r->attentions[i].d;
        for (int row = 0; row < r->sequences->rows; row++)
            l->max_count = larger(l->max_count, l->weight_offsets[row + 1] - l->weight_offsets[row]);
        max_width = larger(max_width, larger(l->width, l->attention_width));
        if (!pad_v(c, &r->attentions[i])) return false;
    }
    r->gathered = attend_ctx_alloc_reals(c, count * max_width);
    r->product = attend_ctx_alloc_reals(c, count * max_width);
    r->gates.recurrent = attend_ctx_alloc_reals(c, count * r->blocks * r->hidden);
    r->rows = attend_ctx_alloc(c, count, sizeof *r->rows);
    r->next_rows = attend_ctx_alloc(c, count, sizeof *r->next_rows);
    r->views = attend_ctx_alloc(c, count, sizeof *r->views);
    r->pointers = attend_ctx_alloc(c, count, sizeof *r->pointers);
    return c->status == ATTEND_OK;
}

/* ---- forward ---- */

static device_input from(const real *x, size_t stride, const int *rows)
{
    return (device_input){ x, stride, rows };
}

static device_output to(real *y, size_t stride, const int *rows)
{
    return (device_output){ y, stride, rows };
}

/* y = (the first n gathered rows) w' */
static bool multiply(lstmn_run *r, const step_weight *s, int n, real *y, size_t ldy)
{
    return attend_multiply(r->c, PACKED_ZERO, NULL, (size_t)n, r->gathered, s->matrix.k, &s->matrix, y, ldy);
}

/* The contribution of x to every row: y = x w' + b. */
static bool input_product(attend_ctx *c, const lstmn_run *r, attend_var *w, attend_var *b, real *y, size_t ldy)
{
    packed_matrix matrix;
    return attend_var_matrix(c, w, &matrix) &&
           attend_multiply(c, b ? PACKED_BIAS : PACKED_ZERO, b ? b->value : NULL, (size_t)r->sequences->rows,
                           r->x->value, (size_t)r->x->shape[1], &matrix, y, ldy);
}

static bool input_products(attend_ctx *c, lstmn_run *r)
{
    const size_t gate_width = r->blocks * r->hidden;
    bool ok = input_product(c, r, r->w, r->b, r->gates.gates, gate_width);
    if (r->source) ok = ok && input_product(c, r, r->wr, r->br, r->gates.gates + 4 * r->hidden, gate_width);
    for (int i = 0; i < r->attention_count; i++) {
        const lstmn_attention *l = &r->attentions[i];
        ok = ok && input_product(c, r, l->wx, l->b, l->d.query, l->d.attention_width);
    }
    return ok;
}

/* Computes the keys of n rows of h. */
static bool make_keys(lstmn_run *r, int n, const int *rows)
{
    attend_ctx *c = r->c;
    const attend_device *d = attend_device_of(c);
    const size_t h = r->hidden, a = r->attentions[LSTMN_SELF].d.attention_width, count = (size_t)n;
    d->copy(&c->compute, count, h, from(r->y->value, h, rows), to(r->gathered, h, NULL));
    if (!multiply(r, &r->wk, n, r->product, a)) return false;
    d->copy(&c->compute, count, a, from(r->product, a, NULL), to(r->key, a, rows));
    d->additive_keys(&c->compute, count, a, from(r->product, a, NULL), to(r->prepared, d->additive_row(a), rows));
    return true;
}

/* query += Wt kt', where kt' is kt of the previous row */
static bool finish_queries(lstmn_run *r, int kind, int t, int n)
{
    attend_ctx *c = r->c;
    const attend_device *d = attend_device_of(c);
    const device_lstmn *l = &r->attentions[kind].d;
    for (int i = 0; i < n; i++) r->pointers[i] = attend_lstmn_previous_kt(r, kind, r->sequences->order[i], t);
    d->copy_from(&c->compute, (size_t)n, l->width, r->pointers, to(r->gathered, l->width, NULL));
    if (!multiply(r, &r->wt[kind], n, r->product, l->attention_width)) return false;
    d->add(&c->compute, (size_t)n, l->attention_width, from(r->product, l->attention_width, NULL),
           to(l->query, l->attention_width, r->rows));
    return true;
}

/* Writes w kt, the contribution of the attention to the gates, to columns of `recurrent` from `first` on. */
static bool recurrent_product(lstmn_run *r, const step_weight *w, int kind, int n, size_t first)
{
    attend_ctx *c = r->c;
    const device_lstmn *l = &r->attentions[kind].d;
    attend_device_of(c)->copy(&c->compute, (size_t)n, l->width, from(l->kt, l->width, r->rows),
                              to(r->gathered, l->width, NULL));
    return multiply(r, w, n, r->gates.recurrent + first, r->blocks * r->hidden);
}

bool attend_lstmn_is_first(const lstmn_run *r, int t)
{
    return t == 0 && !r->past_offsets;
}

static bool forward_step(lstmn_run *r, int t, int n)
{
    attend_ctx *c = r->c;
    const attend_device *d = attend_device_of(c);
    const size_t h = r->hidden;
    const bool first = attend_lstmn_is_first(r, t);
    lstmn_set_rows(r, t - 1, n, r->rows);
    if (t > 0 && !make_keys(r, n, r->rows)) return false;
    lstmn_set_rows(r, t, n, r->rows);
    for (int kind = 0; kind < r->attention_count; kind++) {
        if (!first && !finish_queries(r, kind, t, n)) return false;
        attend_lstmn_set_views(r, kind, t, n);
        if (!attend_ctx_computed(c,
                                 d->lstmn_attention(&c->compute, &r->attentions[kind].d, (size_t)n, r->rows, r->views)))
            return false;
    }
    if (first) /* ht is 0 */
        c->memory->zero(r->gates.recurrent, (size_t)n * r->blocks * h * sizeof(real));
    else if (!recurrent_product(r, &r->u, LSTMN_SELF, n, 0))
        return false;
    if (r->source && !recurrent_product(r, &r->ur, LSTMN_SOURCE, n, 4 * h)) return false;
    d->lstmn_gates(&c->compute, &r->gates, (size_t)n, r->rows);
    return true;
}

/* Fills the tape. First computes the keys of the last rows, which only a later call reads. */
static bool fill_tape(lstmn_run *r, attend_var *tape)
{
    const attend_ragged *s = r->sequences;
    const device_lstmn *self = &r->attentions[LSTMN_SELF].d, *source = &r->attentions[LSTMN_SOURCE].d;
    const size_t h = r->hidden, a = self->attention_width;
    const int n = s->max_length > 0 ? s->active[0] : 0;
    for (int i = 0; i < n; i++) r->rows[i] = s->offsets[s->order[i]] + s->lengths[s->order[i]] - 1;
    if (!make_keys(r, n, r->rows)) return false;
    const struct {
        const real *rows;
        size_t width, at;
    } parts[] = { { r->y->value, h, 0 },
                  { r->memory->value, h, r->tape.memory },
                  { self->kt, h, r->tape.context },
                  { r->source ? source->kt : NULL, r->source ? source->width : 0, r->tape.source_context },
                  { r->key, a, r->tape.key },
                  { r->prepared, attend_device_of(r->c)->additive_row(a), r->tape.prepared } };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].rows)
            attend_device_of(r->c)->copy(&r->c->compute, (size_t)s->rows, parts[i].width,
                                         from(parts[i].rows, parts[i].width, NULL),
                                         to(tape->value + parts[i].at, r->tape.width, NULL));
    return true;
}

static bool forward(attend_ctx *c, lstmn_run *r, attend_var *tape)
{
    const attend_ragged *s = r->sequences;
    bool ok = attend_var_matrix(c, r->u.w, &r->u.matrix) && attend_var_matrix(c, r->wk.w, &r->wk.matrix) &&
              attend_lstmn_scratch_alloc(c, r);
    for (int i = 0; i < r->attention_count; i++) ok = ok && attend_var_matrix(c, r->wt[i].w, &r->wt[i].matrix);
    if (r->source) ok = ok && attend_var_matrix(c, r->ur.w, &r->ur.matrix);
    if (!ok || !input_products(c, r)) return false;
    for (int t = 0; t < s->max_length; t++)
        if (!forward_step(r, t, s->active[t])) return false;
    return !tape || fill_tape(r, tape);
}

/* ---- the operation ---- */

static void attention_init(lstmn_run *r, int kind, const attend_lstmn_attention *weights)
{
    r->attentions[kind] = (lstmn_attention){ .wx = weights->wx,
                                             .wt = weights->wt,
                                             .b = weights->b,
                                             .v = weights->v,
                                             .d = { .attention_width = (size_t)weights->wk->shape[0],
                                                    .width = (size_t)weights->wk->shape[1],
                                                    .hidden = r->hidden } };
    r->wt[kind].w = weights->wt;
    r->attention_count = kind + 1;
}

static bool source_init(attend_ctx *c, lstmn_run *r, const attend_lstmn_io *io)
{
    const attend_lstmn_source *s = r->source = io->source;
    if (!s) return true;
    attention_init(r, LSTMN_SOURCE, &s->fusion.attention);
    device_lstmn *l = &r->attentions[LSTMN_SOURCE].d;
    l->k = s->gamma->value, l->m = s->alpha->value, l->key = s->keys->value, l->prepared = s->prepared;
    r->wr = s->fusion.w, r->br = s->fusion.b, r->ur.w = s->fusion.u;
    r->blocks = 5;
    if (!io->source_of) return true;
    int *copy = attend_ctx_alloc(c, (size_t)r->sequences->count, sizeof *copy);
    if (copy) memcpy(copy, io->source_of, (size_t)r->sequences->count * sizeof *copy);
    return (r->source_of = copy) != NULL;
}

static bool past_init(attend_ctx *c, lstmn_run *r, const attend_lstmn_past *past, bool on_device)
{
    if (!past) return true;
    const int count = r->sequences->count;
    int *offsets = attend_ctx_alloc(c, (size_t)count + 1, sizeof *offsets);
    if (!offsets) return false;
    offsets[0] = 0;
    for (int b = 0; b < count; b++) offsets[b + 1] = offsets[b] + past->lengths[b];
    const real **rows = attend_ctx_alloc(c, (size_t)offsets[count], sizeof *rows);
    for (int i = 0; rows && i < offsets[count]; i++)
        rows[i] = on_device ? past->rows[i] : attend_ctx_lend(c, past->rows[i], r->tape.width);
    r->past_offsets = offsets, r->past = rows;
    return c->status == ATTEND_OK;
}

static bool any_differentiable(const lstmn_run *r, const attend_lstmn_cell *cell)
{
    const attend_lstmn_source *s = r->source;
    const attend_var *own[] = { r->x,
                                cell->w,
                                cell->u,
                                cell->b,
                                cell->attention.wk,
                                cell->attention.wx,
                                cell->attention.wt,
                                cell->attention.b,
                                cell->attention.v };
    const attend_var *others[] = { s ? s->gamma : NULL,
                                   s ? s->alpha : NULL,
                                   s ? s->keys : NULL,
                                   s ? s->fusion.w : NULL,
                                   s ? s->fusion.u : NULL,
                                   s ? s->fusion.b : NULL,
                                   s ? s->fusion.attention.wx : NULL,
                                   s ? s->fusion.attention.wt : NULL,
                                   s ? s->fusion.attention.b : NULL,
                                   s ? s->fusion.attention.v : NULL };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] && own[i]->differentiable) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] && others[i]->differentiable) return true;
    return false;
}

static lstmn_run *run_new(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x, const attend_ragged *sequences,
                          const attend_lstmn_io *io, bool past_on_device)
{
    lstmn_run *r = attend_ctx_alloc(c, 1, sizeof *r);
    if (!r) return NULL;
    *r = (lstmn_run){ .c = c,
                      .x = x,
                      .w = cell->w,
                      .b = cell->b,
                      .u = { .w = cell->u },
                      .wk = { .w = cell->attention.wk },
                      .sequences = sequences,
                      .span = cell->span,
                      .hidden = (size_t)cell->u->shape[1],
                      .blocks = 4 };
    attention_init(r, LSTMN_SELF, &cell->attention);
    if (!source_init(c, r, io)) return NULL;
    r->tape = attend_lstmn_tape(attend_device_of(r->c), r->hidden, r->source ? r->attentions[LSTMN_SOURCE].d.width : 0,
                                r->attentions[LSTMN_SELF].d.attention_width);
    if (!past_init(c, r, io->past, past_on_device)) return NULL;
    device_lstmn *self = &r->attentions[LSTMN_SELF].d;
    self->past_memory = r->tape.memory, self->past_key = r->tape.key, self->past_prepared = r->tape.prepared;
    return outputs_alloc(c, r, io, any_differentiable(r, cell)) ? r : NULL;
}

static attend_var *run(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x, const attend_ragged *sequences,
                       attend_lstmn_io *io, bool past_on_device)
{
    attend_lstmn_io defaults = { 0 };
    if (!io) io = &defaults;
    io->c = io->tape = io->weights = io->source_weights = NULL;
    if (!attend_lstmn_fits(c, cell, x, sequences, io)) return NULL;
    lstmn_run *r = run_new(c, cell, x, sequences, io, past_on_device);
    attend_var *tape = r && io->want_tape ? attend_var_2d(c, sequences->rows, (int)r->tape.width, false) : NULL;
    if (c->status != ATTEND_OK) return NULL;
    const attend_mark mark = attend_ctx_mark(c);
    const bool ok = forward(c, r, tape);
    attend_ctx_release(c, mark);
    if (!ok) return NULL;
    r->y->needed = r->memory->needed = true;
    if (r->y->differentiable) attend_record(c, &r->node, attend_lstmn_backward);
    io->c = r->memory;
    io->tape = tape;
    io->weights = r->attentions[LSTMN_SELF].weights_var;
    io->source_weights = io->source ? r->attentions[LSTMN_SOURCE].weights_var : NULL;
    return r->y;
}

attend_var *attend_lstmn_sequence(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x,
                                  const attend_ragged *sequences, attend_lstmn_io *io)
{
    ATTEND_REQUIRE_IN(c, cell);
    return run(c, cell, x, sequences, io, false);
}

attend_var *attend_lstmn_step(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x,
                              const attend_ragged *sequences, attend_lstmn_io *io)
{
    return run(c, cell, x, sequences, io, true);
}
