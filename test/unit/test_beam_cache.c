/* The beam cache: rows of branching hypotheses are found again, attention over them equals that of the runner, unused
 * rows are reused, and a failure loses no row. */
#include "attention/beam_cache.h"

#include "core/memory.h"
#include "core/tape.h"
#include "unit/unit.h"
#include <math.h>

enum { MAX_HYPOTHESES = 40, STEPS = 60, H = 4, D = 19, WIDTH = 2 * H * D + 3, KEY = 3, VALUE = KEY + H * D };

static uint32_t seed;

static uint32_t random_below(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

static attend_real random_number(void)
{
    return (attend_real)random_below(1 << 20) / (attend_real)(1 << 19) - 1;
}

/* ---- numbers on the device ---- */

static attend_ctx *lender; /* holds what the tests lend to the device */
static attend_ctx *owner;  /* has the memory of the caches */

static void read_row(const attend_beam_cache *cache, int i, int j, attend_real *row)
{
    lender->memory->download(row, attend_beam_cache_row(cache, i, j), WIDTH * sizeof *row);
}

/* ---- reference: each hypothesis as a list of copied rows ---- */

typedef struct reference {
    int count, lengths[MAX_HYPOTHESES];
    attend_real rows[MAX_HYPOTHESES][STEPS][WIDTH];
} reference;

static reference *expected, *previous;

static int make_references(void **state)
{
    (void)state;
    seed = 5;
    expected = calloc(1, sizeof *expected);
    previous = calloc(1, sizeof *previous);
    return expected && previous && attend_ctx_new(&lender) == ATTEND_OK && attend_ctx_new(&owner) == ATTEND_OK ? 0 : -1;
}

static int free_references(void **state)
{
    (void)state;
    free(expected);
    free(previous);
    attend_ctx_free(lender);
    attend_ctx_free(owner);
    return 0;
}

/* Each test begins without caches. */
static int reset_owner(void **state)
{
    (void)state;
    attend_ctx_reset(owner);
    return 0;
}

static void reference_step(int n, const int *parents, const attend_real *rows)
{
    memcpy(previous, expected, sizeof *expected);
    for (int i = 0; i < n; i++) {
        const int parent = previous->count ? parents[i] : -1, length = parent < 0 ? 0 : previous->lengths[parent];
        if (parent >= 0)
            memcpy(expected->rows[i], previous->rows[parent], (size_t)length * sizeof expected->rows[i][0]);
        memcpy(expected->rows[i][length], rows + i * (WIDTH + 2), sizeof expected->rows[i][0]);
        expected->lengths[i] = length + 1;
    }
    expected->count = n;
}

static void assert_equals_reference(const attend_beam_cache *cache)
{
    int max_length = 0;
    assert_int_equal(attend_beam_cache_count(cache), expected->count);
    for (int i = 0; i < expected->count; i++) {
        assert_int_equal(attend_beam_cache_length(cache, i), expected->lengths[i]);
        if (expected->lengths[i] > max_length) max_length = expected->lengths[i];
        for (int j = 0; j < expected->lengths[i]; j++) {
            attend_real row[WIDTH];
            read_row(cache, i, j, row);
            assert_memory_equal(row, expected->rows[i][j], sizeof row);
        }
    }
    assert_int_equal(attend_beam_cache_max_length(cache), max_length);
}

/* Random parents as in beam search: some hypotheses continue in place, some branch, some start anew. */
static int random_step(int *parents, attend_real *rows)
{
    const int n = 1 + (int)random_below(MAX_HYPOTHESES), how = (int)random_below(4);
    for (int i = 0; i < n; i++) {
        parents[i] = how == 0 && i < expected->count ? i
                     : expected->count               ? (int)random_below((uint32_t)expected->count)
                                                     : 12345;
        if (expected->count && (random_below(30) == 0 || expected->lengths[parents[i]] == STEPS))
            parents[i] = -1 - (int)random_below(3);
    }
    for (int i = 0; i < MAX_HYPOTHESES * (WIDTH + 2); i++) rows[i] = random_number();
    return n;
}

static attend_real rows[MAX_HYPOTHESES * (WIDTH + 2)];
static int parents[MAX_HYPOTHESES];

static const attend_real *lent_rows(void)
{
    attend_ctx_reset(lender);
    return attend_ctx_lend(lender, rows, sizeof rows / sizeof *rows);
}

static void step(attend_beam_cache *cache)
{
    const int n = random_step(parents, rows);
    assert_ok(attend_beam_cache_step(cache, n, parents, lent_rows(), WIDTH + 2));
    reference_step(n, parents, rows);
}

static void test_rows_are_found_again(void **state)
{
    (void)state;
    attend_beam_cache *cache = NULL;
    assert_ok(attend_beam_cache_new(&cache, owner, WIDTH));
    assert_int_equal(attend_beam_cache_count(cache), 0);
    assert_int_equal(attend_beam_cache_max_length(cache), 0);
    memset(expected, 0, sizeof *expected);
    for (int t = 0; t < 300; t++) {
        step(cache);
        assert_equals_reference(cache);
    }
    attend_beam_cache_free(cache);
}

/* ---- attention ---- */

enum { ROW = H * D, STRIDE = ROW + 5 };
static attend_real query[MAX_HYPOTHESES * STRIDE], context[MAX_HYPOTHESES * STRIDE],
    weights[MAX_HYPOTHESES * H * STEPS];
static long refused_request; /* of attend_beam_cache_attend; 0: none */

/* Attention to the rows of the cache, with `query`, `context` and `weights` on the device. */
static bool attend_to(attend_ctx *c, const attend_beam_cache *cache, bool with_weights)
{
    enum { ALL = MAX_HYPOTHESES * STRIDE, ALL_WEIGHTS = MAX_HYPOTHESES * H * STEPS };
    attend_ctx_reset(lender);
    const beam_attention a = { .query = attend_ctx_lend(lender, query, ALL),
                               .query_stride = STRIDE,
                               .heads = H,
                               .width = D,
                               .key = KEY,
                               .value = VALUE,
                               .scale = 1 / sqrt(D),
                               .context = attend_ctx_lend(lender, context, ALL),
                               .context_stride = STRIDE,
                               .weights = with_weights ? attend_ctx_lend(lender, weights, ALL_WEIGHTS) : NULL };
    attend_memory_refuse(refused_request);
    const bool ok = attend_beam_cache_attend(c, cache, &a);
    attend_memory_refuse(0);
    attend_ctx_return(lender, a.context, ALL, context);
    if (with_weights) attend_ctx_return(lender, a.weights, ALL_WEIGHTS, weights);
    return ok;
}

static attend_real keys[MAX_HYPOTHESES * STEPS * ROW], values[MAX_HYPOTHESES * STEPS * ROW],
    packed[MAX_HYPOTHESES * ROW], expected_context[MAX_HYPOTHESES * ROW], expected_weights[MAX_HYPOTHESES * H * STEPS];

/* The result of the runner on the same rows. */
static void run_reference(attend_runner *r, int max_length)
{
    for (int i = 0; i < expected->count; i++) {
        memcpy(packed + i * ROW, query + i * STRIDE, ROW * sizeof *packed);
        for (int j = 0; j < expected->lengths[i]; j++) {
            memcpy(keys + (i * max_length + j) * ROW, expected->rows[i][j] + KEY, ROW * sizeof *keys);
            memcpy(values + (i * max_length + j) * ROW, expected->rows[i][j] + VALUE, ROW * sizeof *values);
        }
    }
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT; /* a scaled dot product */
    o.heads = o.key_heads = H;
    const attend_arrays a = { .batch = expected->count,
                              .queries = 1,
                              .keys = max_length,
                              .query_width = D,
                              .key_width = D,
                              .value_width = D,
                              .key_lengths = expected->lengths,
                              .query = packed,
                              .key = keys,
                              .value = values };
    assert_ok(attend_runner_forward(r, &o, &a, expected_context, expected_weights, NULL));
}

static void assert_near(attend_real a, attend_real b)
{
    if (!(fabs((double)a - (double)b) <= 1e-6)) fail_msg("%.9g and %.9g", (double)a, (double)b);
}

static void test_attention_equals_the_runner(void **state)
{
    (void)state;
    attend_beam_cache *cache = NULL;
    attend_ctx *c = NULL;
    attend_runner *r = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_runner_new(&r, 1));
    assert_ok(attend_beam_cache_new(&cache, owner, WIDTH));
    memset(expected, 0, sizeof *expected);
    assert_true(attend_to(c, cache, true)); /* without hypotheses */
    for (int t = 0; t < 100; t++) {
        step(cache);
        const int max_length = attend_beam_cache_max_length(cache);
        for (int i = 0; i < MAX_HYPOTHESES * STRIDE; i++) query[i] = 3 * random_number(), context[i] = 77;
        run_reference(r, max_length);
        assert_true(attend_to(c, cache, t % 2));
        for (int i = 0; i < expected->count; i++) {
            for (int j = 0; j < ROW; j++) assert_near(context[i * STRIDE + j], expected_context[i * ROW + j]);
            for (int j = ROW; j < STRIDE; j++) assert_true(context[i * STRIDE + j] == 77);
        }
        for (int i = 0; t % 2 && i < expected->count * H * max_length; i++)
            assert_near(weights[i], expected_weights[i]);
    }
    attend_beam_cache_free(cache);
    attend_runner_free(r);
    attend_ctx_free(c);
}

static void test_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    attend_beam_cache *cache = NULL;
    assert_ok(attend_beam_cache_new(&cache, owner, WIDTH));
    memset(expected, 0, sizeof *expected);
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < MAX_HYPOTHESES; i++) parents[i] = i * (t % 3 + 1) % MAX_HYPOTHESES;
        for (int i = 0; i < MAX_HYPOTHESES * (WIDTH + 2); i++) rows[i] = random_number();
        assert_ok(attend_beam_cache_step(cache, MAX_HYPOTHESES, parents, lent_rows(), WIDTH + 2));
    }
    for (int i = 0; i < MAX_HYPOTHESES * STRIDE; i++) query[i] = 3 * random_number();
    static attend_real first[MAX_HYPOTHESES * STRIDE], first_weights[MAX_HYPOTHESES * H * STEPS];
    const int threads[] = { 1, 2, 3, 7 };
    for (int k = 0; k < 4; k++) {
        attend_ctx *c = NULL;
        assert_ok(attend_ctx_new(&c));
        assert_ok(attend_ctx_set_threads(c, threads[k]));
        memset(context, 0, sizeof context);
        assert_true(attend_to(c, cache, true));
        if (k == 0) memcpy(first, context, sizeof first), memcpy(first_weights, weights, sizeof weights);
        assert_memory_equal(first, context, sizeof first);
        assert_memory_equal(first_weights, weights, sizeof weights);
        attend_ctx_free(c);
    }
    attend_beam_cache_free(cache);
}

/* ---- memory ---- */

/* All hypotheses extend one, so that one row of each step stays in use; without reuse there would be forty times as
 * many rows. */
static void test_unused_rows_are_reused(void **state)
{
    (void)state;
    enum { LONG = 2000 };
    attend_beam_cache *cache = NULL;
    assert_ok(attend_beam_cache_new(&cache, owner, WIDTH));
    for (int t = 0; t < LONG; t++) {
        for (int i = 0; i < MAX_HYPOTHESES; i++) parents[i] = t * 7 % MAX_HYPOTHESES;
        for (int i = 0; i < MAX_HYPOTHESES; i++) rows[i * (WIDTH + 2)] = (attend_real)t;
        assert_ok(attend_beam_cache_step(cache, MAX_HYPOTHESES, parents, lent_rows(), WIDTH + 2));
    }
    for (int t = 0; t < LONG; t++) {
        attend_real row[WIDTH];
        read_row(cache, MAX_HYPOTHESES - 1, t, row);
        assert_true(row[0] == (attend_real)t);
    }
    const size_t row = (WIDTH + 16) * sizeof(attend_real), lists = 4 * LONG * MAX_HYPOTHESES * sizeof(int);
    assert_true(attend_beam_cache_bytes(cache) < 2 * (LONG + 2 * MAX_HYPOTHESES) * row + 2 * lists);
    /* hypotheses that end and start, as in a long-running server */
    for (int i = 0; i < MAX_HYPOTHESES; i++) parents[i] = -1;
    assert_ok(attend_beam_cache_step(cache, MAX_HYPOTHESES, parents, lent_rows(), WIDTH + 2));
    const size_t bytes = attend_beam_cache_bytes(cache);
    for (int t = 0; t < 20000; t++) {
        for (int i = 0; i < MAX_HYPOTHESES; i++) parents[i] = attend_beam_cache_length(cache, i) > 20 + i % 5 ? -1 : i;
        assert_ok(attend_beam_cache_step(cache, MAX_HYPOTHESES, parents, lent_rows(), WIDTH + 2));
    }
    assert_int_equal(attend_beam_cache_bytes(cache), bytes);
    attend_beam_cache_free(cache);
}

/* Every allocation fails in turn: the cache is unchanged, and the step succeeds when it is repeated. */
static void test_a_failure_loses_no_row(void **state)
{
    (void)state;
    attend_beam_cache *cache = NULL;
    int refused = 0;
    attend_memory_refuse(1);
    assert_int_equal(attend_beam_cache_new(&cache, owner, WIDTH), ATTEND_NO_MEMORY);
    assert_null(cache);
    attend_memory_refuse(0);
    assert_ok(attend_beam_cache_new(&cache, owner, WIDTH));
    memset(expected, 0, sizeof *expected);
    for (int t = 0; t < 150; t++) {
        const int n = random_step(parents, rows);
        for (long k = 1;; k++) {
            const attend_real *numbers = lent_rows();
            attend_memory_refuse(k);
            const int status = attend_beam_cache_step(cache, n, parents, numbers, WIDTH + 2);
            attend_memory_refuse(0);
            if (status == ATTEND_OK) break;
            assert_int_equal(status, ATTEND_NO_MEMORY);
            assert_non_null(strstr(attend_message(), "no memory for token"));
            assert_equals_reference(cache);
            refused++;
        }
        reference_step(n, parents, rows);
        assert_equals_reference(cache);
    }
    assert_true(refused > 10);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    refused_request = 1;
    assert_false(attend_to(c, cache, false));
    assert_int_equal(attend_ctx_status(c), ATTEND_NO_MEMORY);
    refused_request = 0;
    attend_ctx_free(c);
    attend_beam_cache_free(cache);
}

/* The next decoding of a context gets the memory of the one before. */
static void test_memory_is_kept_by_the_context(void **state)
{
    (void)state;
    size_t bytes = 0;
    for (int k = 0; k < 5; k++) {
        attend_beam_cache *cache = NULL;
        attend_ctx_reset(owner);
        assert_ok(attend_beam_cache_new(&cache, owner, WIDTH));
        memset(expected, 0, sizeof *expected);
        for (int t = 0; t < STEPS; t++) {
            for (int i = 0; i < MAX_HYPOTHESES; i++) parents[i] = i;
            assert_ok(attend_beam_cache_step(cache, MAX_HYPOTHESES, parents, lent_rows(), WIDTH + 2));
        }
        attend_beam_cache_free(cache);
        if (k == 0) bytes = attend_ctx_bytes(owner);
        assert_true(k == 0 || attend_ctx_bytes(owner) == bytes);
    }
    attend_ctx_shrink(owner, 0);
    assert_true(attend_ctx_bytes(owner) < bytes / 2);
}

static void test_refusals(void **state)
{
    (void)state;
    attend_beam_cache *cache = NULL;
    assert_int_equal(attend_beam_cache_new(&cache, owner, 0), ATTEND_BAD_USAGE);
    assert_ok(attend_beam_cache_new(&cache, owner, WIDTH));
    assert_int_equal(attend_beam_cache_step(cache, 0, NULL, lent_rows(), WIDTH), ATTEND_BAD_USAGE);
    assert_ok(attend_beam_cache_step(cache, 2, NULL, lent_rows(), WIDTH));
    assert_int_equal(attend_beam_cache_step(cache, 1, (const int[]){ 2 }, lent_rows(), WIDTH), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "hypothesis 0 has parent 2, but the previous step has only 2 hypotheses"));
    assert_int_equal(attend_beam_cache_count(cache), 2);
    attend_beam_cache_free(cache);
    attend_beam_cache_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_rows_are_found_again, reset_owner),
        cmocka_unit_test_setup(test_attention_equals_the_runner, reset_owner),
        cmocka_unit_test_setup(test_the_same_bits_on_any_number_of_threads, reset_owner),
        cmocka_unit_test_setup(test_unused_rows_are_reused, reset_owner),
        cmocka_unit_test_setup(test_a_failure_loses_no_row, reset_owner),
        cmocka_unit_test_setup(test_memory_is_kept_by_the_context, reset_owner),
        cmocka_unit_test_setup(test_refusals, reset_owner),
    };
    return cmocka_run_group_tests(tests, make_references, free_references);
}
