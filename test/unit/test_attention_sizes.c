/* Invalid sizes and incomplete scores: refused on plain arrays, with the reason. */
#include "unit/unit.h"
#include <limits.h>

static attend_real numbers[4096];

static void refused(attend_attention_options *o, attend_arrays *a, const char *words)
{
    attend_runner *r = NULL;
    static attend_real context[4096];
    assert_ok(attend_runner_new(&r, 2));
    assert_int_equal(attend_runner_forward(r, o, a, context, NULL, NULL), ATTEND_BAD_USAGE);
    if (!strstr(attend_message(), words)) fail_msg("\"%s\" does not contain \"%s\"", attend_message(), words);
    attend_runner_free(r);
}

static attend_arrays small(void)
{
    static const attend_real *parameters[] = { numbers, numbers, numbers, numbers, numbers, numbers };
    return (attend_arrays){ .batch = 1,
                            .queries = 2,
                            .keys = 3,
                            .query_width = 4,
                            .key_width = 4,
                            .value_width = 4,
                            .query = numbers,
                            .key = numbers,
                            .value = numbers,
                            .parameters = parameters };
}

static void test_sizes(void **state)
{
    (void)state;
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    attend_arrays a = small();
    o.heads = 65536, a.query_width = a.key_width = a.value_width = 65536;
    refused(&o, &a, "the arrays are too large");
    o.heads = 1, a = small(), a.batch = INT_MAX;
    refused(&o, &a, "the arrays are too large");
    o.score = &attend_score_location, a = small(), a.max_keys = -5;
    refused(&o, &a, "axis 0 of parameter 'wa' would have length -5");
    o.heads = 4, a = small(), a.query_width = a.key_width = a.value_width = 1;
    a.max_keys = (1 << 30) + 1; /* times 4 heads: 2^32 + 4 rows, which is 4 in an int */
    refused(&o, &a, "axis 0 of parameter 'wa' would have length -1");
    o.heads = 1;
    o.score = &attend_score_location_sensitive, a = small(), a.filters = -1, a.filter_size = 3;
    refused(&o, &a, "parameter 'uf' would have length -1");
    refused(NULL, &a, "options is NULL");
    refused(&o, NULL, "arrays is NULL");
}

static attend_var *same(attend_ctx *c, attend_var *const *w, attend_var *x)
{
    (void)w;
    return attend_scale(c, x, 2);
}

static int one(const attend_widths *w)
{
    (void)w;
    return 1;
}

static void test_incomplete_scores(void **state)
{
    (void)state;
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    attend_arrays a = small();
    attend_score s = attend_score_dot;
    s.prepare_values = same;
    o.score = &s;
    refused(&o, &a, "must define context_width");
    s.context_width = one;
    refused(&o, &a, "context_width is 1, but the context has width 4");
    s = attend_score_dot, s.tile_backward = NULL;
    refused(&o, &a, "a score needs tile and tile_backward");
    s = attend_score_dot, s.cache_size = NULL;
    refused(&o, &a, "both or none of cache_size and cache_keys");
}

/* With arrays longer than their sequences, the lengths of the sequences count. */
static void test_arrays_longer_than_the_sequences(void **state)
{
    (void)state;
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    attend_arrays a = small();
    attend_runner *r = NULL;
    attend_real context[8];
    o.score = &attend_score_location;
    a.keys = 16, a.max_keys = 4, a.key_lengths = (const int[]){ 3 };
    assert_ok(attend_runner_new(&r, 1));
    assert_ok(attend_runner_forward(r, &o, &a, context, NULL, NULL));
    attend_runner_free(r);
    a.key_lengths = (const int[]){ 5 };
    refused(&o, &a, "more positions than attend_widths.max_keys");
}

/* The memory of a runner grows with the length of the sequences, not with its square. */
static void test_memory(void **state)
{
    (void)state;
    enum { WIDTH = 8, LONG = 2048, SHORT = LONG / 8 };
    static attend_real rows[LONG * WIDTH], context[LONG * WIDTH];
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    attend_runner *r = NULL;
    size_t bytes[2];
    o.score = &attend_score_scaled_dot;
    for (int k = 0; k < 2; k++) {
        const int length = k ? LONG : SHORT;
        const attend_arrays a = { .batch = 1,
                                  .queries = length,
                                  .keys = length,
                                  .query_width = WIDTH,
                                  .key_width = WIDTH,
                                  .value_width = WIDTH,
                                  .query = rows,
                                  .key = rows,
                                  .value = rows };
        assert_ok(attend_runner_new(&r, 2));
        const size_t before = attend_runner_bytes(r);
        assert_ok(attend_runner_forward(r, &o, &a, context, NULL, NULL));
        bytes[k] = attend_runner_bytes(r);
        assert_true(bytes[k] > before);
        assert_ok(attend_runner_forward(r, &o, &a, context, NULL, NULL));
        assert_int_equal(attend_runner_bytes(r), bytes[k]); /* memory is reused */
        attend_runner_free(r);
    }
    if (!(bytes[1] <= 16 * bytes[0])) fail_msg("8 times as long: %zu and %zu bytes", bytes[0], bytes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_incomplete_scores),
        cmocka_unit_test(test_arrays_longer_than_the_sequences),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
