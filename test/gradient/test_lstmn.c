/* Derivatives of the LSTMN: several spans and lengths (including 0 and 1), with and without biases, deep fusion with
 * sources of several lengths, sequences that share a source or continue a past, and gradients of h, of c and of the
 * weights. */
#include "gradient/gradient.h"

#include <stdlib.h>

enum { IN = 3, HIDDEN = 4, INNER = 5, GAMMA = 2, COUNT = 4, ROWS = 10, SOURCES = 4, WORDS = 9 };
static const int lengths[COUNT] = { 3, 5, 0, 2 }, source_lengths[SOURCES] = { 4, 2, 3, 0 };
static const int shared[COUNT] = { 1, 1, 3, 0 };

typedef struct setting {
    const char *name;
    int span;
    bool bias, fused, shares, past;
    bool only_memory, only_weights; /* the loss depends only on these; else on everything */
    attend_params *set;
    attend_real *tape; /* of the past */
    const attend_real *words[COUNT * 2];
} setting;

static attend_var *use(attend_ctx *c, const setting *s, const char *name)
{
    return attend_parameter(c, attend_params_find(s->set, name));
}

static attend_var *use_bias(attend_ctx *c, const setting *s, const char *name)
{
    return s->bias ? use(c, s, name) : NULL;
}

static attend_lstmn_cell cell_of(attend_ctx *c, const setting *s)
{
    return (attend_lstmn_cell){ .attention = { use(c, s, "wk"), use(c, s, "wx"), use(c, s, "wt"), use_bias(c, s, "lb"),
                                               use(c, s, "v") },
                                .w = use(c, s, "w"),
                                .u = use(c, s, "u"),
                                .b = use_bias(c, s, "b"),
                                .span = s->span };
}

static const attend_lstmn_source *source_of(attend_ctx *c, const setting *s)
{
    if (!s->fused) return NULL;
    const attend_lstmn_fusion f = { .attention = { use(c, s, "swk"), use(c, s, "swx"), use(c, s, "swt"),
                                                   use_bias(c, s, "slb"), use(c, s, "sv") },
                                    .w = use(c, s, "rw"),
                                    .u = use(c, s, "ru"),
                                    .b = use_bias(c, s, "rb") };
    return attend_lstmn_source_new(c, &f, use(c, s, "gamma"), use(c, s, "alpha"),
                                   attend_ragged_new(c, SOURCES, source_lengths));
}

static const int past_lengths[COUNT] = { 2, 0, 1, 1 };

static attend_var *loss(attend_ctx *c, void *user)
{
    const setting *s = user;
    const attend_lstmn_cell cell = cell_of(c, s);
    const attend_lstmn_past past = { .rows = s->words, .lengths = past_lengths };
    attend_lstmn_io io = { .source = source_of(c, s), .source_of = s->shares ? shared : NULL };
    io.past = s->past ? &past : NULL;
    io.want_weights = true, io.want_source_weights = s->fused;
    attend_var *y = attend_lstmn_sequence(c, &cell, use(c, s, "x"), attend_ragged_new(c, COUNT, lengths), &io);
    attend_var *weights = attend_scale(c, weighted_sum(c, io.weights, 3), 3);
    if (s->fused) weights = attend_add(c, weights, attend_scale(c, weighted_sum(c, io.source_weights, 4), 3));
    if (s->only_weights) return weights;
    if (s->only_memory) return weighted_sum(c, io.c, 2);
    return attend_add(c, attend_add(c, weighted_sum(c, y, 1), weighted_sum(c, io.c, 2)), weights);
}

/* Rows of the tape of an earlier call. */
static void make_past(setting *s)
{
    attend_ctx *c = NULL;
    assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
    const attend_lstmn_cell cell = cell_of(c, s);
    attend_lstmn_io io = { .source = source_of(c, s), .want_tape = true };
    static const int one_each[COUNT] = { 1, 1, 1, 1 };
    attend_real x[COUNT * IN];
    for (int i = 0; i < COUNT * IN; i++) x[i] = (attend_real)((i * 7 % 11) / 5.0 - 1);
    attend_var *rows = attend_constant(c, 2, (const int[]){ COUNT, IN }, x);
    if (!attend_lstmn_sequence(c, &cell, rows, attend_ragged_new(c, COUNT, one_each), &io))
        fail_msg("%s", attend_ctx_message(c));
    const size_t width = (size_t)attend_lstmn_tape_width(&cell, io.source);
    assert_int_equal(attend_dim(io.tape, 1), width);
    s->tape = malloc(COUNT * width * sizeof *s->tape);
    assert_non_null(s->tape);
    memcpy(s->tape, attend_value(io.tape), COUNT * width * sizeof *s->tape);
    static const size_t from[] = { 3, 1, 0, 2 }; /* in any order */
    for (size_t i = 0; i < COUNT; i++) s->words[i] = s->tape + from[i] * width;
    attend_ctx_free(c);
}

static void check(setting s)
{
    assert_int_equal(attend_params_new(&s.set), ATTEND_OK);
    matrix(s.set, "x", ROWS, IN);
    matrix(s.set, "wk", INNER, HIDDEN), matrix(s.set, "wx", INNER, IN), matrix(s.set, "wt", INNER, HIDDEN);
    vector(s.set, "v", INNER);
    matrix(s.set, "w", 4 * HIDDEN, IN), matrix(s.set, "u", 4 * HIDDEN, HIDDEN);
    if (s.bias) vector(s.set, "lb", INNER), vector(s.set, "b", 4 * HIDDEN);
    if (s.fused) {
        matrix(s.set, "gamma", WORDS, GAMMA), matrix(s.set, "alpha", WORDS, HIDDEN);
        matrix(s.set, "swk", INNER, GAMMA), matrix(s.set, "swx", INNER, IN), matrix(s.set, "swt", INNER, GAMMA);
        vector(s.set, "sv", INNER);
        matrix(s.set, "rw", HIDDEN, IN), matrix(s.set, "ru", HIDDEN, GAMMA);
        if (s.bias) vector(s.set, "slb", INNER), vector(s.set, "rb", HIDDEN);
    }
    if (s.past) make_past(&s);
    assert_gradients(s.name, s.set, loss, &s);
    free(s.tape);
    attend_params_free(s.set);
}

static void test_lstmn(void **state)
{
    (void)state;
    static const setting settings[] = {
        { .name = "lstmn" },
        { .name = "lstmn, biases", .bias = true },
        { .name = "lstmn, span 1", .bias = true, .span = 1 },
        { .name = "lstmn, span 2", .bias = true, .span = 2 },
        { .name = "lstmn, span 50, the memory alone", .span = 50, .only_memory = true },
        { .name = "lstmn, the weights alone", .only_weights = true },
        { .name = "lstmn, past", .past = true, .bias = true },
        { .name = "lstmn, past, span 2", .past = true, .span = 2 },
        { .name = "lstmn, fused", .fused = true },
        { .name = "lstmn, fused, biases, span 2", .fused = true, .bias = true, .span = 2 },
        { .name = "lstmn, fused, shared sources", .fused = true, .bias = true, .shares = true },
        { .name = "lstmn, fused, the weights alone", .fused = true, .only_weights = true, .span = 3 },
        { .name = "lstmn, fused, past, span 3", .fused = true, .bias = true, .past = true, .span = 3 },
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) check(settings[i]);
}

/* Two layers, and a decoder fused with the tapes of the second. */
static attend_var *stacked_loss(attend_ctx *c, void *user)
{
    const setting *s = user;
    const attend_ragged *words = attend_ragged_new(c, COUNT, lengths);
    const attend_lstmn_cell cell = cell_of(c, s);
    attend_lstmn_cell second = cell;
    second.w = use(c, s, "w2"), second.attention.wx = use(c, s, "wx2");
    attend_lstmn_io io = { 0 };
    attend_var *h = attend_lstmn_sequence(c, &cell, use(c, s, "x"), words, NULL);
    h = attend_lstmn_sequence(c, &second, h, words, &io);
    const attend_lstmn_fusion f = { .attention = { use(c, s, "wk"), use(c, s, "wx"), use(c, s, "wt"), NULL,
                                                   use(c, s, "v") },
                                    .w = use(c, s, "rw"),
                                    .u = use(c, s, "ru") };
    attend_lstmn_io fused = { .source = attend_lstmn_source_new(c, &f, h, io.c, words) };
    attend_var *y = attend_lstmn_sequence(c, &cell, use(c, s, "z"), words, &fused);
    return attend_add(c, weighted_sum(c, y, 1), weighted_sum(c, h, 2));
}

static void test_stacked(void **state)
{
    (void)state;
    setting s = { .span = 2 };
    assert_int_equal(attend_params_new(&s.set), ATTEND_OK);
    matrix(s.set, "x", ROWS, IN), matrix(s.set, "z", ROWS, IN);
    matrix(s.set, "wk", INNER, HIDDEN), matrix(s.set, "wx", INNER, IN), matrix(s.set, "wt", INNER, HIDDEN);
    vector(s.set, "v", INNER);
    matrix(s.set, "w", 4 * HIDDEN, IN), matrix(s.set, "u", 4 * HIDDEN, HIDDEN);
    matrix(s.set, "w2", 4 * HIDDEN, HIDDEN), matrix(s.set, "wx2", INNER, HIDDEN);
    matrix(s.set, "rw", HIDDEN, IN), matrix(s.set, "ru", HIDDEN, HIDDEN);
    assert_gradients("lstmn, two layers, fused with a third", s.set, stacked_loss, &s);
    attend_params_free(s.set);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lstmn), cmocka_unit_test(test_stacked) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
