/* cell.c: a recurrent cell over a batch of sequences as one operation.
 *
 * Products that do not depend on the previous step run once over all rows: W x + bw in the forward pass, dx, dW and dU
 * in the backward pass. Only the product with U runs step by step, with packed weights, over the active sequences.
 * Sequences are sorted by length, so the active ones are always the first n. */
#include "op/cell.h"

#include "core/status.h"
#include "op/packed_weights.h"
#include "op/product.h"
#include "op/row_sum.h"
#include "op/weight_gradient.h"
#include <string.h>

static const cell_spec *spec_of(attend_cell_kind kind)
{
    switch (kind) {
    case ATTEND_CELL_SIMPLE:
        return &attend_cell_simple;
    case ATTEND_CELL_GRU:
        return &attend_cell_gru;
    case ATTEND_CELL_GRU_RESET_BEFORE:
        return &attend_cell_gru_before;
    case ATTEND_CELL_LSTM:
        return &attend_cell_lstm;
    }
    return NULL;
}

int attend_cell_gates(attend_cell_kind kind)
{
    const cell_spec *spec = spec_of(kind);
    return spec ? spec->gates : 0;
}

/* ---- called by the cells ---- */

const real *attend_cell_h_before(const cell_run *r, int i, int t)
{
    if (t > 0) return r->y->value + cell_row(r, i, t - 1) * r->hidden;
    return r->h0->value + (size_t)r->sequences->order[i] * r->hidden;
}

const real *attend_cell_c_before(const cell_run *r, int i, int t)
{
    if (t > 0) return r->cells + cell_row(r, i, t - 1) * r->hidden;
    return r->c0->value + (size_t)r->sequences->order[i] * r->hidden;
}

void attend_cell_recurrent(cell_run *r, int n)
{
    size_t h = r->hidden, gate_width = (size_t)r->spec->gates * h;
    attend_activations_set(&r->rows, (size_t)n, r->h, h, &r->u_matrix);
    attend_product(r->c, r->bu ? PACKED_BIAS : PACKED_ZERO, r->bu ? r->bu->value : NULL, &r->rows, &r->u_matrix,
                   r->recurrent, gate_width);
}

void attend_cell_recurrent_backward(cell_run *r, int n, packed_start start)
{
    size_t h = r->hidden, gate_width = (size_t)r->spec->gates * h;
    attend_gemm_packed(start, NULL, (size_t)n, h, gate_width, r->recurrent, gate_width, r->u_packed[0], r->dh, h);
}

void attend_cell_add_output_gradient(cell_run *r, int t, int n)
{
    for (int i = 0; r->y->grad && i < n; i++)
        attend_kernel()->add(r->hidden, r->y->grad + cell_row(r, i, t) * r->hidden, r->dh + (size_t)i * r->hidden);
}

/* ---- forward ---- */

static bool pack(attend_ctx *c, cell_run *r, bool transpose)
{
    r->c = c;
    if (r->spec->pack) return r->spec->pack(c, r, transpose);
    if (!transpose) return (r->u_packed[0] = attend_var_packed(c, r->u, false)) != NULL;
    return attend_var_matrix(c, r->u, &r->u_matrix) &&
           attend_activations_new(c, &r->rows, (size_t)r->sequences->count, &r->u_matrix);
}

/* Allocates the outputs and what backward needs. */
static bool outputs_alloc(attend_ctx *c, cell_run *r, bool differentiable)
{
    size_t rows = (size_t)r->sequences->rows, h = r->hidden;
    r->y = attend_var_2d(c, r->sequences->rows, (int)h, differentiable);
    r->h_last = attend_var_2d(c, r->sequences->count, (int)h, differentiable);
    if (r->spec->memory) {
        r->c_last = attend_var_2d(c, r->sequences->count, (int)h, differentiable);
        r->cells = attend_ctx_alloc_reals(c, rows * h);
    }
    r->gates = attend_ctx_alloc_reals(c, rows * (size_t)r->spec->width * h);
    return c->status == ATTEND_OK;
}

/* Allocates the scratch memory of one pass. */
static bool scratch_alloc(attend_ctx *c, cell_run *r)
{
    size_t count = (size_t)r->sequences->count, h = r->hidden;
    r->h = attend_ctx_alloc_reals(c, count * h);
    r->recurrent = attend_ctx_alloc_reals(c, count * (size_t)r->spec->gates * h);
    r->scratch = attend_ctx_alloc_reals(c, count * h);
    return c->status == ATTEND_OK;
}

/* gates = W x + bw; with a base, W x + base; without W, x */
static bool input_product(attend_ctx *c, const cell_run *r)
{
    const size_t h = r->hidden, gate_width = (size_t)r->spec->gates * h;
    const size_t rows = (size_t)r->sequences->rows, stride = (size_t)r->spec->width * h;
    packed_start start = r->bw ? PACKED_BIAS : PACKED_ZERO;
    for (size_t i = 0; r->base && i < rows; i++) {
        const size_t from = r->base_rows ? (size_t)r->base_rows[i] : i;
        memcpy(r->gates + i * stride, r->base->value + from * gate_width, gate_width * sizeof(real));
        start = PACKED_ADD;
    }
    packed_matrix w;
    for (size_t i = 0; !r->w && i < rows; i++)
        memcpy(r->gates + i * stride, r->x->value + i * gate_width, gate_width * sizeof(real));
    if (!r->w) return true;
    return attend_var_matrix(c, r->w, &w) && attend_multiply(c, start, r->bw ? r->bw->value : NULL, rows, r->x->value,
                                                             (size_t)r->x->shape[1], &w, r->gates, stride);
}

static bool forward(attend_ctx *c, cell_run *r)
{
    const size_t h = r->hidden;
    if (!pack(c, r, true) || !scratch_alloc(c, r) || !input_product(c, r)) return false;
    for (int i = 0; i < r->sequences->count; i++)
        memcpy(r->h + (size_t)i * h, attend_cell_h_before(r, i, 0), h * sizeof(real));
    for (int t = 0; t < r->sequences->max_length; t++) r->spec->forward(r, t, r->sequences->active[t]);
    for (int i = 0; i < r->sequences->count; i++) {
        int sequence = r->sequences->order[i];
        memcpy(r->h_last->value + (size_t)sequence * h, r->h + (size_t)i * h, h * sizeof(real));
        if (r->spec->memory)
            memcpy(r->c_last->value + (size_t)sequence * h, attend_cell_c_before(r, i, r->sequences->lengths[sequence]),
                   h * sizeof(real));
    }
    return true;
}

/* ---- backward ---- */

/* The gradient of the state after the last step, in order of length; zeros if the loss does not depend on it. */
static real *gather_states(attend_ctx *c, const cell_run *r, const attend_var *last)
{
    size_t h = r->hidden;
    real *states = attend_ctx_alloc_zeros(c, (size_t)r->sequences->count * h);
    for (int i = 0; states && last->grad && i < r->sequences->count; i++)
        memcpy(states + (size_t)i * h, last->grad + (size_t)r->sequences->order[i] * h, h * sizeof(real));
    return states;
}

static void scatter_states(attend_ctx *c, const cell_run *r, const real *states, attend_var *initial)
{
    size_t h = r->hidden;
    real *grad = attend_grad(c, initial);
    for (int i = 0; grad && i < r->sequences->count; i++)
        attend_kernel()->add(h, states + (size_t)i * h, grad + (size_t)r->sequences->order[i] * h);
}

/* The state before every row, (N, H): y shifted by one within each sequence. */
static const real *states_before(attend_ctx *c, const cell_run *r)
{
    size_t h = r->hidden;
    if (r->sequences->max_length == 1 && r->sequences->rows == r->sequences->count)
        return r->h0->value; /* every sequence is a single step */
    real *states = attend_ctx_alloc_reals(c, (size_t)r->sequences->rows * h);
    for (int i = 0; states && i < r->sequences->count; i++) {
        int sequence = r->sequences->order[i], length = r->sequences->lengths[sequence];
        if (length == 0) continue;
        size_t first = (size_t)r->sequences->offsets[sequence], rest = (size_t)length - 1;
        const real *y = r->y->value + first * h;
        memcpy(states + cell_row(r, i, 0) * h, attend_cell_h_before(r, i, 0), h * sizeof(real));
        if (r->reverse)
            memcpy(states + first * h, y + h, rest * h * sizeof(real));
        else
            memcpy(states + (first + 1) * h, y, rest * h * sizeof(real));
    }
    return states;
}

static void input_gradients(attend_ctx *c, cell_run *r)
{
    const size_t h = r->hidden, in = (size_t)r->x->shape[1], rows = (size_t)r->sequences->rows;
    const size_t gate_width = (size_t)r->spec->gates * h, stride = (size_t)r->spec->width * h;
    real *dx = attend_grad(c, r->x);
    for (size_t i = 0; !r->w && dx && i < rows; i++)
        attend_kernel()->add(gate_width, r->gates + i * stride, dx + i * gate_width);
    if (!r->w) return;
    const real *w = dx ? attend_var_packed(c, r->w, false) : NULL;
    if (w) attend_gemm_packed(PACKED_ADD, NULL, rows, in, gate_width, r->gates, stride, w, dx, in);
    attend_weight_gradient(c, r->w, 0, rows, gate_width, r->gates, stride, r->x->value, in);
    real *dbw = attend_grad(c, r->bw), *dbase = attend_grad(c, r->base);
    if (dbw) attend_row_sum(rows, gate_width, r->gates, stride, dbw);
    for (size_t i = 0; dbase && i < rows; i++)
        attend_kernel()->add(gate_width, r->gates + i * stride,
                             dbase + (r->base_rows ? (size_t)r->base_rows[i] : i) * gate_width);
}

static void recurrent_gradients(attend_ctx *c, cell_run *r)
{
    const size_t h = r->hidden, rows = (size_t)r->sequences->rows, stride = (size_t)r->spec->width * h;
    real *dbu = attend_grad(c, r->bu);
    const real *states = r->u->differentiable ? states_before(c, r) : NULL;
    if (c->status != ATTEND_OK) return;
    for (int i = 0; i < 2 && r->spec->parts[i].rows; i++) {
        const cell_part *p = &r->spec->parts[i];
        const real *d = r->gates + (size_t)p->column * h;
        const real *s = p->source < 0 ? states : r->gates + (size_t)p->source * h;
        size_t s_stride = p->source < 0 ? h : stride;
        attend_weight_gradient(c, r->u, (size_t)p->row * h, rows, (size_t)p->rows * h, d, stride, s, s_stride);
        if (dbu) attend_row_sum(rows, (size_t)p->rows * h, d, stride, dbu + (size_t)p->row * h);
    }
}

static void sequence_backward(attend_ctx *c, attend_node *node)
{
    cell_run *r = (cell_run *)node;
    if (!r->y->grad && !r->h_last->grad && !(r->c_last && r->c_last->grad)) return;
    /* These gradients outlive the rewind, so they are allocated before the mark. */
    attend_grad(c, r->h0), attend_grad(c, r->c0);
    const attend_mark mark = attend_arena_mark(&c->arena);
    r->dh = gather_states(c, r, r->h_last);
    if (r->spec->memory) r->dc = gather_states(c, r, r->c_last);
    if (!scratch_alloc(c, r) || !pack(c, r, false)) return;

    for (int t = r->sequences->max_length - 1; t >= 0; t--) {
        attend_cell_add_output_gradient(r, t, r->sequences->active[t]);
        r->spec->backward(r, t, r->sequences->active[t]);
    }
    scatter_states(c, r, r->dh, r->h0);
    if (r->spec->memory) scatter_states(c, r, r->dc, r->c0);
    attend_arena_rewind(&c->arena, mark);
    input_gradients(c, r);
    recurrent_gradients(c, r);
}

/* ---- the operation ---- */

static bool weights_fit(attend_ctx *c, const char *name, const attend_cell *cell, const cell_spec *spec,
                        const attend_var *x)
{
    if (!attend_check_weight(c, name, cell->u) || (cell->w && !attend_check_weight(c, name, cell->w))) return false;
    char text[ATTEND_SHAPE_TEXT];
    const attend_var *w = cell->w, *u = cell->u;
    if (u->rank != 2 || (int64_t)u->shape[0] != (int64_t)spec->gates * u->shape[1])
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: u has shape %s, expected (%d H, H)", name, attend_shape_text(u, text),
                        spec->gates);
    else if (!w && (cell->bw || cell->base || x->shape[1] != u->shape[0]))
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: without w, x must be (N, %d) and bw and base must be NULL; x is %s",
                        name, u->shape[0], attend_shape_text(x, text));
    else if (w && (w->rank != 2 || w->shape[0] != u->shape[0] || w->shape[1] != x->shape[1]))
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: w has shape %s, expected (%d, %d)", name, attend_shape_text(w, text),
                        u->shape[0], x->shape[1]);
    const attend_var *biases[2] = { cell->bw, cell->bu };
    for (int i = 0; i < 2; i++)
        if (biases[i] && (biases[i]->rank != 1 || biases[i]->shape[0] != u->shape[0]))
            attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: %s has shape %s, expected (%d)", name, i ? "bu" : "bw",
                            attend_shape_text(biases[i], text), u->shape[0]);
    return c->status == ATTEND_OK;
}

/* Checks and sets the base of the cell, if it has one. */
static bool base_init(attend_ctx *c, const char *name, cell_run *r, const attend_cell *cell)
{
    if (!cell->base) return true;
    if (!attend_check_inputs(c, name, 1, cell->base)) return false;
    const int rows = r->sequences->rows;
    const attend_var *base = cell->base;
    if (cell->bw || base->rank != 2 || base->shape[1] != cell->u->shape[0] ||
        (!cell->base_rows && base->shape[0] != rows)) {
        char text[ATTEND_SHAPE_TEXT];
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: the base is %s; it must be (%s, %d), with bw NULL", name,
                        attend_shape_text(base, text), cell->base_rows ? "M" : "N", cell->u->shape[0]);
        return false;
    }
    r->base = cell->base;
    if (!cell->base_rows) return true;
    int *copy = attend_ctx_alloc(c, (size_t)rows, sizeof *copy);
    for (int i = 0; copy && i < rows; i++) {
        copy[i] = cell->base_rows[i];
        if (copy[i] >= 0 && copy[i] < base->shape[0]) continue;
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: base_rows[%d] is %d, but the base has %d rows", name, i, copy[i],
                        base->shape[0]);
        return false;
    }
    r->base_rows = copy;
    return copy != NULL;
}

/* The given initial state, or zeros; NULL, and the context has failed, if its shape is wrong. */
static attend_var *initial_state(attend_ctx *c, const char *name, attend_var *given, int count, int hidden)
{
    if (!given) return attend_constant(c, 2, (const int[]){ count, hidden }, NULL);
    if (!attend_check_inputs(c, name, 1, given)) return NULL;
    if (given->rank == 2 && given->shape[0] == count && given->shape[1] == hidden) return given;
    char text[ATTEND_SHAPE_TEXT];
    return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: an initial state has shape %s, expected (%d, %d)", name,
                           attend_shape_text(given, text), count, hidden);
}

static bool any_differentiable(const cell_run *r)
{
    const attend_var *all[] = { r->x, r->w, r->u, r->bw, r->bu, r->base, r->h0, r->c0 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] && all[i]->differentiable) return true;
    return false;
}

static attend_var *run(attend_ctx *c, const char *name, const attend_cell *cell, attend_var *x,
                       const attend_ragged *sequences, bool reverse, attend_state *state)
{
    const cell_spec *spec = spec_of(cell->kind);
    if (!spec) return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: unknown cell kind %d", name, (int)cell->kind);
    if (cell->activation != ATTEND_TANH && cell->activation != ATTEND_RELU)
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: unknown activation %d", name, (int)cell->activation);
    if (!attend_ragged_fits(c, name, sequences, x) || !weights_fit(c, name, cell, spec, x)) return NULL;

    cell_run *r = attend_ctx_alloc(c, 1, sizeof *r);
    if (!r) return NULL;
    int hidden = cell->u->shape[1];
    *r = (cell_run){ .spec = spec,
                     .activation = cell->activation,
                     .x = x,
                     .w = cell->w,
                     .u = cell->u,
                     .bw = cell->bw,
                     .bu = cell->bu,
                     .sequences = sequences,
                     .reverse = reverse,
                     .hidden = (size_t)hidden };
    r->h0 = initial_state(c, name, state ? state->h : NULL, sequences->count, hidden);
    if (spec->memory) r->c0 = initial_state(c, name, state ? state->c : NULL, sequences->count, hidden);
    if (c->status != ATTEND_OK || !base_init(c, name, r, cell) || !outputs_alloc(c, r, any_differentiable(r)))
        return NULL;
    const attend_mark mark = attend_arena_mark(&c->arena);
    const bool ok = forward(c, r);
    attend_arena_rewind(&c->arena, mark);
    if (!ok) return NULL;
    r->y->needed = true;
    if (r->y->differentiable) attend_record(c, &r->node, sequence_backward);
    if (state) *state = (attend_state){ r->h_last, r->c_last };
    return r->y;
}

attend_var *attend_cell_sequence(attend_ctx *c, const attend_cell *cell, attend_var *x, const attend_ragged *sequences,
                                 bool reverse, attend_state *state)
{
    ATTEND_REQUIRE_IN(c, cell);
    if (!attend_check_inputs(c, "attend_cell_sequence", 1, x)) return NULL;
    return run(c, "attend_cell_sequence", cell, x, sequences, reverse, state);
}

attend_var *attend_cell_step(attend_ctx *c, const attend_cell *cell, attend_var *x, attend_state *state)
{
    ATTEND_REQUIRE_IN(c, cell);
    static const char name[] = "attend_cell_step";
    if (!attend_check_inputs(c, name, 1, x)) return NULL;
    if (x->rank != 2) return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: x has %d axes, expected 2", name, x->rank);
    int *ones = attend_ctx_alloc(c, (size_t)x->shape[0], sizeof *ones);
    for (int i = 0; ones && i < x->shape[0]; i++) ones[i] = 1;
    const attend_ragged *steps = ones ? attend_ragged_new(c, x->shape[0], ones) : NULL;
    if (!steps) return NULL;
    attend_var *y = run(c, name, cell, x, steps, false, state);
    return y && state ? state->h : y;
}
