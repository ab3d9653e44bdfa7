/* Invalid arguments of attention: each is refused with a message that names the argument and the reason. */
#include "support/attention_problem.h"

/* ---- options ---- */

static void heads_not_a_multiple(attend_attention_options *o)
{
    o->heads = 4, o->key_heads = 3;
}
static void negative_heads(attend_attention_options *o)
{
    o->heads = -1;
}
static void window_without_size(attend_attention_options *o)
{
    o->window = ATTEND_WINDOW_LOCAL_M;
}
static void unknown_window(attend_attention_options *o)
{
    o->window = (attend_window)7, o->window_size = 1;
}
static void unknown_selection(attend_attention_options *o)
{
    o->selection = (attend_selection)9;
}
static void unknown_estimator(attend_attention_options *o)
{
    o->estimator = (attend_estimator)3;
}
static void negative_cap(attend_attention_options *o)
{
    o->soft_cap = -1;
}
static void infinite_scale(attend_attention_options *o)
{
    o->scale = INFINITY;
}
static void dropout_of_one(attend_attention_options *o)
{
    o->dropout = 1;
}
static void infinite_bonus(attend_attention_options *o)
{
    o->entropy_bonus = NAN;
}

static void causal_local_p(attend_attention_options *o)
{
    o->window = ATTEND_WINDOW_LOCAL_P, o->window_size = 2, o->causal = true;
}

static void hard_local_p(attend_attention_options *o)
{
    o->window = ATTEND_WINDOW_LOCAL_P, o->window_size = 2, o->selection = ATTEND_SELECT_HARD;
}

static void hard_with_dropout(attend_attention_options *o)
{
    o->selection = ATTEND_SELECT_HARD, o->dropout = 0.1;
}
static void hard_without_temperature(attend_attention_options *o)
{
    o->selection = ATTEND_SELECT_HARD, o->temperature = 0;
}
static void temperature_too_high(attend_attention_options *o)
{
    o->selection = ATTEND_SELECT_HARD, o->temperature = INFINITY;
}

static void two_heads_of_location(attend_attention_options *o)
{
    o->score = &attend_score_location_sensitive, o->heads = 2;
}

static const struct {
    void (*spoil)(attend_attention_options *o);
    const char *words;
} bad_options[] = {
    { heads_not_a_multiple, "4 heads is not a multiple of 3 key heads" },
    { negative_heads, "-1 heads" },
    { window_without_size, "a local window needs window_size" },
    { unknown_window, "unknown window" },
    { unknown_selection, "unknown selection" },
    { unknown_estimator, "unknown estimator" },
    { negative_cap, "the soft cap must be 0 (none) or from 1e-6 to 1e12" },
    { infinite_scale, "the scale is not finite" },
    { dropout_of_one, "dropout must be in [0, 1)" },
    { infinite_bonus, "the entropy bonus is not finite" },
    { causal_local_p, "a local-p window cannot be combined with a causal mask" },
    { hard_local_p, "hard selection cannot be combined with a local-p window" },
    { hard_with_dropout, "hard selection cannot be combined with dropout" },
    { hard_without_temperature, "the temperature must be from 1e-6 to 1e6" },
    { temperature_too_high, "the temperature must be from 1e-6 to 1e6" },
    { two_heads_of_location, "a score that needs the previous weights must have one head" },
};

static void assert_refused(int status, const char *words)
{
    if (status != ATTEND_BAD_USAGE) fail_msg("'%s': status %d", words, status);
    if (!strstr(attend_message(), words)) fail_msg("'%s' is not in '%s'", words, attend_message());
}

/* With both interfaces. */
static void test_options(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(1);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    for (size_t i = 0; i < sizeof bad_options / sizeof *bad_options; i++) {
        problem p = problem_of(&attend_score_dot);
        problem_new(&p, 1);
        bad_options[i].spoil(&p.o);
        assert_refused(problem_forward(r, &p), bad_options[i].words);
        assert_refused(problem_backward(r, &p), "call attend_runner_forward first");
        attend_ctx_reset(c);
        attend_var *keys = attend_input(c, 2, (const int[]){ 3, 12 }, NULL);
        assert_null(attend_source_new(c, &p.o, NULL, keys, NULL, attend_ragged_new(c, 1, (const int[]){ 3 })));
        assert_refused(attend_ctx_status(c), bad_options[i].words);
        problem_free(&p);
    }
    attend_ctx_free(c);
    attend_runner_free(r);
}

/* ---- arrays ---- */

static const int too_long[] = { 1, 2, 14, 3, 3 }, negative[] = { 1, -2, 3, 3, 3 };

static void different_widths(problem *p)
{
    p->a.key_width = 4;
}
static void no_width(problem *p)
{
    p->a.query_width = 0;
}
static void no_value_width(problem *p)
{
    p->a.value_width = 0;
}
static void negative_batch(problem *p)
{
    p->a.batch = -1;
}
static void no_queries(problem *p)
{
    p->a.query = NULL;
}
static void no_keys(problem *p)
{
    p->a.key = NULL;
}
static void too_many_keys(problem *p)
{
    p->a.key_lengths = too_long;
}
static void negative_length(problem *p)
{
    p->a.query_lengths = negative;
}
static void no_position(problem *p)
{
    p->o.window = ATTEND_WINDOW_LOCAL_P, p->o.window_size = 2;
}

static void mask_shape(problem *p, int axis, int size)
{
    static const unsigned char some[4096];
    p->a.allowed = some;
    for (int i = 0; i < 4; i++) p->a.allowed_shape[i] = i == axis ? size : 1;
}

static void mask_of_three_sequences(problem *p)
{
    mask_shape(p, 0, 3);
}
static void mask_of_two_heads(problem *p)
{
    mask_shape(p, 1, 2);
}
static void mask_of_six_queries(problem *p)
{
    mask_shape(p, 2, 6);
}
static void mask_of_twelve_keys(problem *p)
{
    mask_shape(p, 3, 12);
}

static void bias_shape(problem *p, int axis, int size)
{
    static const attend_real some[4096];
    p->a.bias = some;
    for (int i = 0; i < 4; i++) p->a.bias_shape[i] = i == axis ? size : 1;
}

static void bias_of_six_sequences(problem *p)
{
    bias_shape(p, 0, 6);
}
static void bias_of_no_keys(problem *p)
{
    bias_shape(p, 3, 0);
}

static void missing_parameter(problem *p)
{
    p->o.score = &attend_score_bilinear;
    p->scores = NULL;
}

static void short_location(problem *p)
{
    static const attend_real some[4096];
    p->o.score = &attend_score_location;
    p->a.max_keys = 12;
    p->parameters[0] = some;
    p->scores = NULL;
}

static void mapped_rows_heads_first(problem *p)
{
    missing_parameter(p);
    static const attend_real some[4096];
    p->parameters[0] = some;
    p->a.heads_first = true;
}

static void scores_of_mapped_rows(problem *p)
{
    attend_real *scores = p->scores;
    missing_parameter(p);
    static const attend_real some[4096];
    p->parameters[0] = some;
    p->scores = scores;
}

static void no_context(problem *p)
{
    p->context = NULL;
}

static const struct {
    void (*spoil)(problem *p);
    const char *words;
} bad_arrays[] = {
    { different_widths, "queries and keys must have the same width" },
    { no_width, "widths 0 and 5 at least 1" },
    { no_value_width, "the width of the values is 0" },
    { negative_batch, "batch -1" },
    { no_queries, "the array of queries is NULL" },
    { no_keys, "the array of keys is NULL" },
    { too_many_keys, "sequence 2 has 14 keys, but the array holds 13" },
    { negative_length, "sequence 1 has -2 queries" },
    { no_position, "a local-p window needs a position" },
    { mask_of_three_sequences, "axis 0 of the mask has length 3, expected 1 or 5" },
    { mask_of_two_heads, "axis 1 of the mask has length 2, expected 1 or 4" },
    { mask_of_six_queries, "axis 2 of the mask has length 6, expected 1 or 7" },
    { mask_of_twelve_keys, "axis 3 of the mask has length 12, expected 1 or 13" },
    { bias_of_six_sequences, "axis 0 of the bias has length 6, expected 1 or 5" },
    { bias_of_no_keys, "axis 3 of the bias has length 0, expected 1 or 13" },
    { missing_parameter, "attention with score bilinear: parameter 'w' is missing" },
    { short_location, "the source has more positions than attend_widths.max_keys" },
    { mapped_rows_heads_first, "use the array layout (B, T, H, D)" },
    { scores_of_mapped_rows, "cannot return scores, only weights" },
    { no_context, "the array for the context is NULL" },
};

static void test_arrays(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(1);
    for (size_t i = 0; i < sizeof bad_arrays / sizeof *bad_arrays; i++) {
        problem p = problem_of(&attend_score_dot);
        problem_new(&p, 1);
        problem spoilt = p;
        bad_arrays[i].spoil(&spoilt);
        assert_refused(problem_forward(r, &spoilt), bad_arrays[i].words);
        assert_refused(problem_backward(r, &p), "call attend_runner_forward first");
        problem_free(&p);
    }
    attend_runner_free(r);
}

static void test_backward(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(1);
    problem p = problem_of(&attend_score_dot);
    problem_new(&p, 1);
    const attend_array_gradients g = problem_gradients(&p);
    assert_refused(problem_backward(r, &p), "call attend_runner_forward first");
    assert_ok(attend_runner_forward(r, &p.o, &p.a, p.context, NULL, NULL));
    assert_refused(attend_runner_backward(r, p.dcontext, p.dweights, &g), "the forward pass returned no weights");
    assert_refused(attend_runner_backward(r, NULL, NULL, &g), "dcontext is NULL");
    assert_refused(attend_runner_backward(r, p.dcontext, NULL, NULL), "gradients is NULL");
    assert_ok(attend_runner_backward(r, p.dcontext, NULL, &g));
    p.o.selection = ATTEND_SELECT_HARD, p.o.estimator = ATTEND_REINFORCE, p.a.training = true;
    assert_refused(problem_run(r, &p), "REINFORCE needs an advantage for the backward pass");
    problem_free(&p);
    attend_runner_free(r);
}

/* ---- on the tape ---- */

static attend_var *zeros(attend_ctx *c, int rows, int columns)
{
    return attend_input(c, 2, (const int[]){ rows, columns }, NULL);
}

static const attend_ragged *lengths(attend_ctx *c, int a, int b)
{
    return attend_ragged_new(c, 2, (const int[]){ a, b });
}

/* Two sequences of 3 and 2 keys of width 4, in two heads. */
static attend_source *source(attend_ctx *c, const attend_score *score, attend_var *const *parameters)
{
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    o.score = score;
    o.heads = o.key_heads = score && score->needs_previous_weights ? 1 : 2;
    return attend_source_new(c, &o, parameters, zeros(c, 5, 4), NULL, lengths(c, 3, 2));
}

static attend_var *with(attend_ctx *c, const attend_score *score, attend_var *const *parameters,
                        attend_attention_inputs in)
{
    return attend_attention(c, source(c, score, parameters), zeros(c, 2, 4), lengths(c, 1, 1), &in, NULL);
}

static void bad_source_rows(attend_ctx *c)
{
    attend_source_new(c, &(attend_attention_options){ 0 }, NULL, zeros(c, 5, 4), NULL, lengths(c, 3, 3));
}

static void bad_value_rows(attend_ctx *c)
{
    attend_source_new(c, &(attend_attention_options){ 0 }, NULL, zeros(c, 5, 4), zeros(c, 4, 4), lengths(c, 3, 2));
}

static void bad_key_heads(attend_ctx *c)
{
    attend_source_new(c, &(attend_attention_options){ .heads = 3 }, NULL, zeros(c, 5, 4), NULL, lengths(c, 3, 2));
}

static void bad_source_null(attend_ctx *c)
{
    attend_attention(c, NULL, zeros(c, 2, 4), lengths(c, 1, 1), NULL, NULL);
}

static void bad_query_heads(attend_ctx *c)
{
    attend_attention(c, source(c, NULL, NULL), zeros(c, 2, 5), lengths(c, 1, 1), NULL, NULL);
}
static void bad_query_width(attend_ctx *c)
{
    attend_attention(c, source(c, NULL, NULL), zeros(c, 2, 6), lengths(c, 1, 1), NULL, NULL);
}
static void bad_query_rows(attend_ctx *c)
{
    attend_attention(c, source(c, NULL, NULL), zeros(c, 3, 4), lengths(c, 1, 1), NULL, NULL);
}

static void bad_query_count(attend_ctx *c)
{
    attend_attention(c, source(c, NULL, NULL), zeros(c, 3, 4), attend_ragged_new(c, 3, (const int[]){ 1, 1, 1 }), NULL,
                     NULL);
}

static void bad_parameter_none(attend_ctx *c)
{
    source(c, &attend_score_bilinear, NULL);
}
static void bad_parameter_null(attend_ctx *c)
{
    source(c, &attend_score_additive, (attend_var *[]){ zeros(c, 6, 4), NULL });
}

static void bad_parameter_rank(attend_ctx *c)
{
    source(c, &attend_score_bilinear, (attend_var *[]){ attend_input(c, 1, (const int[]){ 16 }, NULL) });
}

static void bad_parameter_width(attend_ctx *c)
{
    source(c, &attend_score_bilinear, (attend_var *[]){ zeros(c, 4, 5) });
}

static void bad_channels(attend_ctx *c)
{
    attend_var *b = attend_input(c, 1, (const int[]){ 6 }, NULL);
    with(c, &attend_score_additive, (attend_var *[]){ zeros(c, 8, 4), zeros(c, 6, 4), b, b },
         (attend_attention_inputs){ 0 });
}

static void bad_bias_rank(attend_ctx *c)
{
    with(c, NULL, NULL, (attend_attention_inputs){ .bias = zeros(c, 1, 3) });
}

static void bad_bias_shape(attend_ctx *c)
{
    with(c, NULL, NULL, (attend_attention_inputs){ .bias = attend_input(c, 4, (const int[]){ 1, 1, 1, 2 }, NULL) });
}

static void bad_mask_shape(attend_ctx *c)
{
    with(c, NULL, NULL,
         (attend_attention_inputs){ .allowed = (const unsigned char *)"", .allowed_shape = { 1, 1, 2, 1 } });
}

static void bad_mask_without_shape(attend_ctx *c)
{
    with(c, NULL, NULL, (attend_attention_inputs){ .allowed = (const unsigned char *)"" });
}

static attend_var *local_p(attend_ctx *c, attend_var *position)
{
    const attend_attention_options o = { .window = ATTEND_WINDOW_LOCAL_P, .window_size = 2 };
    const attend_source *s = attend_source_new(c, &o, NULL, zeros(c, 5, 4), NULL, lengths(c, 3, 2));
    return attend_attention(c, s, zeros(c, 2, 4), lengths(c, 1, 1), &(attend_attention_inputs){ .position = position },
                            NULL);
}

static void bad_no_position(attend_ctx *c)
{
    local_p(c, NULL);
}
static void bad_positions(attend_ctx *c)
{
    local_p(c, zeros(c, 3, 1));
}

static void bad_previous(attend_ctx *c)
{
    attend_var *b = attend_input(c, 1, (const int[]){ 6 }, NULL);
    attend_var *parameters[] = { zeros(c, 6, 4), zeros(c, 6, 4), b, b, zeros(c, 6, 2), zeros(c, 2, 3) };
    with(c, &attend_score_location_sensitive, parameters,
         (attend_attention_inputs){ .previous = attend_input(c, 4, (const int[]){ 2, 1, 1, 4 }, NULL) });
}

static const struct {
    void (*run)(attend_ctx *c);
    const char *words;
} bad_calls[] = {
    { bad_source_rows, "attend_source_new" },
    { bad_value_rows, "attend_source_new" },
    { bad_key_heads, "keys of width 4 and values of width 4 cannot be divided into 3 heads" },
    { bad_source_null, "attend_attention: the source is NULL" },
    { bad_query_heads, "queries of width 5 cannot be divided into 2 heads" },
    { bad_query_width, "queries and keys must have the same width" },
    { bad_query_rows, "attend_attention" },
    { bad_query_count, "the queries have 3 sequences, the source has 2" },
    { bad_parameter_none, "parameter 0, 'w', is missing" },
    { bad_parameter_null, "parameter 1, 'wk', is missing" },
    { bad_parameter_rank, "'w', is missing or does not have rank 2" },
    { bad_parameter_width, "attend_linear: x (5, 4) and w (4, 5)" },
    { bad_channels, "wq and wk must have the same number of rows for each head" },
    { bad_bias_rank, "the bias has 2 axes, expected 4" },
    { bad_bias_shape, "axis 3 of the bias has length 2, expected 1 or 3" },
    { bad_mask_shape, "axis 2 of the mask has length 2, expected 1 or 1" },
    { bad_mask_without_shape, "of the mask has length 0" },
    { bad_no_position, "a local-p window needs a position" },
    { bad_positions, "3 positions for 2 queries" },
    { bad_previous, "the previous weights have shape (2, 1, 1, 4), expected (2, 1, 1, 3)" },
};

static void test_calls(void **state)
{
    (void)state;
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    for (size_t i = 0; i < sizeof bad_calls / sizeof *bad_calls; i++) {
        attend_ctx_reset(c);
        bad_calls[i].run(c);
        assert_refused(attend_ctx_status(c), bad_calls[i].words);
    }
    attend_ctx_free(c);
}

/* Extreme positions and windows are accepted: no key is visible, or all keys are. */
static void test_far_windows(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(1);
    const struct {
        int first_position, window_size;
        double sum; /* sum of the weights of a query */
    } cases[] = { { 1000000, 2, 0 },   { -1000000, 2, 0 },  { INT32_MAX, 1, 0 },
                  { INT32_MIN, 1, 0 }, { 0, INT32_MAX, 1 }, { INT32_MAX, INT32_MAX, 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        problem p = problem_of(&attend_score_dot);
        p.o.window = ATTEND_WINDOW_LOCAL_M, p.o.window_size = cases[i].window_size, p.o.causal = i % 2;
        p.a.first_position = cases[i].first_position, p.a.queries = 1;
        problem_new(&p, 1);
        assert_ok(problem_run(r, &p));
        double sum = 0;
        for (int j = 0; j < p.a.keys; j++) sum += (double)p.weights[j];
        if (!(fabs(sum - cases[i].sum) < 1e-5)) fail_msg("case %zu: the weights sum to %g", i, sum);
        problem_free(&p);
    }
    /* local-p: a position outside the source sees the keys near it; a NaN position gives NaN */
    for (int i = 0; i < 3; i++) {
        problem p = problem_of(&attend_score_dot);
        p.o.window = ATTEND_WINDOW_LOCAL_P, p.o.window_size = 2, p.a.queries = 1;
        problem_new(&p, 1);
        p.data[PLAIN_POSITION][0] = (attend_real)(i == 0 ? 1e30 : i == 1 ? -1e30 : (double)NAN);
        assert_ok(problem_run(r, &p));
        assert_true(i == 2 ? isnan((double)p.context[0]) : p.context[0] == 0);
        problem_free(&p);
    }
    attend_runner_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_options), cmocka_unit_test(test_arrays),
                                        cmocka_unit_test(test_backward), cmocka_unit_test(test_calls),
                                        cmocka_unit_test(test_far_windows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
