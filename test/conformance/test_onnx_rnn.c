/* test_onnx_rnn.c: compares the operators RNN, GRU and LSTM with a plain implementation of ONNX's equations on random
 * numbers, for every direction, layout, activation and optional input. The published cases have one direction,
 * sequences of full length and, for the LSTM, equal weights, which cannot distinguish the gates. */
#include "operators.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T = 4, B = 3, D = 5, H = 3, MAX_GATES = 4, MAX_DIRECTIONS = 2, MAX_INPUTS = 8 };

typedef enum kind { KIND_RNN, KIND_GRU_BEFORE, KIND_GRU_AFTER, KIND_LSTM, KINDS } kind;

static const int gates_of[KINDS] = { 1, 3, 3, 4 };
static const char *const op_types[KINDS] = { "RNN", "GRU", "GRU", "LSTM" };

typedef struct setting {
    kind kind;
    int direction; /* 0 forward, 1 reverse, 2 both */
    bool batch_first, relu, bias, lengths, initial;
} setting;

static double uniform(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (double)(1 << 24) - 0.5;
}

/* ---- the equations of ONNX, one sequence at a time ---- */

typedef struct weights {
    const float *w, *r, *bw, *br; /* (G H, D), (G H, H), (G H), (G H); biases may be NULL */
} weights;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double activate(double x, bool relu)
{
    return relu ? fmax(x, 0) : tanh(x);
}

/* Row `row` of R h + its bias. */
static double recurrent(const weights *k, int row, const double *h)
{
    double sum = k->br != NULL ? (double)k->br[row] : 0;
    for (int j = 0; j < H; j++) sum += (double)k->r[row * H + j] * h[j];
    return sum;
}

static double feed(const weights *k, int row, const float *x)
{
    double sum = k->bw != NULL ? (double)k->bw[row] : 0;
    for (int j = 0; j < D; j++) sum += (double)k->w[row * D + j] * (double)x[j];
    return sum;
}

static double gate(const weights *k, int g, int j, const float *x, const double *h)
{
    return feed(k, g * H + j, x) + recurrent(k, g * H + j, h);
}

static void step_gru(const weights *k, bool after, bool relu, const float *x, double *h)
{
    double z[H], r[H], reset[H], n[H];
    for (int j = 0; j < H; j++) {
        z[j] = sigmoid(gate(k, 0, j, x, h));
        r[j] = sigmoid(gate(k, 1, j, x, h));
        reset[j] = r[j] * h[j];
    }
    for (int j = 0; j < H; j++) {
        int row = 2 * H + j;
        n[j] = activate(feed(k, row, x) + (after ? r[j] * recurrent(k, row, h) : recurrent(k, row, reset)), relu);
    }
    for (int j = 0; j < H; j++) h[j] = (1 - z[j]) * n[j] + z[j] * h[j];
}

static void step(const setting *s, const weights *k, const float *x, double *h, double *c)
{
    double before[H];
    memcpy(before, h, sizeof before);
    if (s->kind == KIND_GRU_BEFORE || s->kind == KIND_GRU_AFTER) {
        step_gru(k, s->kind == KIND_GRU_AFTER, s->relu, x, h);
        return;
    }
    for (int j = 0; j < H; j++) {
        if (s->kind == KIND_RNN) {
            h[j] = activate(gate(k, 0, j, x, before), s->relu);
            continue;
        }
        double i = sigmoid(gate(k, 0, j, x, before)), o = sigmoid(gate(k, 1, j, x, before));
        double f = sigmoid(gate(k, 2, j, x, before)), g = activate(gate(k, 3, j, x, before), s->relu);
        c[j] = f * c[j] + i * g;
        h[j] = o * activate(c[j], s->relu);
    }
}

/* ---- one run, in layout 0 ---- */

typedef struct trial {
    setting s;
    int directions;
    float x[T * B * D], w[MAX_DIRECTIONS * MAX_GATES * H * D], r[MAX_DIRECTIONS * MAX_GATES * H * H];
    float bias[MAX_DIRECTIONS * 2 * MAX_GATES * H], h0[MAX_DIRECTIONS * B * H], c0[MAX_DIRECTIONS * B * H];
    int lengths[B];
    float y[T * MAX_DIRECTIONS * B * H], yh[MAX_DIRECTIONS * B * H], yc[MAX_DIRECTIONS * B * H]; /* expected */
} trial;

static void fill(float *to, size_t count, uint32_t *seed)
{
    for (size_t i = 0; i < count; i++) to[i] = (float)(2 * uniform(seed));
}

static void expect_sequence(trial *t, int d, int b)
{
    int rows = gates_of[t->s.kind] * H, state = (d * B + b) * H, length = t->lengths[b];
    const float *bias = t->bias + 2 * d * rows;
    weights k = { t->w + d * rows * D, t->r + d * rows * H, t->s.bias ? bias : NULL, t->s.bias ? bias + rows : NULL };
    bool reverse = t->s.direction == 1 || d == 1;
    double h[H] = { 0 }, c[H] = { 0 };
    for (int j = 0; t->s.initial && j < H; j++) {
        h[j] = (double)t->h0[state + j];
        c[j] = (double)t->c0[state + j];
    }
    for (int n = 0; n < length; n++) {
        int at = reverse ? length - 1 - n : n;
        step(&t->s, &k, t->x + (at * B + b) * D, h, c);
        for (int j = 0; j < H; j++) t->y[((at * t->directions + d) * B + b) * H + j] = (float)h[j];
    }
    for (int j = 0; j < H; j++) {
        t->yh[state + j] = (float)h[j];
        t->yc[state + j] = (float)c[j];
    }
}

static trial *make_trial(const setting *s, uint32_t seed)
{
    trial *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->s = *s;
    t->directions = s->direction == 2 ? 2 : 1;
    fill(t->x, sizeof t->x / sizeof(float), &seed);
    fill(t->w, sizeof t->w / sizeof(float), &seed);
    fill(t->r, sizeof t->r / sizeof(float), &seed);
    fill(t->bias, sizeof t->bias / sizeof(float), &seed);
    fill(t->h0, sizeof t->h0 / sizeof(float), &seed);
    fill(t->c0, sizeof t->c0 / sizeof(float), &seed);
    for (int b = 0; b < B; b++) t->lengths[b] = s->lengths ? (int[]){ 2, T, 0 }[b] : T;
    for (int d = 0; d < t->directions; d++)
        for (int b = 0; b < B; b++) expect_sequence(t, d, b);
    return t;
}

/* ---- the same as a call of the operator ---- */

/* A copy with permuted axes: axis axes[i] of `from` becomes axis i. */
static void permuted(onnx_tensor *out, int rank, const int64_t *dims, const int *axes, const float *from)
{
    int64_t to[4] = { 1, 1, 1, 1 }, stride[4] = { 0 }, full[4];
    char message[MESSAGE_SIZE];
    for (int i = 0; i < rank; i++) {
        to[i] = dims[axes[i]];
        stride[i] = 1;
        for (int k = axes[i] + 1; k < rank; k++) stride[i] *= dims[k];
    }
    memcpy(full, to, sizeof full);
    assert_int_equal(onnx_tensor_new(out, ONNX_FLOAT, rank, to, message), CASE_OK);
    float *at = out->reals;
    for (int64_t i = 0; i < full[0]; i++)
        for (int64_t j = 0; j < full[1]; j++)
            for (int64_t k = 0; k < full[2]; k++)
                for (int64_t l = 0; l < full[3]; l++)
                    *at++ = from[i * stride[0] + j * stride[1] + k * stride[2] + l * stride[3]];
}

static const int same_axes[] = { 0, 1, 2, 3 }, swap_axes[] = { 1, 0, 2 }, y_axes[] = { 2, 0, 1, 3 };

static void check_output(const op_call *call, size_t i, int rank, const int64_t *dims, const int *axes,
                         const float *from)
{
    onnx_tensor expected;
    permuted(&expected, rank, dims, axes, from);
    const onnx_tensor *actual = &call->outputs[i];
    assert_int_equal(actual->rank, rank);
    assert_memory_equal(actual->dims, expected.dims, (size_t)rank * sizeof *dims);
    for (size_t k = 0; k < expected.size; k++) {
        double a = (double)actual->reals[k], e = (double)expected.reals[k];
        if (!(fabs(a - e) <= 1e-5 + 1e-5 * fabs(e)))
            fail_msg("output %zu element %zu: %.9g, expected %.9g", i, k, a, e);
    }
    onnx_tensor_free(&expected);
}

static void make_inputs(const trial *t, onnx_tensor *in)
{
    const int *axes = t->s.batch_first ? swap_axes : same_axes;
    int64_t dirs = t->directions, rows = gates_of[t->s.kind] * H;
    char message[MESSAGE_SIZE];
    permuted(&in[0], 3, (int64_t[]){ T, B, D }, axes, t->x);
    permuted(&in[1], 3, (int64_t[]){ dirs, rows, D }, same_axes, t->w);
    permuted(&in[2], 3, (int64_t[]){ dirs, rows, H }, same_axes, t->r);
    permuted(&in[3], 2, (int64_t[]){ dirs, 2 * rows }, same_axes, t->bias);
    assert_int_equal(onnx_tensor_new(&in[4], ONNX_INT32, 1, (int64_t[]){ B }, message), CASE_OK);
    for (int b = 0; b < B; b++) in[4].integers[b] = t->lengths[b];
    permuted(&in[5], 3, (int64_t[]){ dirs, B, H }, axes, t->h0);
    permuted(&in[6], 3, (int64_t[]){ dirs, B, H }, axes, t->c0);
}

static void check_outputs(const trial *t, const op_call *call)
{
    int64_t dirs = t->directions, state[] = { dirs, B, H };
    const int *axes = t->s.batch_first ? swap_axes : same_axes;
    check_output(call, 0, 4, (int64_t[]){ T, dirs, B, H }, t->s.batch_first ? y_axes : same_axes, t->y);
    check_output(call, 1, 3, state, axes, t->yh);
    if (t->s.kind == KIND_LSTM) check_output(call, 2, 3, state, axes, t->yc);
}

static int run_call(const setting *s, op_call *call)
{
    static const char *const directions[] = { "forward", "reverse", "bidirectional" };
    const char *names[6], *f = s->relu ? "Relu" : "Tanh";
    size_t each = s->kind == KIND_LSTM ? 3 : s->kind == KIND_RNN ? 1 : 2, all = s->direction == 2 ? 2 * each : each;
    for (size_t i = 0; i < all; i++) names[i] = each > 1 && i % each == 0 ? "Sigmoid" : f;
    const char *direction = directions[s->direction];
    int64_t layout = s->batch_first, after = s->kind == KIND_GRU_AFTER, hidden = H;
    onnx_attribute attributes[] = {
        { .name = "hidden_size", .type = ONNX_ATTRIBUTE_INT, .count = 1, .ints = &hidden },
        { .name = "layout", .type = ONNX_ATTRIBUTE_INT, .count = 1, .ints = &layout },
        { .name = "linear_before_reset", .type = ONNX_ATTRIBUTE_INT, .count = 1, .ints = &after },
        { .name = "direction", .type = ONNX_ATTRIBUTE_STRING, .count = 1, .strings = &direction },
        { .name = "activations", .type = ONNX_ATTRIBUTE_STRINGS, .count = all, .strings = names },
    };
    const char *outputs[] = { "Y", "Y_h", "Y_c" };
    onnx_model model = { .op_type = op_types[s->kind],
                         .domain = "",
                         .opset = 22,
                         .outputs = { outputs, call->output_count },
                         .attributes = attributes,
                         .attribute_count = 5 };
    call->model = &model;
    return op_find(&model)->run(call);
}

static void check_setting(const setting *s, uint32_t seed)
{
    trial *t = make_trial(s, seed);
    onnx_tensor in[MAX_INPUTS] = { { .rank = 0 } }, out[3] = { { .rank = 0 } };
    bool there[MAX_INPUTS] = { true, true, true, s->bias, s->lengths, s->initial, s->initial && s->kind == KIND_LSTM };
    const onnx_tensor *inputs[MAX_INPUTS] = { NULL };
    char message[MESSAGE_SIZE] = "";
    op_call call = { .inputs = inputs, .outputs = out, .message = message };
    call.input_count = s->kind == KIND_LSTM ? 8 : 6;
    call.output_count = s->kind == KIND_LSTM ? 3 : 2;
    make_inputs(t, in);
    for (size_t i = 0; i < MAX_INPUTS; i++) inputs[i] = there[i] ? &in[i] : NULL;
    if (run_call(s, &call) != CASE_OK) fail_msg("%s", message);
    check_outputs(t, &call);
    for (size_t i = 0; i < MAX_INPUTS; i++) onnx_tensor_free(&in[i]);
    for (size_t i = 0; i < 3; i++) onnx_tensor_free(&out[i]);
    free(t);
}

static void check_kind(kind k)
{
    uint32_t seed = 1;
    for (int direction = 0; direction < 3; direction++)
        for (int bits = 0; bits < 32; bits++) {
            setting s = { k, direction, bits & 1, bits & 2, bits & 4, bits & 8, bits & 16 };
            check_setting(&s, seed++);
        }
}

static void test_rnn(void **state)
{
    (void)state;
    check_kind(KIND_RNN);
}

static void test_gru(void **state)
{
    (void)state;
    check_kind(KIND_GRU_BEFORE);
    check_kind(KIND_GRU_AFTER);
}

static void test_lstm(void **state)
{
    (void)state;
    check_kind(KIND_LSTM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rnn),
        cmocka_unit_test(test_gru),
        cmocka_unit_test(test_lstm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
