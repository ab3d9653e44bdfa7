/* Derivatives of the recurrent cells: every kind and activation, both directions, ragged lengths including 1 and 0,
 * with and without biases and initial states, as sequences and as single steps. */
#include "gradient/gradient.h"

typedef struct setting {
    attend_cell_kind kind;
    attend_activation activation;
    bool reverse, bias, initial, steps, last_only;
    attend_param *x, *w, *u, *bw, *bu, *h0, *c0;
} setting;

enum { IN = 3, HIDDEN = 4, COUNT = 5 };
static const int lengths[COUNT] = { 2, 4, 0, 1, 4 };
enum { ROWS = 11 };

static attend_var *loss_of(attend_ctx *c, attend_var *y, attend_state state, bool last_only)
{
    attend_var *loss = weighted_sum(c, state.h, 2);
    if (state.c) loss = attend_add(c, loss, weighted_sum(c, state.c, 3));
    return last_only ? loss : attend_add(c, loss, weighted_sum(c, y, 1));
}

static attend_var *sequence_loss(attend_ctx *c, void *user)
{
    setting *s = user;
    attend_cell cell = {
        .kind = s->kind, .activation = s->activation, .w = attend_parameter(c, s->w), .u = attend_parameter(c, s->u)
    };
    if (s->bias) cell.bw = attend_parameter(c, s->bw), cell.bu = attend_parameter(c, s->bu);
    attend_state state = { 0 };
    if (s->initial) state.h = attend_parameter(c, s->h0);
    if (s->initial && s->c0) state.c = attend_parameter(c, s->c0);

    if (!s->steps) {
        const attend_ragged *r = attend_ragged_new(c, COUNT, lengths);
        attend_var *y = attend_cell_sequence(c, &cell, attend_parameter(c, s->x), r, s->reverse, &state);
        return loss_of(c, y, state, s->last_only);
    }
    /* two steps for COUNT sequences */
    static const int first[COUNT] = { 0, 1, 2, 3, 4 }, second[COUNT] = { 5, 6, 7, 8, 9 };
    attend_var *x = attend_parameter(c, s->x);
    attend_var *y = attend_cell_step(c, &cell, attend_gather(c, x, first, COUNT), &state);
    attend_var *z = attend_cell_step(c, &cell, attend_gather(c, x, second, COUNT), &state);
    return loss_of(c, attend_add(c, y, z), state, false);
}

static void check(setting s)
{
    static const char *const kinds[] = { "simple", "gru", "gru, reset before", "lstm" };
    char name[128];
    snprintf(name, sizeof name, "%s %s%s%s%s%s%s", kinds[s.kind], s.activation == ATTEND_RELU ? "relu" : "tanh",
             s.reverse ? ", reverse" : "", s.bias ? ", biases" : "", s.initial ? ", initial state" : "",
             s.steps ? ", steps" : "", s.last_only ? ", last state only" : "");
    attend_params *set = NULL;
    assert_int_equal(attend_params_new(&set), ATTEND_OK);
    int gates = attend_cell_gates(s.kind);
    s.x = matrix(set, "x", ROWS, IN);
    s.w = matrix(set, "w", gates * HIDDEN, IN);
    s.u = matrix(set, "u", gates * HIDDEN, HIDDEN);
    if (s.bias) s.bw = vector(set, "bw", gates * HIDDEN), s.bu = vector(set, "bu", gates * HIDDEN);
    if (s.initial) s.h0 = matrix(set, "h0", COUNT, HIDDEN);
    if (s.initial && s.kind == ATTEND_CELL_LSTM) s.c0 = matrix(set, "c0", COUNT, HIDDEN);
    assert_gradients(name, set, sequence_loss, &s);
    attend_params_free(set);
}

static void test_cells(void **state)
{
    (void)state;
    for (int kind = ATTEND_CELL_SIMPLE; kind <= ATTEND_CELL_LSTM; kind++)
        for (int activation = ATTEND_TANH; activation <= ATTEND_RELU; activation++)
            for (int way = 0; way < 6; way++)
                check((setting){ .kind = (attend_cell_kind)kind,
                                 .activation = (attend_activation)activation,
                                 .reverse = way == 1 || way == 3,
                                 .bias = way != 0,
                                 .initial = way >= 2,
                                 .steps = way == 4,
                                 .last_only = way == 5 });
}

/* Two bidirectional layers; the second reads the concatenated outputs of the first. */
static attend_var *stacked_loss(attend_ctx *c, void *user)
{
    attend_params *set = user;
    const attend_ragged *r = attend_ragged_new(c, COUNT, lengths);
    attend_var *x = attend_parameter(c, attend_params_find(set, "x"));
    for (int layer = 0; layer < 2; layer++) {
        attend_var *both[2];
        for (int way = 0; way < 2; way++) {
            char w[16], u[16];
            snprintf(w, sizeof w, "w%d%d", layer, way);
            snprintf(u, sizeof u, "u%d%d", layer, way);
            const attend_cell cell = { .kind = ATTEND_CELL_GRU,
                                       .w = attend_parameter(c, attend_params_find(set, w)),
                                       .u = attend_parameter(c, attend_params_find(set, u)) };
            both[way] = attend_cell_sequence(c, &cell, x, r, way == 1, NULL);
        }
        x = attend_concat(c, both, 2);
        if (layer == 0) x = attend_dropout_shared(c, x, r, 0.3);
    }
    return weighted_sum(c, x, 5);
}

static void test_stacked(void **state)
{
    (void)state;
    attend_params *set = NULL;
    assert_int_equal(attend_params_new(&set), ATTEND_OK);
    matrix(set, "x", ROWS, IN);
    for (int way = 0; way < 2; way++) {
        matrix(set, way ? "w01" : "w00", 3 * HIDDEN, IN), matrix(set, way ? "u01" : "u00", 3 * HIDDEN, HIDDEN);
        matrix(set, way ? "w11" : "w10", 3 * HIDDEN, 2 * HIDDEN), matrix(set, way ? "u11" : "u10", 3 * HIDDEN, HIDDEN);
    }
    assert_gradients("two layers of gru, both directions, shared dropout", set, stacked_loss, set);
    attend_params_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cells), cmocka_unit_test(test_stacked) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
