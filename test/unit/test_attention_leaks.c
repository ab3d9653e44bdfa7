/* Hidden elements have no effect: NaN and infinity in padding, in masked keys and values and in the causal future do
 * not change the visible results, forward or backward. The forward results, and with padding also the gradients, are
 * bit-identical; gradients beside non-finite masked keys are summed in another order and may round differently. */
#include "support/attention_problem.h"

static void poison(attend_real *x, size_t n)
{
    static const double kinds[] = { NAN, INFINITY, -INFINITY };
    for (size_t i = 0; i < n; i++) x[i] = (attend_real)kinds[i % 3];
}

/* Row t of sequence b of an array (B, rows, ...), in either layout. */
static void poison_row(problem *p, attend_real *all, size_t size, int heads, int rows, int b, int t)
{
    if (!all) return;
    const size_t row = size / (size_t)(p->a.batch * rows), width = row / (size_t)heads;
    for (int h = 0; h < heads; h++) {
        size_t at = ((size_t)b * (size_t)rows + (size_t)t) * row + (size_t)h * width;
        if (p->a.heads_first) at = (((size_t)b * (size_t)heads + (size_t)h) * (size_t)rows + (size_t)t) * width;
        poison(all + at, width);
    }
}

static void poison_key(problem *p, int b, int j)
{
    poison_row(p, p->data[PLAIN_KEY], p->size[PLAIN_KEY], p->o.key_heads, p->a.keys, b, j);
    poison_row(p, p->data[PLAIN_VALUE], p->size[PLAIN_VALUE], p->o.key_heads, p->a.keys, b, j);
}

static void poison_query(problem *p, int b, int i)
{
    poison_row(p, p->data[PLAIN_QUERY], p->size[PLAIN_QUERY], p->o.heads, p->a.queries, b, i);
}

/* bound 0: bit-identical */
static void assert_same(const problem *p, const char *what, const attend_real *a, const attend_real *b, size_t first,
                        size_t n, double bound)
{
    char text[200];
    for (size_t i = first; i < first + n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(fabs((double)(a[i] - b[i])) < bound))
            fail_msg("%s: %s %zu: %.9g, poisoned %.9g", problem_text(p, text), what, i, (double)a[i], (double)b[i]);
}

/* Two problems with the same arrays. */
static void pair_new(problem p[2], problem of, uint64_t seed)
{
    for (int way = 0; way < 2; way++) {
        p[way] = of;
        problem_new(&p[way], seed);
    }
}

static void pair_free(problem p[2])
{
    problem_free(&p[0]);
    problem_free(&p[1]);
}

static void assert_all_same(const problem p[2], bool padding)
{
    assert_same(p, "context", p[0].context, p[1].context, 0, p->context_size, 0);
    assert_same(p, "weights", p[0].weights, p[1].weights, 0, p->area, 0);
    for (int slot = 0; slot < PLAIN_SLOTS; slot++) {
        /* parameters that map all rows, including masked non-finite ones, have no finite gradient */
        const bool map = slot >= PLAIN_PARAMETERS && !(p->o.score->tile_parameters >> (slot - PLAIN_PARAMETERS) & 1u);
        if (p->grad[slot] && (padding || !map))
            assert_same(p, problem_slots[slot], p[0].grad[slot], p[1].grad[slot], 0, p->size[slot], padding ? 0 : 5e-6);
    }
}

/* Sizes with and without packed products. */
static problem sized(const attend_score *score, int way)
{
    problem p = problem_of(score);
    p.o.selection = (attend_selection)(way % 4);
    p.a.training = p.o.selection == ATTEND_SELECT_HARD;
    if (way & 4)
        p.a.queries = 1, p.o.heads = p.o.key_heads = score->needs_previous_weights ? 1 : 2,
        p.a.attention = 4 * p.o.heads;
    p.a.heads_first = way & 1 && problem_in_place(&p);
    return p;
}

static void test_padding(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    for (const attend_score *const *s = attend_scores; *s; s++)
        for (int way = 0; way < 8; way++) {
            problem p[2], of = sized(*s, way);
            of.extras = PROBLEM_RAGGED | (way & 2 ? PROBLEM_ONE_ARRAY : 0);
            if (way == 2 || way == 4) of.o.window = ATTEND_WINDOW_LOCAL_P, of.o.window_size = 3;
            pair_new(p, of, (uint64_t)way);
            const attend_arrays *a = &p->a;
            for (int b = 0; b < a->batch; b++) {
                for (int j = a->key_lengths[b]; j < a->keys; j++) poison_key(&p[1], b, j);
                for (int i = a->query_lengths[b]; i < a->queries; i++) {
                    poison_query(&p[1], b, i);
                    poison_row(&p[1], p[1].dcontext, p->context_size, p->o.heads, a->queries, b, i);
                    if (a->position) poison(p[1].data[PLAIN_POSITION] + b * a->queries + i, 1);
                }
                for (int i = 0; a->previous && i < a->queries; i++) {
                    const int known = i < a->query_lengths[b] ? a->key_lengths[b] : 0;
                    poison(p[1].data[PLAIN_PREVIOUS] + (b * a->queries + i) * a->keys + known,
                           (size_t)(a->keys - known));
                }
            }
            for (int i = 0; i < 2; i++) assert_ok(problem_run(r, &p[i]));
            assert_all_same(p, true);
            pair_free(p);
        }
    attend_runner_free(r);
}

/* Keys 1, 4, 7, ... are masked for every query, by a boolean mask or by a bias of -inf. */
static void test_masked_keys(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    for (const attend_score *const *s = attend_scores; *s; s++)
        for (int way = 0; way < 16; way++) {
            const bool by_bias = way & 8;
            problem p[2], of = sized(*s, way & 7);
            of.extras = by_bias ? PROBLEM_BIAS : PROBLEM_ALLOWED;
            for (int axis = 0; axis < 3; axis++) of.a.allowed_shape[axis] = of.a.bias_shape[axis] = 1;
            pair_new(p, of, (uint64_t)way);
            for (int j = 0; j < p->a.keys; j++) {
                for (int i = 0; i < 2; i++) {
                    if (by_bias)
                        p[i].data[PLAIN_BIAS][j] = j % 3 == 1 ? (attend_real)-INFINITY : 0;
                    else
                        p[i].allowed[j] = j % 3 != 1;
                }
                for (int b = 0; j % 3 == 1 && b < p->a.batch; b++) poison_key(&p[1], b, j);
            }
            for (int i = 0; i < 2; i++) assert_ok(problem_run(r, &p[i]));
            assert_all_same(p, false);
            pair_free(p);
        }
    attend_runner_free(r);
}

/* A query that sees no key may be non-finite. */
static void test_blind_queries(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    for (const attend_score *const *s = attend_scores; *s; s++)
        for (int way = 0; way < 4; way++) {
            problem p[2], of = sized(*s, way);
            of.extras = PROBLEM_ALLOWED;
            of.a.allowed_shape[0] = of.a.allowed_shape[1] = of.a.allowed_shape[3] = 1;
            pair_new(p, of, (uint64_t)way);
            for (int i = 0; i < p->a.queries; i++) {
                p[0].allowed[i] = p[1].allowed[i] = i % 3 != 1;
                for (int b = 0; i % 3 == 1 && b < p->a.batch; b++) poison_query(&p[1], b, i);
            }
            for (int i = 0; i < 2; i++) assert_ok(problem_run(r, &p[i]));
            assert_all_same(p, false);
            pair_free(p);
        }
    attend_runner_free(r);
}

/* The keys from the middle on are non-finite; queries before them do not change. */
static void test_causal_future(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    for (const attend_score *const *s = attend_scores; *s; s++)
        for (int way = 0; way < 4; way++) {
            problem p[2], of = sized(*s, way);
            of.o.causal = true;
            of.a.queries = of.a.keys = 14;
            pair_new(p, of, (uint64_t)way);
            const attend_arrays *a = &p->a;
            const int middle = 6;
            for (int b = 0; b < a->batch; b++)
                for (int j = middle; j < a->keys; j++) poison_key(&p[1], b, j);
            for (int i = 0; i < 2; i++) assert_ok(problem_run(r, &p[i]));
            for (int b = 0; b < a->batch; b++)
                for (int h = 0; h < p->o.heads; h++)
                    for (int i = 0; i < middle; i++) {
                        const size_t row = p->context_size / (size_t)(a->batch * a->queries * p->o.heads);
                        const size_t width = (size_t)a->query_width, heads = (size_t)p->o.heads,
                                     queries = (size_t)a->queries;
                        const size_t at = a->heads_first ? ((size_t)b * heads + (size_t)h) * queries + (size_t)i
                                                         : ((size_t)b * queries + (size_t)i) * heads + (size_t)h;
                        assert_same(p, "context", p[0].context, p[1].context, at * row, row, 0);
                        assert_same(p, "weights", p[0].weights, p[1].weights,
                                    (((size_t)b * heads + (size_t)h) * queries + (size_t)i) * (size_t)a->keys,
                                    (size_t)a->keys, 0);
                        assert_same(p, "query", p[0].grad[PLAIN_QUERY], p[1].grad[PLAIN_QUERY], at * width, width,
                                    5e-6);
                    }
            pair_free(p);
        }
    attend_runner_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_padding), cmocka_unit_test(test_masked_keys),
                                        cmocka_unit_test(test_blind_queries), cmocka_unit_test(test_causal_future) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
