/* The past of hypotheses that branch and end: rows are found again, attention over them is the runner's, memory does not grow with what
 * nobody has any more, and no failure loses a row. */
#include "attention/beam_cache.h"

#include "core/memory.h"
#include "unit/unit.h"
#include <math.h>

enum { MOST = 40, STEPS = 60, H = 4, D = 19, WIDTH = 2 * H * D + 3, KEY = 3, VALUE = KEY + H * D };

static uint32_t seed;

static uint32_t drawn(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 8) * below >> 24);
}

static attend_real number(void)
{
    return (attend_real)drawn(1 << 20) / (attend_real)(1 << 19) - 1;
}

/* ---- hypotheses as a list of whole rows each ---- */

typedef struct story {
    int count, lengths[MOST];
    attend_real rows[MOST][STEPS][WIDTH];
} story;

static story *told, *before;

static int make_stories(void **state)
{
    (void)state;
    seed = 5;
    told = calloc(1, sizeof *told);
    before = calloc(1, sizeof *before);
    return told && before ? 0 : -1;
}

static int free_stories(void **state)
{
    (void)state;
    free(told);
    free(before);
    return 0;
}

static void story_step(int n, const int *parents, const attend_real *rows)
{
    memcpy(before, told, sizeof *told);
    for (int i = 0; i < n; i++) {
        const int parent = before->count ? parents[i] : -1, length = parent < 0 ? 0 : before->lengths[parent];
        if (parent >= 0) memcpy(told->rows[i], before->rows[parent], (size_t)length * sizeof told->rows[i][0]);
        memcpy(told->rows[i][length], rows + i * (WIDTH + 2), sizeof told->rows[i][0]);
        told->lengths[i] = length + 1;
    }
    told->count = n;
}

static void assert_is_told(const attend_beam_cache *p)
{
    int longest = 0;
    assert_int_equal(attend_beam_cache_count(p), told->count);
    for (int i = 0; i < told->count; i++) {
        assert_int_equal(attend_beam_cache_length(p, i), told->lengths[i]);
        if (told->lengths[i] > longest) longest = told->lengths[i];
        for (int j = 0; j < told->lengths[i]; j++)
            assert_memory_equal(attend_beam_cache_row(p, i, j), told->rows[i][j], sizeof told->rows[i][j]);
    }
    assert_int_equal(attend_beam_cache_max_length(p), longest);
}

/* Parents as a beam has them: some go on in place, some branch, some begin anew. */
static int draw_step(int *parents, attend_real *rows)
{
    const int n = 1 + (int)drawn(MOST), how = (int)drawn(4);
    for (int i = 0; i < n; i++) {
        parents[i] = how == 0 && i < told->count ? i : told->count ? (int)drawn((uint32_t)told->count) : 12345;
        if (told->count && (drawn(30) == 0 || told->lengths[parents[i]] == STEPS)) parents[i] = -1 - (int)drawn(3);
    }
    for (int i = 0; i < MOST * (WIDTH + 2); i++) rows[i] = number();
    return n;
}

static attend_real rows[MOST * (WIDTH + 2)];
static int parents[MOST];

static void step(attend_beam_cache *p)
{
    const int n = draw_step(parents, rows);
    assert_ok(attend_beam_cache_step(p, n, parents, rows, WIDTH + 2));
    story_step(n, parents, rows);
}

static void test_rows_are_found_again(void **state)
{
    (void)state;
    attend_beam_cache *p = NULL;
    assert_ok(attend_beam_cache_new(&p, WIDTH));
    assert_int_equal(attend_beam_cache_count(p), 0);
    assert_int_equal(attend_beam_cache_max_length(p), 0);
    memset(told, 0, sizeof *told);
    for (int t = 0; t < 300; t++) {
        step(p);
        assert_is_told(p);
    }
    attend_beam_cache_free(p);
}

/* ---- attention ---- */

enum { ROW = H * D, STRIDE = ROW + 5 };
static attend_real query[MOST * STRIDE], context[MOST * STRIDE], weights[MOST * H * STEPS];

static beam_attention attention(bool with_weights)
{
    return (beam_attention){ .query = query,
                             .query_stride = STRIDE,
                             .heads = H,
                             .width = D,
                             .key = KEY,
                             .value = VALUE,
                             .scale = 1 / sqrt(D),
                             .context = context,
                             .context_stride = STRIDE,
                             .weights = with_weights ? weights : NULL };
}

static attend_real keys[MOST * STEPS * ROW], values[MOST * STEPS * ROW], packed[MOST * ROW], right[MOST * ROW],
    right_weights[MOST * H * STEPS];

/* What the runner makes of the same rows. */
static void run_right(attend_runner *r, int longest)
{
    for (int i = 0; i < told->count; i++) {
        memcpy(packed + i * ROW, query + i * STRIDE, ROW * sizeof *packed);
        for (int j = 0; j < told->lengths[i]; j++) {
            memcpy(keys + (i * longest + j) * ROW, told->rows[i][j] + KEY, ROW * sizeof *keys);
            memcpy(values + (i * longest + j) * ROW, told->rows[i][j] + VALUE, ROW * sizeof *values);
        }
    }
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT; /* a scaled dot product */
    o.heads = o.key_heads = H;
    const attend_arrays a = { .batch = told->count,
                              .queries = 1,
                              .keys = longest,
                              .query_width = D,
                              .key_width = D,
                              .value_width = D,
                              .key_lengths = told->lengths,
                              .query = packed,
                              .key = keys,
                              .value = values };
    assert_ok(attend_runner_forward(r, &o, &a, right, right_weights, NULL));
}

static void assert_near(attend_real a, attend_real b)
{
    if (!(fabs((double)a - (double)b) <= 1e-6)) fail_msg("%.9g and %.9g", (double)a, (double)b);
}

static void test_attention_is_the_runners(void **state)
{
    (void)state;
    attend_beam_cache *p = NULL;
    attend_ctx *c = NULL;
    attend_runner *r = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_runner_new(&r, 1));
    assert_ok(attend_beam_cache_new(&p, WIDTH));
    memset(told, 0, sizeof *told);
    beam_attention a = attention(true);
    assert_true(attend_beam_cache_attend(c, p, &a)); /* of nothing */
    for (int t = 0; t < 100; t++) {
        step(p);
        const int longest = attend_beam_cache_max_length(p);
        for (int i = 0; i < MOST * STRIDE; i++) query[i] = 3 * number(), context[i] = 77;
        run_right(r, longest);
        a = attention(t % 2);
        assert_true(attend_beam_cache_attend(c, p, &a));
        for (int i = 0; i < told->count; i++) {
            for (int j = 0; j < ROW; j++) assert_near(context[i * STRIDE + j], right[i * ROW + j]);
            for (int j = ROW; j < STRIDE; j++) assert_true(context[i * STRIDE + j] == 77);
        }
        for (int i = 0; t % 2 && i < told->count * H * longest; i++) assert_near(weights[i], right_weights[i]);
    }
    attend_beam_cache_free(p);
    attend_runner_free(r);
    attend_ctx_free(c);
}

static void test_the_same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    attend_beam_cache *p = NULL;
    assert_ok(attend_beam_cache_new(&p, WIDTH));
    memset(told, 0, sizeof *told);
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < MOST; i++) parents[i] = i * (t % 3 + 1) % MOST;
        for (int i = 0; i < MOST * (WIDTH + 2); i++) rows[i] = number();
        assert_ok(attend_beam_cache_step(p, MOST, parents, rows, WIDTH + 2));
    }
    for (int i = 0; i < MOST * STRIDE; i++) query[i] = 3 * number();
    static attend_real first[MOST * STRIDE], first_weights[MOST * H * STEPS];
    const int threads[] = { 1, 2, 3, 7 };
    for (int k = 0; k < 4; k++) {
        attend_ctx *c = NULL;
        const beam_attention a = attention(true);
        assert_ok(attend_ctx_new(&c));
        assert_ok(attend_ctx_set_threads(c, threads[k]));
        memset(context, 0, sizeof context);
        assert_true(attend_beam_cache_attend(c, p, &a));
        if (k == 0) memcpy(first, context, sizeof first), memcpy(first_weights, weights, sizeof weights);
        assert_memory_equal(first, context, sizeof first);
        assert_memory_equal(first_weights, weights, sizeof weights);
        attend_ctx_free(c);
    }
    attend_beam_cache_free(p);
}

/* ---- memory ---- */

/* All go on from one, so that of each step one row is wanted later: without taking rows again it would be forty times as many. */
static void test_what_nobody_has_is_taken_again(void **state)
{
    (void)state;
    enum { LONG = 2000 };
    attend_beam_cache *p = NULL;
    assert_ok(attend_beam_cache_new(&p, WIDTH));
    for (int t = 0; t < LONG; t++) {
        for (int i = 0; i < MOST; i++) parents[i] = t * 7 % MOST;
        for (int i = 0; i < MOST; i++) rows[i * (WIDTH + 2)] = (attend_real)t;
        assert_ok(attend_beam_cache_step(p, MOST, parents, rows, WIDTH + 2));
    }
    for (int t = 0; t < LONG; t++) assert_true(attend_beam_cache_row(p, MOST - 1, t)[0] == (attend_real)t);
    const size_t row = (WIDTH + 16) * sizeof(attend_real), lists = 4 * LONG * MOST * sizeof(int);
    assert_true(attend_beam_cache_bytes(p) < 2 * (LONG + 2 * MOST) * row + 2 * lists);
    /* hypotheses that end and begin, as long as a server runs */
    for (int i = 0; i < MOST; i++) parents[i] = -1;
    assert_ok(attend_beam_cache_step(p, MOST, parents, rows, WIDTH + 2));
    const size_t bytes = attend_beam_cache_bytes(p);
    for (int t = 0; t < 20000; t++) {
        for (int i = 0; i < MOST; i++) parents[i] = attend_beam_cache_length(p, i) > 20 + i % 5 ? -1 : i;
        assert_ok(attend_beam_cache_step(p, MOST, parents, rows, WIDTH + 2));
    }
    assert_int_equal(attend_beam_cache_bytes(p), bytes);
    attend_beam_cache_free(p);
}

/* Every request refused in turn: the past is as it was, and the step succeeds when it is asked for again. */
static void test_no_failure_loses_a_row(void **state)
{
    (void)state;
    attend_beam_cache *p = NULL;
    int refused = 0;
    attend_memory_refuse(1);
    assert_int_equal(attend_beam_cache_new(&p, WIDTH), ATTEND_NO_MEMORY);
    assert_null(p);
    attend_memory_refuse(0);
    assert_ok(attend_beam_cache_new(&p, WIDTH));
    memset(told, 0, sizeof *told);
    for (int t = 0; t < 150; t++) {
        const int n = draw_step(parents, rows);
        for (long k = 1;; k++) {
            attend_memory_refuse(k);
            const int status = attend_beam_cache_step(p, n, parents, rows, WIDTH + 2);
            attend_memory_refuse(0);
            if (status == ATTEND_OK) break;
            assert_int_equal(status, ATTEND_NO_MEMORY);
            assert_non_null(strstr(attend_message(), "no memory for token"));
            assert_is_told(p);
            refused++;
        }
        story_step(n, parents, rows);
        assert_is_told(p);
    }
    assert_true(refused > 10);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    const beam_attention a = attention(false);
    attend_memory_refuse(1);
    assert_false(attend_beam_cache_attend(c, p, &a));
    assert_int_equal(attend_ctx_status(c), ATTEND_NO_MEMORY);
    attend_memory_refuse(0);
    attend_ctx_free(c);
    attend_beam_cache_free(p);
}

static void test_refusals(void **state)
{
    (void)state;
    attend_beam_cache *p = NULL;
    assert_int_equal(attend_beam_cache_new(&p, 0), ATTEND_BAD_USAGE);
    assert_ok(attend_beam_cache_new(&p, WIDTH));
    assert_int_equal(attend_beam_cache_step(p, 0, NULL, rows, WIDTH), ATTEND_BAD_USAGE);
    assert_ok(attend_beam_cache_step(p, 2, NULL, rows, WIDTH));
    assert_int_equal(attend_beam_cache_step(p, 1, (const int[]){ 2 }, rows, WIDTH), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "hypothesis 0 has parent 2, but there are only 2"));
    assert_int_equal(attend_beam_cache_count(p), 2);
    attend_beam_cache_free(p);
    attend_beam_cache_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_found_again),
        cmocka_unit_test(test_attention_is_the_runners),
        cmocka_unit_test(test_the_same_bits_on_any_number_of_threads),
        cmocka_unit_test(test_what_nobody_has_is_taken_again),
        cmocka_unit_test(test_no_failure_loses_a_row),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_stories, free_stories);
}
