/* The key/value cache: step-by-step decoding equals causal attention over the whole sequence, and a failure loses no
 * row. */
#include "core/memory.h"
#include "unit/unit.h"

enum { B = 3, T = 41, H = 4, HK = 2, D = 5, DV = 7 };

static attend_real query[B * T * H * D], key[B * T * HK * D], value[B * T * HK * DV];
static attend_real expected[B * T * H * DV], context[B * T * H * DV];

static void fill_random(attend_real *to, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (attend_real)((double)(seed >> 8) / (double)(1 << 23) - 1);
    }
}

static int make_rows(void **state)
{
    (void)state;
    fill_random(query, sizeof query / sizeof *query, 1);
    fill_random(key, sizeof key / sizeof *key, 2);
    fill_random(value, sizeof value / sizeof *value, 3);
    return 0;
}

/* Rows [first, first + count) of all sequences of an array (B, T, row): (B, count, row), or with heads_first
 * (B, heads, count, row / heads). */
static attend_real *slice(const attend_real *from, int first, int count, int row, int heads, bool heads_first)
{
    attend_real *to = malloc((size_t)(B * count * row) * sizeof *to);
    assert_non_null(to);
    const int width = row / heads;
    for (int b = 0; b < B; b++)
        for (int t = 0; t < count; t++)
            for (int h = 0; h < heads; h++)
                memcpy(to + (heads_first ? (b * heads + h) * count + t : (b * count + t) * heads + h) * width,
                       from + (b * T + first + t) * row + h * width, (size_t)width * sizeof *to);
    return to;
}

static int append(attend_cache *c, int first, int count, bool heads_first)
{
    attend_real *k = slice(key, first, count, HK * D, HK, heads_first),
                *v = slice(value, first, count, HK * DV, HK, heads_first);
    int status = attend_cache_append(c, count, k, v, heads_first);
    free(k);
    free(v);
    return status;
}

/* Asserts that sequence b of the cache has the first `length` rows of sequence from[b]. */
static void assert_holds(const attend_cache *c, const int *from, int batch, int length)
{
    assert_int_equal(attend_cache_batch(c), batch);
    assert_int_equal(attend_cache_length(c), length);
    attend_real *k = malloc((size_t)(batch * HK * length * D + 1) * sizeof *k), *at_k = k;
    attend_real *v = malloc((size_t)(batch * HK * length * DV + 1) * sizeof *v), *at_v = v;
    assert_non_null(k);
    assert_non_null(v);
    attend_cache_present(c, k, v);
    for (int b = 0; b < batch; b++)
        for (int h = 0; h < HK; h++)
            for (int t = 0; t < length; t++, at_k += D, at_v += DV) {
                assert_memory_equal(at_k, key + ((from[b] * T + t) * HK + h) * D, D * sizeof *k);
                assert_memory_equal(at_v, value + ((from[b] * T + t) * HK + h) * DV, DV * sizeof *v);
            }
    free(k);
    free(v);
}

static const int all[] = { 0, 1, 2 };

static void assert_near(const attend_real *a, const attend_real *b, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; i++) {
        double apart = (double)a[i] - (double)b[i];
        if (!(apart <= tolerance && apart >= -tolerance))
            fail_msg("element %zu: %.9g and %.9g", i, (double)a[i], (double)b[i]);
    }
}

/* ---- decoding ---- */

static attend_arrays whole(void)
{
    return (attend_arrays){ .batch = B,
                            .queries = T,
                            .keys = T,
                            .query_width = D,
                            .key_width = D,
                            .value_width = DV,
                            .query = query,
                            .key = key,
                            .value = value };
}

/* With the cache, `step` rows at a time: the same context as all rows at once. */
static void decode(attend_runner *r, const attend_attention_options *options, const attend_arrays *all_at_once,
                   int step, bool heads_first)
{
    attend_cache *c = NULL;
    attend_arrays a = *all_at_once;
    const int heads = options->heads, row = heads * a.query_width, out = heads * a.value_width;
    assert_ok(attend_runner_forward(r, options, all_at_once, expected, NULL, NULL));
    assert_ok(attend_cache_new(&c, B, HK, D, DV));
    memset(context, 0, sizeof context);
    for (int t = 0; t < T; t += step) {
        const int count = T - t < step ? T - t : step;
        assert_ok(append(c, t, count, heads_first));
        attend_cache_fill(c, &a);
        attend_real *q = slice(query, t, count, row, heads, false), *part = slice(context, t, count, out, heads, false);
        a.query = q, a.queries = count;
        assert_ok(attend_runner_forward(r, options, &a, part, NULL, NULL));
        for (int b = 0; b < B; b++)
            memcpy(context + (b * T + t) * out, part + b * count * out, (size_t)(count * out) * sizeof *part);
        free(q);
        free(part);
    }
    assert_near(context, expected, (size_t)(B * T * out), 1e-6);
    assert_holds(c, all, B, T);
    attend_cache_free(c);
}

static void test_step_by_step_is_causal_attention(void **state)
{
    (void)state;
    attend_runner *r = NULL;
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    const attend_arrays a = whole();
    o.heads = H, o.key_heads = HK, o.causal = true;
    assert_ok(attend_runner_new(&r, 2));
    const int steps[] = { 1, 2, 7, 17, T };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        decode(r, &o, &a, steps[i], false);
        decode(r, &o, &a, steps[i], true);
    }
    o.soft_cap = 1.5;
    decode(r, &o, &a, 3, false);
    attend_runner_free(r);
}

/* A score that maps rows removes padding by another code path. */
static void test_scores_that_map_rows(void **state)
{
    (void)state;
    attend_runner *r = NULL;
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    attend_arrays a = whole();
    attend_real w[5 * 64];
    fill_random(w, sizeof w / sizeof *w, 4);
    const attend_real *parameters[] = { w, w + 64, w + 128, w + 192, w + 256 };
    o.score = &attend_score_additive;
    o.causal = true;
    a.attention = 6;
    a.parameters = parameters;
    assert_ok(attend_runner_new(&r, 1));
    o.heads = HK;
    a.query_width = D;
    decode(r, &o, &a, 1, false);
    decode(r, &o, &a, 4, true);
    attend_runner_free(r);
}

/* Masks and weights are as wide as the capacity of the cache. */
static void test_masks_are_as_wide_as_the_capacity(void **state)
{
    (void)state;
    attend_runner *r = NULL;
    attend_cache *c = NULL;
    attend_arrays a = whole();
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    o.heads = H, o.key_heads = HK;
    assert_ok(attend_runner_new(&r, 1));
    assert_ok(attend_cache_new(&c, B, HK, D, DV));
    assert_ok(append(c, 0, 5, false));
    attend_cache_fill(c, &a);
    assert_true(a.keys >= 5);
    a.queries = 1;
    unsigned char *allowed = calloc((size_t)a.keys, 1);
    attend_real *weights = malloc((size_t)(B * H * a.keys) * sizeof *weights);
    assert_non_null(allowed);
    assert_non_null(weights);
    allowed[1] = allowed[3] = 1;
    memset(allowed + 5, 1, (size_t)(a.keys - 5)); /* keys after the length are not visible */
    a.allowed = allowed;
    memcpy(a.allowed_shape, (int[]){ 1, 1, 1, a.keys }, sizeof a.allowed_shape);
    assert_ok(attend_runner_forward(r, &o, &a, context, weights, NULL));
    for (int i = 0; i < B * H; i++)
        for (int j = 0; j < a.keys; j++) assert_true((weights[i * a.keys + j] > 0) == (j == 1 || j == 3));
    free(allowed);
    free(weights);
    attend_cache_free(c);
    attend_runner_free(r);
}

static void test_an_empty_cache_gives_zero(void **state)
{
    (void)state;
    attend_runner *r = NULL;
    attend_cache *c = NULL;
    attend_arrays a = whole();
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    o.heads = H, o.key_heads = HK, o.causal = true;
    assert_ok(attend_runner_new(&r, 1));
    assert_ok(attend_cache_new(&c, B, HK, D, DV));
    attend_cache_fill(c, &a);
    a.queries = 1;
    assert_ok(attend_runner_forward(r, &o, &a, context, NULL, NULL));
    for (int i = 0; i < B * H * DV; i++) assert_true(context[i] == 0);
    assert_holds(c, all, B, 0);
    attend_cache_free(c);
    attend_runner_free(r);
}

/* ---- changing it ---- */

static void test_keys_may_be_the_values(void **state)
{
    (void)state;
    attend_cache *c = NULL;
    attend_arrays a = { 0 };
    attend_real k[B * HK * D], v[B * HK * D];
    assert_ok(attend_cache_new(&c, B, HK, D, 0));
    assert_ok(attend_cache_append(c, 1, key, NULL, false));
    attend_cache_fill(c, &a);
    assert_null(a.value);
    assert_int_equal(a.value_width, D);
    attend_cache_present(c, k, v);
    assert_memory_equal(k, v, sizeof k);
    assert_memory_equal(k, key, sizeof k); /* one row: both layouts are the same */
    attend_cache_present(c, NULL, NULL);
    attend_cache_free(c);
}

static void test_reorder(void **state)
{
    (void)state;
    attend_cache *c = NULL;
    assert_ok(attend_cache_new(&c, B, HK, D, DV));
    assert_ok(append(c, 0, 20, false));
    assert_ok(attend_cache_reorder(c, all, B));
    assert_holds(c, all, B, 20);
    const int swapped[] = { 2, 0, 0 };
    assert_ok(attend_cache_reorder(c, swapped, 3));
    assert_holds(c, swapped, 3, 20);
    const int wide[] = { 1, 0, 2, 1, 0 }, wide_holds[] = { 0, 2, 0, 0, 2 };
    assert_ok(attend_cache_reorder(c, wide, 5));
    assert_holds(c, wide_holds, 5, 20);
    const int last[] = { 4 }, last_holds[] = { 2 };
    assert_ok(attend_cache_reorder(c, last, 1));
    assert_holds(c, last_holds, 1, 20);
    const int back[] = { 0, 0, 0 }, back_holds[] = { 2, 2, 2 };
    assert_ok(attend_cache_reorder(c, back, 3));
    assert_holds(c, back_holds, 3, 20);
    assert_ok(append(c, 20, 15, false)); /* grows while there is a second buffer */
    assert_int_equal(attend_cache_length(c), 35);
    assert_ok(attend_cache_reorder(c, NULL, 0));
    assert_int_equal(attend_cache_batch(c), 0);
    assert_ok(attend_cache_append(c, 100, key, value, false)); /* with zero sequences nothing is read */
    attend_cache_free(c);
}

/* Every step of a beam search reorders, and must not allocate each time. */
static void test_repeated_reordering_does_not_allocate(void **state)
{
    (void)state;
    attend_cache *c = NULL;
    const int turn[] = { 1, 2, 0 };
    assert_ok(attend_cache_new(&c, B, HK, D, DV));
    assert_ok(attend_cache_reserve(c, T));
    assert_ok(append(c, 0, 4, false));
    assert_ok(attend_cache_reorder(c, turn, B));
    const size_t bytes = attend_cache_bytes(c);
    attend_memory_refuse(-1); /* count only */
    for (int i = 0; i < 8; i++) assert_ok(attend_cache_reorder(c, turn, B));
    assert_holds(c, all, B, 4);
    assert_ok(append(c, 4, T - 4, true));
    assert_int_equal(attend_memory_requests(), 0);
    attend_memory_refuse(0);
    assert_int_equal(attend_cache_bytes(c), bytes);
    assert_holds(c, all, B, T);
    attend_cache_free(c);
}

static void test_truncate(void **state)
{
    (void)state;
    attend_cache *c = NULL;
    attend_arrays a = { 0 };
    assert_ok(attend_cache_new(&c, B, HK, D, DV));
    assert_ok(append(c, 0, 20, true));
    assert_ok(attend_cache_truncate(c, 9));
    assert_holds(c, all, B, 9);
    attend_cache_fill(c, &a);
    for (int b = 0; b < B; b++) assert_int_equal(a.key_lengths[b], 9);
    assert_ok(append(c, 9, T - 9, false));
    assert_holds(c, all, B, T);
    assert_ok(attend_cache_truncate(c, T));
    assert_ok(attend_cache_truncate(c, 0));
    assert_holds(c, all, B, 0);
    assert_ok(attend_cache_append(c, 0, NULL, NULL, false));
    assert_holds(c, all, B, 0);
    attend_cache_free(c);
}

/* ---- refusals ---- */

#define assert_refused(call, text)                                                                                     \
    do {                                                                                                               \
        assert_int_equal(call, ATTEND_BAD_USAGE);                                                                      \
        if (!strstr(attend_message(), text)) fail_msg("'%s' does not contain '%s'", attend_message(), text);           \
    } while (0)

static void test_invalid_arguments_are_refused(void **state)
{
    (void)state;
    attend_cache *c = NULL;
    assert_refused(attend_cache_new(&c, -1, HK, D, DV), "batch -1");
    assert_refused(attend_cache_new(&c, B, 0, D, DV), "key heads 0");
    assert_refused(attend_cache_new(&c, B, HK, 0, DV), "key width 0");
    assert_refused(attend_cache_new(&c, B, HK, D, -1), "value width -1");
    assert_refused(attend_cache_new(&c, B, 1 << 20, 1 << 20, DV), "too long");
    assert_null(c);
    assert_ok(attend_cache_new(&c, B, HK, D, DV));
    assert_ok(append(c, 0, 3, false));
    assert_refused(attend_cache_append(c, -1, key, value, false), "-1 rows");
    assert_refused(attend_cache_append(c, INT32_MAX, key, value, false), " rows to 3");
    assert_refused(attend_cache_append(c, 1, NULL, value, false), "array of keys is NULL");
    assert_refused(attend_cache_append(c, 1, key, NULL, false), "array of values is NULL");
    assert_refused(attend_cache_truncate(c, 4), "cannot truncate 3 rows to 4");
    assert_refused(attend_cache_truncate(c, -1), "3 rows to -1");
    assert_refused(attend_cache_reserve(c, -1), "negative: -1");
    assert_refused(attend_cache_reorder(c, (int[]){ 0, 3 }, 2),
                   "sequence 1 cannot be a copy of sequence 3: the cache has 3");
    assert_refused(attend_cache_reorder(c, (int[]){ -1 }, 1), "copy of sequence -1");
    assert_refused(attend_cache_reorder(c, all, -1), "-1 sequences");
    assert_refused(attend_cache_reorder(c, NULL, 1), "`from` is NULL");
    assert_holds(c, all, B, 3);
    attend_cache_free(c);
    attend_cache_free(NULL);
}

/* Huge sizes give an error, not an integer overflow. */
static void test_sizes_beyond_memory(void **state)
{
    (void)state;
    attend_cache *c = NULL;
    assert_int_equal(attend_cache_new(&c, INT32_MAX, 1, INT32_MAX, 1), ATTEND_NO_MEMORY);
    assert_null(c);
    assert_ok(attend_cache_new(&c, B, HK, D, DV));
    assert_ok(attend_cache_append(c, 1, key, value, false));
    attend_cache_free(c);
    assert_ok(attend_cache_new(&c, 1, 1 << 15, 1 << 12, 0));
    assert_int_equal(attend_cache_reserve(c, INT32_MAX), ATTEND_NO_MEMORY);
    assert_non_null(strstr(attend_message(), "no memory for a cache of 1 sequences of 2147483647"));
    assert_int_equal(attend_cache_length(c), 0);
    attend_cache_free(c);
}

/* Every allocation fails in turn: the cache is unchanged, and a second call succeeds. */
static void test_every_allocation_fails_in_turn(void **state)
{
    (void)state;
    const int turn[] = { 1, 2, 0 }, wide[] = { 0, 0, 1, 2 };
    long refused = 0;
    for (long n = 1;; n++) {
        attend_cache *c = NULL;
        int failures = 0;
        attend_memory_refuse(n);
        if (attend_cache_new(&c, B, HK, D, DV) != ATTEND_OK) {
            failures++;
            assert_null(c);
            assert_non_null(strstr(attend_message(), "no memory"));
            assert_ok(attend_cache_new(&c, B, HK, D, DV));
        }
        int length = 0;
        for (int more = 10; length + more <= T; length += more) { /* the second and the fourth exceed the capacity */
            if (append(c, length, more, false) == ATTEND_OK) continue;
            failures++;
            assert_holds(c, all, B, length);
            assert_ok(append(c, length, more, false));
        }
        if (attend_cache_reorder(c, turn, B) != ATTEND_OK) {
            failures++;
            assert_holds(c, all, B, length);
            assert_ok(attend_cache_reorder(c, turn, B));
        }
        if (attend_cache_reorder(c, wide, 4) != ATTEND_OK) {
            failures++;
            assert_holds(c, turn, B, length);
            assert_ok(attend_cache_reorder(c, wide, 4));
        }
        assert_holds(c, (int[]){ 1, 1, 2, 0 }, 4, length);
        if (attend_cache_reserve(c, 1000) != ATTEND_OK) {
            failures++;
            assert_int_equal(attend_cache_length(c), length);
            assert_ok(attend_cache_reserve(c, 1000));
        }
        assert_holds(c, (int[]){ 1, 1, 2, 0 }, 4, length);
        attend_memory_refuse(0);
        attend_cache_free(c);
        if (failures == 0) break;
        assert_int_equal(failures, 1);
        refused++;
    }
    assert_int_equal(refused, 4 + 2 * 3 + 2 * 3 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_by_step_is_causal_attention),
        cmocka_unit_test(test_scores_that_map_rows),
        cmocka_unit_test(test_masks_are_as_wide_as_the_capacity),
        cmocka_unit_test(test_an_empty_cache_gives_zero),
        cmocka_unit_test(test_keys_may_be_the_values),
        cmocka_unit_test(test_reorder),
        cmocka_unit_test(test_repeated_reordering_does_not_allocate),
        cmocka_unit_test(test_truncate),
        cmocka_unit_test(test_invalid_arguments_are_refused),
        cmocka_unit_test(test_sizes_beyond_memory),
        cmocka_unit_test(test_every_allocation_fails_in_turn),
    };
    return cmocka_run_group_tests(tests, make_rows, NULL);
}
