/* test_golden_cells.c: compares recurrent cells with PyTorch, in every way the library offers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/rig.h"
#include <stdlib.h>
#include <string.h>

typedef struct spec {
    const char *name;
    attend_cell_kind kind;
    attend_activation activation;
    const char *directions; /* "f" forward, "r" reverse, "fr" bidirectional */
    int layers;
} spec;

static const spec specs[] = {
    { "gru", ATTEND_CELL_GRU, ATTEND_TANH, "f", 1 },
    { "gru_reverse", ATTEND_CELL_GRU, ATTEND_TANH, "r", 1 },
    { "gru_both", ATTEND_CELL_GRU, ATTEND_TANH, "fr", 1 },
    { "gru_relu", ATTEND_CELL_GRU, ATTEND_RELU, "f", 1 },
    { "gru_before", ATTEND_CELL_GRU_RESET_BEFORE, ATTEND_TANH, "f", 1 },
    { "gru_before_relu", ATTEND_CELL_GRU_RESET_BEFORE, ATTEND_RELU, "r", 1 },
    { "lstm", ATTEND_CELL_LSTM, ATTEND_TANH, "f", 1 },
    { "lstm_reverse", ATTEND_CELL_LSTM, ATTEND_TANH, "r", 1 },
    { "lstm_relu", ATTEND_CELL_LSTM, ATTEND_RELU, "f", 1 },
    { "lstm_stacked", ATTEND_CELL_LSTM, ATTEND_TANH, "fr", 2 },
    { "lstm_bare", ATTEND_CELL_LSTM, ATTEND_TANH, "f", 1 },
    { "simple_tanh", ATTEND_CELL_SIMPLE, ATTEND_TANH, "f", 1 },
    { "simple_relu", ATTEND_CELL_SIMPLE, ATTEND_RELU, "r", 1 },
    { "simple_bare", ATTEND_CELL_SIMPLE, ATTEND_TANH, "f", 1 },
};

/* Runs a batch of sequences through one cell: attend_cell_sequence, or step by step. */
typedef attend_var *(*runner)(rig *r, const attend_cell *cell, attend_var *x, const attend_ragged *sequences,
                              bool reverse, attend_state *state);

static attend_var *run_sequence(rig *r, const attend_cell *cell, attend_var *x, const attend_ragged *sequences,
                                bool reverse, attend_state *state)
{
    return attend_cell_sequence(r->c, cell, x, sequences, reverse, state);
}

/* Step-by-step processing of the sequences that have rows left. All states stay in a pool of rows, the newest first;
 * the state of sequence b is row where[b]. */
typedef struct walk {
    int count;  /* B */
    int active; /* number of sequences in this step */
    int *which; /* (B): their indices */
    int *rows;  /* (B): their rows in x */
    int *from;  /* (B): their rows in the pool */
    int *where; /* (B) */
    attend_state pool;
} walk;

static void choose_active(walk *w, const attend_ragged *sequences, bool reverse, int t)
{
    w->active = 0;
    for (int b = 0; b < w->count; b++) {
        int length = attend_ragged_length(sequences, b);
        if (t >= length) continue;
        w->which[w->active] = b;
        w->rows[w->active] = attend_ragged_offset(sequences, b) + (reverse ? length - 1 - t : t);
        w->from[w->active++] = w->where[b];
    }
}

/* `top` followed by the pool; without a pool, the initial states are zeros. */
static attend_var *grown(rig *r, const walk *w, attend_var *top, attend_var *pool)
{
    if (pool == NULL) pool = attend_constant(r->c, 2, (const int[]){ w->count, attend_dim(top, 1) }, NULL);
    return attend_stack(r->c, (attend_var *const[]){ top, pool }, 2);
}

static void step_once(rig *r, const attend_cell *cell, attend_var *x, walk *w)
{
    attend_state now = { NULL, NULL };
    if (w->pool.h != NULL) now.h = attend_gather(r->c, w->pool.h, w->from, w->active);
    if (w->pool.c != NULL) now.c = attend_gather(r->c, w->pool.c, w->from, w->active);
    attend_var *h = attend_cell_step(r->c, cell, attend_gather(r->c, x, w->rows, w->active), &now);
    if (h == NULL) fail_msg("%s: %s [%s]", r->path, attend_ctx_message(r->c), r->way);
    assert_ptr_equal(h, now.h);
    w->pool.h = grown(r, w, now.h, w->pool.h);
    if (now.c != NULL) w->pool.c = grown(r, w, now.c, w->pool.c);
    for (int b = 0; b < w->count; b++) w->where[b] += w->active;
    for (int i = 0; i < w->active; i++) w->where[w->which[i]] = i;
}

static int longest(const attend_ragged *sequences)
{
    int longest = 0;
    for (int b = 0; b < attend_ragged_count(sequences); b++)
        if (attend_ragged_length(sequences, b) > longest) longest = attend_ragged_length(sequences, b);
    return longest;
}

static attend_var *run_steps(rig *r, const attend_cell *cell, attend_var *x, const attend_ragged *sequences,
                             bool reverse, attend_state *state)
{
    int count = attend_ragged_count(sequences), total = attend_ragged_rows(sequences);
    int *memory = calloc((size_t)(4 * count + total), sizeof *memory);
    assert_non_null(memory);
    walk w = { .count = count, .which = memory, .rows = memory + count, .from = memory + 2 * count };
    w.where = memory + 3 * count;
    w.pool = *state;
    int *depth = memory + 4 * count; /* position of each row's output from the end of the pool */
    int height = count;
    for (int b = 0; b < count; b++) w.where[b] = b;
    for (int t = 0; t < longest(sequences); t++) {
        choose_active(&w, sequences, reverse, t);
        step_once(r, cell, x, &w);
        height += w.active;
        for (int i = 0; i < w.active; i++) depth[w.rows[i]] = height - i;
    }
    for (int i = 0; i < total; i++) depth[i] = height - depth[i]; /* from the front, as rows are numbered */
    attend_var *y = attend_gather(r->c, w.pool.h, depth, total);
    state->h = attend_gather(r->c, w.pool.h, w.where, count);
    state->c = w.pool.c != NULL ? attend_gather(r->c, w.pool.c, w.where, count) : NULL;
    free(memory);
    return y;
}

static const char *part(char *out, char direction, int layer, const char *what)
{
    (void)snprintf(out, GOLDEN_NAME, "%c%d.%s", direction, layer, what);
    return out;
}

/* One direction of one layer: h of every row; the final states are outputs of the golden. */
static attend_var *run_side(rig *r, const spec *s, runner run, attend_var *x, const attend_ragged *sequences, int layer,
                            char direction)
{
    char n[GOLDEN_NAME];
    attend_cell cell = {
        .kind = s->kind,
        .activation = s->activation,
        .w = rig_weight(r, part(n, direction, layer, "w")),
        .u = rig_weight(r, part(n, direction, layer, "u")),
        .bw = rig_weight_if_any(r, part(n, direction, layer, "bw")),
        .bu = rig_weight_if_any(r, part(n, direction, layer, "bu")),
    };
    attend_state state = { .h = rig_input_if_any(r, part(n, direction, layer, "h0")),
                           .c = rig_input_if_any(r, part(n, direction, layer, "c0")) };
    attend_var *y = run(r, &cell, x, sequences, direction == 'r', &state);
    rig_output(r, part(n, direction, layer, "hn"), state.h);
    if (s->kind == ATTEND_CELL_LSTM) rig_output(r, part(n, direction, layer, "cn"), state.c);
    return y;
}

static void check_spec(const spec *s, runner run, rig_weights weights, const char *way)
{
    rig r;
    int count = 0;
    rig_open(&r, s->name, weights, way);
    int *lengths = rig_integers(&r, "lengths", &count);
    const attend_ragged *sequences = attend_ragged_new(r.c, count, lengths);
    free(lengths);
    attend_var *rows = rig_input(&r, "x");
    for (int layer = 0; layer < s->layers; layer++) {
        attend_var *sides[2];
        int n = 0;
        for (const char *d = s->directions; *d != '\0'; d++)
            sides[n++] = run_side(&r, s, run, rows, sequences, layer, *d);
        rows = n == 1 ? sides[0] : attend_concat(r.c, sides, n);
    }
    rig_output(&r, "y", rows);
    rig_check(&r);
    rig_close(&r);
}

static void check_every_way(const void *user)
{
    const spec *s = user;
    check_spec(s, run_sequence, RIG_PARAMETERS, "whole sequences");
    check_spec(s, run_sequence, RIG_INPUTS, "whole sequences, weights that are variables");
    check_spec(s, run_steps, RIG_PARAMETERS, "steps");
    check_spec(s, run_steps, RIG_INPUTS, "steps, weights that are variables");
}

static void test_spec(void **state)
{
    rig_every_table(check_every_way, *state);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[sizeof specs / sizeof *specs];
    rig_directory(argc, argv);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        tests[i] = (struct CMUnitTest){ .name = specs[i].name,
                                        .test_func = test_spec,
                                        .initial_state = (void *)(uintptr_t)&specs[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
