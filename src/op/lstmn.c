/* lstmn.c: the long short-term memory-network (Cheng, Dong, Lapata 2016) over a batch of sequences as one operation.
 *     (ht, ct) = attention over (h, c) of the previous rows       (lstmn_attention.c)
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
static lstmn_view self_view(const lstmn_run *r, int sequence, int t)
{
    const int past = past_count_of(r, sequence), all = past + t, attended = r->span && r->span < all ? r->span : all;
    const int own = attended < t ? attended : t;
    lstmn_view v = { .past_count = attended - own, .count = own };
    v.first = (size_t)(r->sequences->offsets[sequence] + t - own);
    if (v.past_count) v.past = r->past + r->past_offsets[sequence] + past - v.past_count;
    return v;
}

static lstmn_view source_view(const lstmn_run *r, int sequence)
{
    const int source = r->source_of ? r->source_of[sequence] : sequence;
    return (lstmn_view){ .first = (size_t)r->source->sequences->offsets[source],
                         .count = r->source->sequences->lengths[source] };
}

lstmn_view attend_lstmn_view(const lstmn_run *r, int kind, int i, int t)
{
    const int sequence = r->sequences->order[i];
    return kind == LSTMN_SELF ? self_view(r, sequence, t) : source_view(r, sequence);
}

const real *attend_lstmn_previous_kt(const lstmn_run *r, int kind, int sequence, int t)
{
    const lstmn_attention *l = &r->attentions[kind];
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
        memset(l->weights_var->value, 0, l->weights_var->size * sizeof(real));
    }
    size_t end = 0;
    for (int b = 0; b < s->count; b++)
        for (int t = 0; t < s->lengths[b]; t++) {
            const size_t row = (size_t)s->offsets[b] + (size_t)t;
            const lstmn_view v = kind == LSTMN_SELF ? self_view(r, b, t) : source_view(r, b);
            const int attended = v.past_count + v.count,
                      first = kind == LSTMN_SELF ? past_count_of(r, b) + t - attended : 0;
            offsets[row] = end;
            end += (size_t)attended;
            if (output_offsets)
                output_offsets[row] = ((size_t)b * (size_t)s->max_length + (size_t)t) * (size_t)columns + (size_t)first;
        }
    offsets[s->rows] = end;
    l->weight_offsets = offsets, l->output_offsets = output_offsets;
    l->weights = attend_ctx_alloc_reals(c, end);
    return l->weights != NULL;
}

/* Allocates what the backward pass needs of one kind of attention. */
static bool attention_alloc(attend_ctx *c, lstmn_run *r, int kind, bool want_weights, bool differentiable)
{
    const size_t rows = (size_t)r->sequences->rows;
    lstmn_attention *l = &r->attentions[kind];
    l->query = attend_ctx_alloc_reals(c, rows * l->attention_width);
    l->kt = attend_ctx_alloc_reals(c, rows * l->width);
    l->mt = attend_ctx_alloc_reals(c, rows * l->hidden);
    return c->status == ATTEND_OK && weights_alloc(c, r, kind, want_weights, differentiable);
}

static bool outputs_alloc(attend_ctx *c, lstmn_run *r, const attend_lstmn_io *io, bool differentiable)
{
    const size_t rows = (size_t)r->sequences->rows, a = r->attentions[LSTMN_SELF].attention_width;
    r->y = attend_var_2d(c, r->sequences->rows, (int)r->hidden, differentiable);
    r->memory = attend_var_2d(c, r->sequences->rows, (int)r->hidden, differentiable);
    r->gates = attend_ctx_alloc_reals(c, rows * r->blocks * r->hidden);
    r->key = attend_ctx_alloc_reals(c, rows * a);
    r->prepared = attend_ctx_alloc_reals(c, rows * attend_additive_row_size(a));
    if (c->status != ATTEND_OK) return false;
    r->attentions[LSTMN_SELF].k = r->y->value, r->attentions[LSTMN_SELF].m = r->memory->value;
    r->attentions[LSTMN_SELF].key = r->key, r->attentions[LSTMN_SELF].prepared = r->prepared;
    for (int i = 0; i < r->attention_count; i++)
        if (!attention_alloc(c, r, i, i == LSTMN_SELF ? io->want_weights : io->want_source_weights, differentiable))
            return false;
    return true;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

bool attend_lstmn_scratch_alloc(attend_ctx *c, lstmn_run *r)
{
    const size_t count = (size_t)r->sequences->count;
    size_t max_width = r->hidden;
    for (int i = 0; i < r->attention_count; i++) {
        lstmn_attention *l = &r->attentions[i];
        size_t max_count = 0;
        for (int row = 0; row < r->sequences->rows; row++)
            max_count = larger(max_count, l->weight_offsets[row + 1] - l->weight_offsets[row]);
        max_width = larger(max_width, larger(l->width, l->attention_width));
        if (!attend_lstmn_attention_scratch(c, l, max_count)) return false;
    }
    r->gathered = attend_ctx_alloc_reals(c, count * max_width);
    r->product = attend_ctx_alloc_reals(c, count * max_width);
    r->recurrent = attend_ctx_alloc_reals(c, count * r->blocks * r->hidden);
    return c->status == ATTEND_OK;
}

/* ---- forward ---- */

static bool pack_forward(attend_ctx *c, const lstmn_run *r, step_weight *s)
{
    return attend_var_matrix(c, s->w, &s->matrix) &&
           attend_activations_new(c, &s->rows, (size_t)r->sequences->count, &s->matrix);
}

/* y = (the first n gathered rows) w' */
static void multiply(lstmn_run *r, step_weight *s, int n, real *y, size_t ldy)
{
    attend_activations_set(&s->rows, (size_t)n, r->gathered, s->matrix.k, &s->matrix);
    attend_product(r->c, PACKED_ZERO, NULL, &s->rows, &s->matrix, y, ldy);
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
    bool ok = input_product(c, r, r->w, r->b, r->gates, gate_width);
    if (r->source) ok = ok && input_product(c, r, r->wr, r->br, r->gates + 4 * r->hidden, gate_width);
    for (int i = 0; i < r->attention_count; i++) {
        const lstmn_attention *l = &r->attentions[i];
        ok = ok && input_product(c, r, l->wx, l->b, l->query, l->attention_width);
    }
    return ok;
}

/* Computes the keys of n rows of h. */
static void make_keys(lstmn_run *r, int n, const size_t *rows)
{
    const size_t h = r->hidden, a = r->attentions[LSTMN_SELF].attention_width, size = attend_additive_row_size(a);
    for (int i = 0; i < n; i++) memcpy(r->gathered + (size_t)i * h, r->y->value + rows[i] * h, h * sizeof(real));
    multiply(r, &r->wk, n, r->product, a);
    for (int i = 0; i < n; i++) {
        memcpy(r->key + rows[i] * a, r->product + (size_t)i * a, a * sizeof(real));
        attend_additive_prepare(1, a, r->product + (size_t)i * a, a, r->prepared + rows[i] * size);
    }
}

/* query += Wt kt', where kt' is kt of the previous row */
static void finish_queries(lstmn_run *r, int kind, int t, int n)
{
    const lstmn_attention *l = &r->attentions[kind];
    for (int i = 0; i < n; i++)
        lstmn_copy_or_zero(l->width, attend_lstmn_previous_kt(r, kind, r->sequences->order[i], t),
                           r->gathered + (size_t)i * l->width);
    multiply(r, &r->wt[kind], n, r->product, l->attention_width);
    for (int i = 0; i < n; i++)
        attend_kernel()->add(l->attention_width, r->product + (size_t)i * l->attention_width,
                             l->query + lstmn_row(r, i, t) * l->attention_width);
}

/* Writes w kt, the contribution of the attention to the gates, to columns of `recurrent` from `first` on. */
static void recurrent_product(lstmn_run *r, step_weight *w, int kind, int t, int n, size_t first)
{
    const lstmn_attention *l = &r->attentions[kind];
    for (int i = 0; i < n; i++)
        memcpy(r->gathered + (size_t)i * l->width, l->kt + lstmn_row(r, i, t) * l->width, l->width * sizeof(real));
    multiply(r, w, n, r->recurrent + first, r->blocks * r->hidden);
}

bool attend_lstmn_is_first(const lstmn_run *r, int t)
{
    return t == 0 && !r->past_offsets;
}

static void forward_step(lstmn_run *r, int t, int n, size_t *rows)
{
    const size_t h = r->hidden, gate_width = r->blocks * h;
    if (t > 0) {
        for (int i = 0; i < n; i++) rows[i] = lstmn_row(r, i, t - 1);
        make_keys(r, n, rows);
    }
    for (int kind = 0; kind < r->attention_count; kind++) {
        if (!attend_lstmn_is_first(r, t)) finish_queries(r, kind, t, n);
        for (int i = 0; i < n; i++)
            attend_lstmn_attention_forward(&r->attentions[kind], lstmn_row(r, i, t), attend_lstmn_view(r, kind, i, t));
    }
    if (attend_lstmn_is_first(r, t)) /* ht is 0 */
        memset(r->recurrent, 0, (size_t)n * gate_width * sizeof(real));
    else
        recurrent_product(r, &r->u, LSTMN_SELF, t, n, 0);
    if (r->source) recurrent_product(r, &r->ur, LSTMN_SOURCE, t, n, 4 * h);
    for (int i = 0; i < n; i++) {
        const size_t row = lstmn_row(r, i, t);
        real *gates = r->gates + row * gate_width, *y = r->y->value + row * h, *memory = r->memory->value + row * h;
        const real *recurrent = r->recurrent + (size_t)i * gate_width, *ct = r->attentions[LSTMN_SELF].mt + row * h;
        if (r->source)
            attend_kernel()->lstm_fused(h, gates, recurrent, ct, r->attentions[LSTMN_SOURCE].mt + row * h, memory, y,
                                        gates);
        else
            attend_kernel()->lstm(h, ATTEND_TANH, gates, recurrent, ct, memory, y, gates);
    }
}

/* Fills the tape. First computes the keys of the last rows, which only a later call reads. */
static void fill_tape(lstmn_run *r, size_t *rows, attend_var *tape)
{
    const attend_ragged *s = r->sequences;
    const size_t h = r->hidden, a = r->attentions[LSTMN_SELF].attention_width, size = attend_additive_row_size(a);
    const int n = s->max_length > 0 ? s->active[0] : 0;
    for (int i = 0; i < n; i++) rows[i] = lstmn_row(r, i, s->lengths[s->order[i]] - 1);
    make_keys(r, n, rows);
    for (size_t i = 0; i < (size_t)s->rows; i++) {
        real *row = tape->value + i * r->tape.width;
        memcpy(row, r->y->value + i * h, h * sizeof(real));
        memcpy(row + r->tape.memory, r->memory->value + i * h, h * sizeof(real));
        memcpy(row + r->tape.context, r->attentions[LSTMN_SELF].kt + i * h, h * sizeof(real));
        if (r->source) {
            const size_t width = r->attentions[LSTMN_SOURCE].width;
            memcpy(row + r->tape.source_context, r->attentions[LSTMN_SOURCE].kt + i * width, width * sizeof(real));
        }
        memcpy(row + r->tape.key, r->key + i * a, a * sizeof(real));
        memcpy(row + r->tape.prepared, r->prepared + i * size, size * sizeof(real));
    }
}

static bool forward(attend_ctx *c, lstmn_run *r, attend_var *tape)
{
    const attend_ragged *s = r->sequences;
    size_t *rows = attend_ctx_alloc(c, (size_t)s->count, sizeof *rows);
    bool ok = rows && pack_forward(c, r, &r->u) && pack_forward(c, r, &r->wk) && attend_lstmn_scratch_alloc(c, r);
    for (int i = 0; i < r->attention_count; i++) ok = ok && pack_forward(c, r, &r->wt[i]);
    if (r->source) ok = ok && pack_forward(c, r, &r->ur);
    if (!ok || !input_products(c, r)) return false;
    for (int t = 0; t < s->max_length; t++) forward_step(r, t, s->active[t], rows);
    if (tape) fill_tape(r, rows, tape);
    return true;
}

/* ---- the operation ---- */

static void attention_init(lstmn_run *r, int kind, const attend_lstmn_attention *weights)
{
    r->attentions[kind] = (lstmn_attention){ .wx = weights->wx,
                                             .wt = weights->wt,
                                             .b = weights->b,
                                             .v = weights->v,
                                             .attention_width = (size_t)weights->wk->shape[0],
                                             .width = (size_t)weights->wk->shape[1],
                                             .hidden = r->hidden };
    r->wt[kind].w = weights->wt;
    r->attention_count = kind + 1;
}

static bool source_init(attend_ctx *c, lstmn_run *r, const attend_lstmn_io *io)
{
    const attend_lstmn_source *s = r->source = io->source;
    if (!s) return true;
    attention_init(r, LSTMN_SOURCE, &s->fusion.attention);
    lstmn_attention *l = &r->attentions[LSTMN_SOURCE];
    l->k = s->gamma->value, l->m = s->alpha->value, l->key = s->keys->value, l->prepared = s->prepared;
    r->wr = s->fusion.w, r->br = s->fusion.b, r->ur.w = s->fusion.u;
    r->blocks = 5;
    if (!io->source_of) return true;
    int *copy = attend_ctx_alloc(c, (size_t)r->sequences->count, sizeof *copy);
    if (copy) memcpy(copy, io->source_of, (size_t)r->sequences->count * sizeof *copy);
    return (r->source_of = copy) != NULL;
}

static bool past_init(attend_ctx *c, lstmn_run *r, const attend_lstmn_past *past)
{
    if (!past) return true;
    const int count = r->sequences->count;
    int *offsets = attend_ctx_alloc(c, (size_t)count + 1, sizeof *offsets);
    if (!offsets) return false;
    offsets[0] = 0;
    for (int b = 0; b < count; b++) offsets[b + 1] = offsets[b] + past->lengths[b];
    const real **rows = attend_ctx_alloc(c, (size_t)offsets[count], sizeof *rows);
    for (int i = 0; rows && i < offsets[count]; i++) rows[i] = past->rows[i];
    r->past_offsets = offsets, r->past = rows;
    return rows != NULL;
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
                          const attend_lstmn_io *io)
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
    if (!source_init(c, r, io) || !past_init(c, r, io->past)) return NULL;
    r->tape = attend_lstmn_tape(r->hidden, r->source ? r->attentions[LSTMN_SOURCE].width : 0,
                                r->attentions[LSTMN_SELF].attention_width);
    r->attentions[LSTMN_SELF].tape = r->tape;
    return outputs_alloc(c, r, io, any_differentiable(r, cell)) ? r : NULL;
}

attend_var *attend_lstmn_sequence(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x,
                                  const attend_ragged *sequences, attend_lstmn_io *io)
{
    ATTEND_REQUIRE_IN(c, cell);
    attend_lstmn_io defaults = { 0 };
    if (!io) io = &defaults;
    io->c = io->tape = io->weights = io->source_weights = NULL;
    if (!attend_lstmn_fits(c, cell, x, sequences, io)) return NULL;
    lstmn_run *r = run_new(c, cell, x, sequences, io);
    attend_var *tape = r && io->want_tape ? attend_var_2d(c, sequences->rows, (int)r->tape.width, false) : NULL;
    if (c->status != ATTEND_OK) return NULL;
    const attend_mark mark = attend_arena_mark(&c->arena);
    const bool ok = forward(c, r, tape);
    attend_arena_rewind(&c->arena, mark);
    if (!ok) return NULL;
    r->y->needed = r->memory->needed = true;
    if (r->y->differentiable) attend_record(c, &r->node, attend_lstmn_backward);
    io->c = r->memory;
    io->tape = tape;
    io->weights = r->attentions[LSTMN_SELF].weights_var;
    io->source_weights = io->source ? r->attentions[LSTMN_SOURCE].weights_var : NULL;
    return r->y;
}
