/* cell.c: a recurrent cell over a batch of sequences as one operation.
 *
 * Products that do not depend on the previous step run once over all rows: W x + bw in the forward pass, dx, dW and dU
 * in the backward pass. Only the product with U runs step by step, with packed weights, over the active sequences.
 * Sequences are sorted by length, so the active ones are always the first n. */
#include "op/cell.h"

#include "core/status.h"
#include "op/packed_weights.h"
#include "op/product.h"
#include "op/weight_gradient.h"

static const cell_spec simple = {
    .kind = DEVICE_CELL_SIMPLE, .gates = 1, .width = 1, .parts = { { .row = 0, .rows = 1, .column = 0, .source = -1 } }
};
static const cell_spec gru = { .kind = DEVICE_CELL_GRU,
                               .gates = 3,
                               .width = 4,
                               .parts = { { .row = 0, .rows = 2, .column = 0, .source = -1 },
                                          { .row = 2, .rows = 1, .column = 3, .source = -1 } } };
static const cell_spec gru_before = { .kind = DEVICE_CELL_GRU_BEFORE,
                                      .gates = 3,
                                      .width = 4,
                                      .full_precision = true,
                                      .parts = { { .row = 0, .rows = 2, .column = 0, .source = -1 },
                                                 { .row = 2, .rows = 1, .column = 2, .source = 3 } } };
static const cell_spec lstm = { .kind = DEVICE_CELL_LSTM,
                                .gates = 4,
                                .width = 4,
                                .memory = true,
                                .parts = { { .row = 0, .rows = 4, .column = 0, .source = -1 } } };

static const cell_spec *spec_of(attend_cell_kind kind)
{
    switch (kind) {
    case ATTEND_CELL_SIMPLE:
        return &simple;
    case ATTEND_CELL_GRU:
        return &gru;
    case ATTEND_CELL_GRU_RESET_BEFORE:
        return &gru_before;
    case ATTEND_CELL_LSTM:
        return &lstm;
    }
    return NULL;
}

int attend_cell_gates(attend_cell_kind kind)
{
    const cell_spec *spec = spec_of(kind);
    return spec ? spec->gates : 0;
}

/* ---- rows ---- */

static void copy(attend_ctx *c, int n, size_t width, device_input x, device_output y)
{
    attend_device_of(c)->copy(&c->compute, (size_t)n, width, x, y);
}

static void add(attend_ctx *c, int n, size_t width, device_input x, device_output y)
{
    attend_device_of(c)->add(&c->compute, (size_t)n, width, x, y);
}

/* The row, in batch order, of step t of the i-th longest sequence. */
static int row_at(const cell_run *r, int i, int t)
{
    const int sequence = r->sequences->order[i];
    return r->sequences->offsets[sequence] + (r->reverse ? r->sequences->lengths[sequence] - 1 - t : t);
}

/* Sets the rows of step t and of the step before it; returns the number of active sequences. */
static int set_rows(cell_run *r, int t)
{
    const int n = r->sequences->active[t];
    for (int i = 0; i < n; i++) {
        r->rows[0][i] = row_at(r, i, t);
        if (t > 0) r->rows[1][i] = row_at(r, i, t - 1);
    }
    r->step.rows = r->rows[0];
    r->step.before = t > 0 ? r->rows[1] : NULL;
    return n;
}

/* The number of sequences that are not empty, which are the first ones of `order`. */
static int not_empty(const cell_run *r)
{
    return r->sequences->max_length > 0 ? r->sequences->active[0] : 0;
}

/* ---- forward ---- */

/* Sets U for a pass. */
static bool pack(attend_ctx *c, cell_run *r, bool forward)
{
    const size_t parts = forward ? attend_device_of(c)->cell_parts_bytes(r->spec->kind, r->hidden) : 0;
    if (parts && !(r->step.parts = attend_ctx_alloc_device(c, parts, 1))) return false;
    if (!r->spec->full_precision)
        return (forward ? attend_var_matrix : attend_var_matrix_backward)(c, r->u, &r->step.u);
    const size_t out = (size_t)r->u->shape[0];
    r->step.u = (packed_matrix){ .k = forward ? r->hidden : out,
                                 .n = forward ? out : r->hidden,
                                 .data = attend_var_packed(c, r->u, forward) };
    return r->step.u.data != NULL;
}

/* Allocates the outputs and what backward needs. */
static bool outputs_alloc(attend_ctx *c, cell_run *r, bool differentiable)
{
    size_t rows = (size_t)r->sequences->rows, h = r->hidden;
    r->y = attend_var_2d(c, r->sequences->rows, (int)h, differentiable);
    r->h_last = attend_var_2d(c, r->sequences->count, (int)h, differentiable);
    if (r->spec->memory) {
        r->c_last = attend_var_2d(c, r->sequences->count, (int)h, differentiable);
        r->step.cells = attend_ctx_alloc_reals(c, rows * h);
    }
    r->step.gates = attend_ctx_alloc_reals(c, rows * (size_t)r->spec->width * h);
    if (c->status != ATTEND_OK) return false;
    r->step.y = r->y->value, r->step.h0 = r->h0->value, r->step.c0 = r->c0 ? r->c0->value : NULL;
    r->step.bu = r->bu ? r->bu->value : NULL, r->step.u_plain = r->u->value, r->step.order = r->sequences->order;
    return true;
}

/* Allocates the scratch memory of one pass. */
static bool scratch_alloc(attend_ctx *c, cell_run *r)
{
    size_t count = (size_t)r->sequences->count, h = r->hidden;
    r->step.h = attend_ctx_alloc_reals(c, count * h);
    r->step.recurrent = attend_ctx_alloc_reals(c, count * (size_t)r->spec->gates * h);
    r->step.scratch = attend_ctx_alloc_reals(c, count * h);
    for (int i = 0; i < 2; i++) r->rows[i] = attend_ctx_alloc(c, count, sizeof *r->rows[i]);
    return c->status == ATTEND_OK;
}

/* gates = W x + bw; with a base, W x + base; without W, x */
static bool input_product(attend_ctx *c, const cell_run *r)
{
    const size_t h = r->hidden, gate_width = (size_t)r->spec->gates * h, stride = (size_t)r->spec->width * h;
    const int rows = r->sequences->rows;
    const device_output gates = { .data = r->step.gates, .stride = stride };
    if (r->base) copy(c, rows, gate_width, (device_input){ r->base->value, gate_width, r->base_rows }, gates);
    if (!r->w) copy(c, rows, gate_width, (device_input){ .data = r->x->value, .stride = gate_width }, gates);
    packed_matrix w;
    if (!r->w) return true;
    const packed_start start = r->base && rows ? PACKED_ADD : r->bw ? PACKED_BIAS : PACKED_ZERO;
    return attend_var_matrix(c, r->w, &w) &&
           attend_multiply(c, start, r->bw ? r->bw->value : NULL, (size_t)rows, r->x->value, (size_t)r->x->shape[1], &w,
                           r->step.gates, stride);
}

/* The states after the last steps, in batch order. */
static void last_states(attend_ctx *c, cell_run *r)
{
    const attend_ragged *s = r->sequences;
    const size_t h = r->hidden;
    copy(c, s->count, h, (device_input){ .data = r->step.h, .stride = h },
         (device_output){ r->h_last->value, h, s->order });
    if (!r->spec->memory) return;
    c->memory->copy(r->c_last->value, r->c0->value, r->c0->size * sizeof(real)); /* those of empty sequences stay */
    const int n = not_empty(r);
    for (int i = 0; i < n; i++) r->rows[0][i] = row_at(r, i, s->lengths[s->order[i]] - 1);
    copy(c, n, h, (device_input){ r->step.cells, h, r->rows[0] }, (device_output){ r->c_last->value, h, s->order });
}

static bool forward(attend_ctx *c, cell_run *r)
{
    const attend_ragged *s = r->sequences;
    const size_t h = r->hidden;
    if (!pack(c, r, true) || !scratch_alloc(c, r) || !input_product(c, r)) return false;
    copy(c, s->count, h, (device_input){ r->h0->value, h, s->order },
         (device_output){ .data = r->step.h, .stride = h });
    for (int t = 0; t < s->max_length; t++) {
        const int n = set_rows(r, t);
        if (!attend_ctx_computed(c, attend_device_of(c)->cell_forward(&c->compute, &r->step, (size_t)n))) return false;
    }
    last_states(c, r);
    return true;
}

/* ---- backward ---- */

/* The gradient of the state after the last step, in order of length; zeros if the loss does not depend on it. */
static real *gather_states(attend_ctx *c, const cell_run *r, const attend_var *last)
{
    const size_t h = r->hidden;
    real *states = attend_ctx_alloc_zeros(c, (size_t)r->sequences->count * h);
    if (states && last->grad)
        copy(c, r->sequences->count, h, (device_input){ last->grad, h, r->sequences->order },
             (device_output){ .data = states, .stride = h });
    return states;
}

static void scatter_states(attend_ctx *c, const cell_run *r, const real *states, attend_var *initial)
{
    const size_t h = r->hidden;
    real *grad = attend_grad(c, initial);
    if (grad)
        add(c, r->sequences->count, h, (device_input){ .data = states, .stride = h },
            (device_output){ grad, h, r->sequences->order });
}

/* The state before every row, (N, H): y shifted by one within each sequence. */
static const real *states_before(attend_ctx *c, const cell_run *r)
{
    const attend_ragged *s = r->sequences;
    const size_t h = r->hidden;
    if (s->max_length == 1 && s->rows == s->count) return r->h0->value; /* every sequence is a single step */
    real *states = attend_ctx_alloc_reals(c, (size_t)s->rows * h);
    int *before = attend_ctx_alloc(c, (size_t)s->rows, sizeof *before);
    int *first = attend_ctx_alloc(c, (size_t)s->count, sizeof *first);
    if (!states || !before || !first) return NULL;
    const int n = not_empty(r);
    for (int i = 0; i < n; i++) {
        first[i] = row_at(r, i, 0);
        before[first[i]] = -1;
        for (int t = 1; t < s->lengths[s->order[i]]; t++) before[row_at(r, i, t)] = row_at(r, i, t - 1);
    }
    copy(c, s->rows, h, (device_input){ r->y->value, h, before }, (device_output){ .data = states, .stride = h });
    copy(c, n, h, (device_input){ r->h0->value, h, s->order }, (device_output){ states, h, first });
    return states;
}

static void input_gradients(attend_ctx *c, cell_run *r)
{
    const size_t h = r->hidden, in = (size_t)r->x->shape[1], rows = (size_t)r->sequences->rows;
    const size_t gate_width = (size_t)r->spec->gates * h, stride = (size_t)r->spec->width * h;
    const device_input gates = { .data = r->step.gates, .stride = stride };
    bool first;
    real *dx = attend_grad_or_new(c, r->x, &first);
    if (!r->w && dx)
        (first ? copy : add)(c, r->sequences->rows, gate_width, gates,
                             (device_output){ .data = dx, .stride = gate_width });
    if (!r->w) return;
    packed_matrix w;
    if (dx && attend_var_matrix_backward(c, r->w, &w))
        attend_multiply(c, first ? PACKED_ZERO : PACKED_ADD, NULL, rows, r->step.gates, stride, &w, dx, in);
    attend_weight_gradient(c, r->w, 0, rows, gate_width, r->step.gates, stride, r->x->value, in);
    real *dbw = attend_grad(c, r->bw), *dbase = attend_grad(c, r->base);
    if (dbw) attend_add_rows(c, rows, gate_width, r->step.gates, stride, dbw);
    if (dbase) add(c, r->sequences->rows, gate_width, gates, (device_output){ dbase, gate_width, r->base_rows });
}

static void recurrent_gradients(attend_ctx *c, cell_run *r)
{
    const size_t h = r->hidden, rows = (size_t)r->sequences->rows, stride = (size_t)r->spec->width * h;
    real *dbu = attend_grad(c, r->bu);
    const real *states = r->u->differentiable ? states_before(c, r) : NULL;
    if (c->status != ATTEND_OK) return;
    for (int i = 0; i < 2 && r->spec->parts[i].rows; i++) {
        const cell_part *p = &r->spec->parts[i];
        const real *d = r->step.gates + (size_t)p->column * h;
        const real *s = p->source < 0 ? states : r->step.gates + (size_t)p->source * h;
        size_t s_stride = p->source < 0 ? h : stride;
        attend_weight_gradient(c, r->u, (size_t)p->row * h, rows, (size_t)p->rows * h, d, stride, s, s_stride);
        if (dbu) attend_add_rows(c, rows, (size_t)p->rows * h, d, stride, dbu + (size_t)p->row * h);
    }
}

static void sequence_backward(attend_ctx *c, attend_node *node)
{
    cell_run *r = (cell_run *)node;
    const size_t h = r->hidden;
    if (!r->y->grad && !r->h_last->grad && !(r->c_last && r->c_last->grad)) return;
    /* These gradients outlive the release, so they are allocated before the mark. */
    attend_grad(c, r->h0), attend_grad(c, r->c0);
    const attend_mark mark = attend_ctx_mark(c);
    r->step.dh = gather_states(c, r, r->h_last);
    if (r->spec->memory) r->step.dc = gather_states(c, r, r->c_last);
    if (!scratch_alloc(c, r) || !pack(c, r, false)) return;

    for (int t = r->sequences->max_length - 1; t >= 0; t--) {
        const int n = set_rows(r, t);
        if (r->y->grad)
            add(c, n, h, (device_input){ r->y->grad, h, r->step.rows },
                (device_output){ .data = r->step.dh, .stride = h });
        if (!attend_ctx_computed(c, attend_device_of(c)->cell_backward(&c->compute, &r->step, (size_t)n))) return;
    }
    scatter_states(c, r, r->step.dh, r->h0);
    if (r->spec->memory) scatter_states(c, r, r->step.dc, r->c0);
    attend_ctx_release(c, mark);
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
                     .x = x,
                     .w = cell->w,
                     .u = cell->u,
                     .bw = cell->bw,
                     .bu = cell->bu,
                     .sequences = sequences,
                     .reverse = reverse,
                     .hidden = (size_t)hidden };
    r->step = (device_cell){ .kind = spec->kind, .activation = cell->activation, .hidden = (size_t)hidden };
    r->h0 = initial_state(c, name, state ? state->h : NULL, sequences->count, hidden);
    if (spec->memory) r->c0 = initial_state(c, name, state ? state->c : NULL, sequences->count, hidden);
    if (c->status != ATTEND_OK || !base_init(c, name, r, cell) || !outputs_alloc(c, r, any_differentiable(r)))
        return NULL;
    const attend_mark mark = attend_ctx_mark(c);
    const bool ok = forward(c, r);
    attend_ctx_release(c, mark);
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
