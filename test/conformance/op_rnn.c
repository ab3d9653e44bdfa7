/* op_rnn.c: the ONNX operators RNN, GRU and LSTM on attend_cell_sequence.
 *
 * ONNX (layout 0)                                        attend
 *     X (T, B, D), rows past a sequence's length unused      x (N, D), one sequence after another, no padding
 *     W (dirs, G H, D), R (dirs, G H, H)                     w (G H, D), u (G H, H), one cell for each direction
 *     B (dirs, 2 G H): of W, then of R                       bw (G H), bu (G H)
 *     gates of the GRU z r h, of the LSTM i o f c            r z n, i f g o
 *     Y (T, dirs, B, H), 0 past the length                   h of every row (N, H)
 *     Y_h, Y_c, initial_h, initial_c (dirs, B, H)            state (B, H)
 * Layout 1 puts the batch first: X (B, T, D), Y (B, T, dirs, H), Y_h (B, dirs, H). */
#include "operators.h"

#include <attend/op.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GATES = 4, MAX_DIRECTIONS = 2 };

/* The inputs of all three; only LSTM has the last two. */
enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_PEEPHOLES };
enum { OUT_Y, OUT_H, OUT_C };

typedef struct family {
    attend_cell_kind kind;
    int gates;
    int order[MAX_GATES]; /* our gate g is ONNX's order[g] */
    size_t inputs, outputs;
    size_t activations; /* names for each direction; all but the sigmoid of the gates are `f` */
    bool sigmoid_first;
} family;

static const family rnn_family = { ATTEND_CELL_SIMPLE, 1, { 0 }, 6, 2, 1, false };
static const family gru_family = { ATTEND_CELL_GRU, 3, { 1, 0, 2 }, 6, 2, 2, true };
static const family lstm_family = { ATTEND_CELL_LSTM, 4, { 0, 2, 3, 1 }, 8, 3, 3, true };

typedef struct rnn {
    op_call *call;
    const family *family;
    attend_cell_kind kind;
    attend_activation activation[MAX_DIRECTIONS];
    bool reverse[MAX_DIRECTIONS];
    bool batch_first;             /* layout 1 */
    int steps, batch, width;      /* T, B, D */
    int hidden, directions, rows; /* H, dirs, N */
    int *lengths;                 /* (B) */
    attend_real *scratch;         /* large enough for any operand */
} rnn;

/* ---- indices in the tensors of ONNX ---- */

static size_t x_at(const rnn *r, int t, int b)
{
    size_t steps = (size_t)r->steps, batch = (size_t)r->batch;
    size_t row = r->batch_first ? (size_t)b * steps + (size_t)t : (size_t)t * batch + (size_t)b;
    return row * (size_t)r->width;
}

static size_t state_at(const rnn *r, int d, int b)
{
    size_t directions = (size_t)r->directions, batch = (size_t)r->batch;
    size_t row = r->batch_first ? (size_t)b * directions + (size_t)d : (size_t)d * batch + (size_t)b;
    return row * (size_t)r->hidden;
}

static size_t y_at(const rnn *r, int t, int d, int b)
{
    size_t steps = (size_t)r->steps, directions = (size_t)r->directions, batch = (size_t)r->batch;
    size_t row = r->batch_first ? ((size_t)b * steps + (size_t)t) * directions + (size_t)d
                                : ((size_t)t * directions + (size_t)d) * batch + (size_t)b;
    return row * (size_t)r->hidden;
}

/* ---- attributes ---- */

static int read_direction(rnn *r)
{
    const char *direction;
    int status = op_attribute_string(r->call, "direction", "forward", &direction);
    if (status != CASE_OK) return status;
    r->directions = 1;
    if (strcmp(direction, "reverse") == 0) {
        r->reverse[0] = true;
    } else if (strcmp(direction, "bidirectional") == 0) {
        r->directions = 2;
        r->reverse[1] = true;
    } else if (strcmp(direction, "forward") != 0) {
        return op_fail(r->call, "direction '%s' is not defined by ONNX", direction);
    }
    return CASE_OK;
}

/* The names of one direction: Sigmoid where there are gates, and one `f` for all the rest. */
static int read_activation(rnn *r, const char *const *names, attend_activation *out)
{
    size_t first = r->family->sigmoid_first ? 1 : 0;
    if (first == 1 && strcmp(names[0], "Sigmoid") != 0)
        return op_skip(r->call, "gates with %s instead of Sigmoid are not implemented", names[0]);
    const char *f = names[first];
    if (strcmp(f, "Tanh") != 0 && strcmp(f, "Relu") != 0)
        return op_skip(r->call, "activation %s is not implemented", f);
    for (size_t i = first + 1; i < r->family->activations; i++)
        if (strcmp(names[i], f) != 0)
            return op_skip(r->call, "activations %s and %s in one cell are not implemented", f, names[i]);
    *out = strcmp(f, "Tanh") == 0 ? ATTEND_TANH : ATTEND_RELU;
    return CASE_OK;
}

static int read_activations(rnn *r)
{
    const onnx_attribute *a = onnx_model_attribute(r->call->model, "activations");
    size_t each = r->family->activations, wanted = each * (size_t)r->directions;
    for (int d = 0; d < r->directions; d++) r->activation[d] = ATTEND_TANH;
    if (a == NULL) return CASE_OK;
    if (a->type != ONNX_ATTRIBUTE_STRINGS) return op_fail(r->call, "attribute activations is not a list of strings");
    if (a->count != wanted) return op_fail(r->call, "%zu activations instead of %zu", a->count, wanted);
    for (int d = 0; d < r->directions; d++) {
        int status = read_activation(r, a->strings + (size_t)d * each, &r->activation[d]);
        if (status != CASE_OK) return status;
    }
    return CASE_OK;
}

static int read_attributes(rnn *r)
{
    static const char *const known[] = { "activations",  "direction", "hidden_size",         "layout",
                                         "input_forget", "clip",      "linear_before_reset", NULL };
    int64_t layout = 0, reset = 0, forget = 0;
    int status = op_attributes_known(r->call, known);
    if (status == CASE_OK && onnx_model_attribute(r->call->model, "clip") != NULL)
        status = op_skip(r->call, "clip is not implemented");
    if (status == CASE_OK) status = op_attribute_int(r->call, "input_forget", 0, &forget);
    if (status == CASE_OK && forget != 0) status = op_skip(r->call, "input_forget is not implemented");
    if (status == CASE_OK) status = op_attribute_int(r->call, "layout", 0, &layout);
    if (status == CASE_OK && layout != 0 && layout != 1)
        status = op_fail(r->call, "layout %" PRId64 " is not defined by ONNX", layout);
    if (status == CASE_OK) status = op_attribute_int(r->call, "linear_before_reset", 0, &reset);
    if (status == CASE_OK) status = read_direction(r);
    if (status == CASE_OK) status = read_activations(r);
    r->batch_first = layout == 1;
    r->kind = r->family->kind == ATTEND_CELL_GRU && reset == 0 ? ATTEND_CELL_GRU_RESET_BEFORE : r->family->kind;
    return status;
}

/* ---- inputs ---- */

/* Checks that input i has a floating-point type and this shape (the third dimension is 0 for rank 2), or is optional
 * and omitted. */
static int check_real(rnn *r, size_t i, bool optional, int64_t first, int64_t second, int64_t third)
{
    const onnx_tensor *t = op_input(r->call, i);
    onnx_tensor wanted = { .rank = third == 0 ? 2 : 3, .dims = { first, second, third } };
    char shape[200], other[200];
    if (t == NULL) return optional ? CASE_OK : op_fail(r->call, "input %zu is missing", i);
    if (t->reals == NULL) return op_fail(r->call, "input %zu is not of floating point", i);
    bool same = t->rank == wanted.rank;
    for (int k = 0; same && k < t->rank; k++) same = t->dims[k] == wanted.dims[k];
    if (same) return CASE_OK;
    return op_fail(r->call, "input %zu has shape %s instead of %s", i, onnx_tensor_shape(t, shape, sizeof shape),
                   onnx_tensor_shape(&wanted, other, sizeof other));
}

/* T, B and D from X, H from R. All are at most ONNX_MAX_ELEMENTS, and so is every product a tensor has. */
static int read_sizes(rnn *r)
{
    const onnx_tensor *x = op_input(r->call, IN_X), *u = op_input(r->call, IN_R);
    int64_t size;
    if (x == NULL || u == NULL || x->rank != 3 || u->rank != 3)
        return op_fail(r->call, "X and R must be there, of rank 3");
    if (x->size == 0 || u->size == 0) return op_skip(r->call, "X or R without any element");
    r->batch = (int)x->dims[r->batch_first ? 0 : 1];
    r->steps = (int)x->dims[r->batch_first ? 1 : 0];
    r->width = (int)x->dims[2];
    r->hidden = (int)u->dims[2];
    int status = op_attribute_int(r->call, "hidden_size", r->hidden, &size);
    if (status == CASE_OK && size != r->hidden)
        return op_fail(r->call, "hidden_size is %" PRId64 ", but R is for %d", size, r->hidden);
    return status;
}

static int check_inputs(rnn *r)
{
    op_call *call = r->call;
    if (call->input_count > r->family->inputs) return op_fail(call, "%zu inputs are too many", call->input_count);
    if (call->output_count > r->family->outputs) return op_fail(call, "%zu outputs are too many", call->output_count);
    if (op_input(call, IN_PEEPHOLES) != NULL) return op_skip(call, "peepholes are not implemented");
    int status = read_sizes(r);
    if (status != CASE_OK) return status;
    int64_t gates = (int64_t)r->family->gates * r->hidden, dirs = r->directions, batch = r->batch;
    int64_t state_first = r->batch_first ? batch : dirs, state_second = r->batch_first ? dirs : batch;
    status = check_real(r, IN_X, false, op_input(call, IN_X)->dims[0], op_input(call, IN_X)->dims[1], r->width);
    if (status == CASE_OK) status = check_real(r, IN_W, false, dirs, gates, r->width);
    if (status == CASE_OK) status = check_real(r, IN_R, false, dirs, gates, r->hidden);
    if (status == CASE_OK) status = check_real(r, IN_B, true, dirs, 2 * gates, 0);
    if (status == CASE_OK) status = check_real(r, IN_H, true, state_first, state_second, r->hidden);
    if (status == CASE_OK) status = check_real(r, IN_C, true, state_first, state_second, r->hidden);
    return status;
}

static int read_lengths(rnn *r)
{
    const onnx_tensor *given = op_input(r->call, IN_LENGTHS);
    char shape[200];
    if (given != NULL && (given->integers == NULL || given->rank != 1 || given->dims[0] != r->batch))
        return op_fail(r->call, "sequence_lens has shape %s instead of (%d), or is not of integers",
                       onnx_tensor_shape(given, shape, sizeof shape), r->batch);
    r->lengths = calloc((size_t)r->batch, sizeof *r->lengths);
    if (r->lengths == NULL) return op_fail(r->call, "no memory for %d lengths", r->batch);
    for (int b = 0; b < r->batch; b++) {
        int64_t length = given != NULL ? given->integers[b] : r->steps;
        if (length < 0 || length > r->steps)
            return op_fail(r->call, "length %" PRId64 " of sequence %d is not in 0 to %d", length, b, r->steps);
        r->lengths[b] = (int)length;
        r->rows += r->lengths[b]; /* at most T B, the rows of X */
    }
    if (r->rows == 0) return op_skip(r->call, "sequences without any row");
    return CASE_OK;
}

static int make_scratch(rnn *r)
{
    size_t largest = 0;
    for (size_t i = IN_X; i <= IN_C; i++) {
        const onnx_tensor *t = op_input(r->call, i);
        if (t != NULL && t->size > largest) largest = t->size;
    }
    r->scratch = calloc(largest, sizeof *r->scratch);
    return r->scratch != NULL ? CASE_OK : op_fail(r->call, "no memory for %zu numbers", largest);
}

/* ---- operands, in attend's order ---- */

static void copy(attend_real *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = (attend_real)from[i];
}

static attend_var *packed_x(rnn *r, attend_ctx *c)
{
    const onnx_tensor *x = op_input(r->call, IN_X);
    attend_real *to = r->scratch;
    for (int b = 0; b < r->batch; b++)
        for (int t = 0; t < r->lengths[b]; t++, to += r->width) copy(to, x->reals + x_at(r, t, b), (size_t)r->width);
    return attend_constant(c, 2, (int[]){ r->rows, r->width }, r->scratch);
}

/* (G H, columns) of W or R for direction d; columns 1 and part 0 or 1 for the halves of B. */
static attend_var *gated(rnn *r, attend_ctx *c, size_t input, int d, int columns, int parts, int part)
{
    const onnx_tensor *from = op_input(r->call, input);
    int gates = r->family->gates, rank = input == IN_B ? 1 : 2;
    size_t each = (size_t)r->hidden * (size_t)columns;
    if (from == NULL) return NULL;
    for (int g = 0; g < gates; g++) {
        size_t gate = ((size_t)d * (size_t)parts + (size_t)part) * (size_t)gates + (size_t)r->family->order[g];
        copy(r->scratch + (size_t)g * each, from->reals + gate * each, each);
    }
    return attend_constant(c, rank, (int[]){ gates * r->hidden, columns }, r->scratch);
}

static attend_var *initial(rnn *r, attend_ctx *c, size_t input, int d)
{
    const onnx_tensor *from = op_input(r->call, input);
    size_t each = (size_t)r->hidden;
    if (from == NULL) return NULL;
    for (int b = 0; b < r->batch; b++) copy(r->scratch + (size_t)b * each, from->reals + state_at(r, d, b), each);
    return attend_constant(c, 2, (int[]){ r->batch, r->hidden }, r->scratch);
}

/* ---- results, in ONNX's order ---- */

static void put(float *to, const attend_real *from, int count)
{
    for (int i = 0; i < count; i++) to[i] = (float)from[i];
}

static void put_y(rnn *r, int d, const attend_real *from)
{
    onnx_tensor *y = &r->call->outputs[OUT_Y];
    for (int b = 0; b < r->batch; b++)
        for (int t = 0; t < r->lengths[b]; t++, from += r->hidden) put(y->reals + y_at(r, t, d, b), from, r->hidden);
}

static void put_state(rnn *r, size_t output, int d, const attend_real *from)
{
    for (int b = 0; b < r->batch; b++, from += r->hidden)
        put(r->call->outputs[output].reals + state_at(r, d, b), from, r->hidden);
}

static int make_outputs(rnn *r)
{
    onnx_type type = op_input(r->call, IN_X)->type;
    int64_t steps = r->steps, batch = r->batch, dirs = r->directions, hidden = r->hidden;
    int64_t y[2][4] = { { steps, dirs, batch, hidden }, { batch, steps, dirs, hidden } };
    int64_t state[2][3] = { { dirs, batch, hidden }, { batch, dirs, hidden } };
    int status = op_output(r->call, OUT_Y, type, 4, y[r->batch_first]);
    if (status == CASE_OK) status = op_output(r->call, OUT_H, type, 3, state[r->batch_first]);
    if (status == CASE_OK) status = op_output(r->call, OUT_C, type, 3, state[r->batch_first]);
    return status;
}

/* ---- the run ---- */

static int run_direction(rnn *r, attend_ctx *c, attend_var *x, const attend_ragged *sequences, int d)
{
    attend_cell cell = {
        .kind = r->kind,
        .activation = r->activation[d],
        .w = gated(r, c, IN_W, d, r->width, 1, 0),
        .u = gated(r, c, IN_R, d, r->hidden, 1, 0),
        .bw = gated(r, c, IN_B, d, 1, 2, 0),
        .bu = gated(r, c, IN_B, d, 1, 2, 1),
    };
    attend_state state = { initial(r, c, IN_H, d), initial(r, c, IN_C, d) };
    attend_var *y = attend_cell_sequence(c, &cell, x, sequences, r->reverse[d], &state);
    bool lstm = r->kind == ATTEND_CELL_LSTM;
    if (attend_ctx_status(c) != ATTEND_OK || y == NULL || state.h == NULL || (lstm && state.c == NULL))
        return op_fail(r->call, "attend_cell_sequence: %s", attend_ctx_message(c));
    if (op_has_output(r->call, OUT_Y)) put_y(r, d, attend_value(y));
    if (op_has_output(r->call, OUT_H)) put_state(r, OUT_H, d, attend_value(state.h));
    if (op_has_output(r->call, OUT_C)) put_state(r, OUT_C, d, attend_value(state.c));
    return CASE_OK;
}

static int run_directions(rnn *r)
{
    attend_ctx *c;
    if (attend_ctx_new(&c) != ATTEND_OK) return op_fail(r->call, "attend_ctx_new: %s", attend_message());
    attend_ctx_set_recording(c, false);
    attend_var *x = packed_x(r, c);
    const attend_ragged *sequences = attend_ragged_new(c, r->batch, r->lengths);
    int status = CASE_OK;
    if (attend_ctx_status(c) != ATTEND_OK) status = op_fail(r->call, "attend: %s", attend_ctx_message(c));
    for (int d = 0; status == CASE_OK && d < r->directions; d++) status = run_direction(r, c, x, sequences, d);
    attend_ctx_free(c);
    return status;
}

static int run(op_call *call, const family *f)
{
    rnn r = { .call = call, .family = f };
    int status = read_attributes(&r);
    if (status == CASE_OK) status = check_inputs(&r);
    if (status == CASE_OK) status = read_lengths(&r);
    if (status == CASE_OK) status = make_scratch(&r);
    if (status == CASE_OK) status = make_outputs(&r);
    if (status == CASE_OK) status = run_directions(&r);
    free(r.lengths);
    free(r.scratch);
    return status;
}

int op_rnn(op_call *call)
{
    return run(call, &rnn_family);
}

int op_gru(op_call *call)
{
    return run(call, &gru_family);
}

int op_lstm(op_call *call)
{
    return run(call, &lstm_family);
}
