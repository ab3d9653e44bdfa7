/* Attention compared with a plain implementation in double precision, for random shapes and every kernel table:
 * context, weights, scores and the gradients of all arrays; and properties that hold for all inputs. */
#include "support/attention_problem.h"
#include "support/kernel_tables.h"

enum { PROBLEMS = 840 };

/* ---- random problems ---- */

static int one_of(test_random *d, int n, const int *list)
{
    return list[test_random_below(d, n)];
}

static int some_length(test_random *d)
{
    switch (test_random_below(d, 8)) {
    case 0:
        return test_random_below(d, 2); /* 0 or 1 */
    case 1:
        return 16 + test_random_below(d, 50);
    default:
        return 1 + test_random_below(d, 14);
    }
}

static void random_extras(problem *p, test_random *d)
{
    p->extras = test_random_below(d, 16);
    if (test_random_below(d, 3)) p->extras &= ~PROBLEM_ONE_ARRAY;
    for (int axis = 0; axis < 4; axis++) {
        if (test_random_below(d, 3) == 0) p->a.allowed_shape[axis] = 1;
        if (test_random_below(d, 3) == 0) p->a.bias_shape[axis] = 1;
    }
    p->o.causal = p->o.window != ATTEND_WINDOW_LOCAL_P && test_random_below(d, 3) == 0;
    if (test_random_below(d, 4) == 0) p->o.soft_cap = 0.5 + 3 * test_random_uniform(d);
    if (test_random_below(d, 4) == 0) p->o.scale = 0.2 + test_random_uniform(d);
    p->reach = 2;
}

static problem random_problem(uint64_t number)
{
    test_random d = { .rng = { .seed = 77, .stream = number } };
    uint64_t scores = 0;
    while (attend_scores[scores]) scores++;
    const attend_score *score = attend_scores[number % scores];
    problem p = { .o = ATTEND_ATTENTION_OPTIONS_INIT };
    p.o.score = score;
    p.o.heads = score->needs_previous_weights ? 1 : 1 << test_random_below(&d, 3);
    p.o.key_heads = p.o.heads >> test_random_below(&d, 3);
    if (p.o.key_heads < 1) p.o.key_heads = 1;
    p.o.window = (attend_window)test_random_below(&d, 3);
    p.o.window_size = 1 + test_random_below(&d, 6);
    p.o.selection = (attend_selection)one_of(&d, 6, (const int[]){ 0, 0, 0, 1, 2, 3 });
    if (p.o.selection == ATTEND_SELECT_HARD && p.o.window == ATTEND_WINDOW_LOCAL_P) p.o.window = ATTEND_WINDOW_GLOBAL;
    p.a.batch = test_random_below(&d, 20) ? 1 + test_random_below(&d, 4) : 0;
    p.a.queries = some_length(&d), p.a.keys = some_length(&d);
    if (number % 60 < 7)
        p.a.batch = 1, p.a.keys = 150 + test_random_below(&d, 51), p.a.queries = 1 + test_random_below(&d, 6);
    if (number % 60 >= 53)
        p.a.batch = 1, p.a.queries = 100 + test_random_below(&d, 20), p.a.keys = 1 + test_random_below(&d, 9);
    p.a.query_width = 1 + test_random_below(&d, 19), p.a.value_width = 1 + test_random_below(&d, 19);
    const bool compares = score->check_tile && !score->parameter;
    p.a.key_width = compares ? p.a.query_width : 1 + test_random_below(&d, 19);
    p.a.attention = p.o.heads * (1 + test_random_below(&d, 9));
    p.a.max_keys = p.a.keys + test_random_below(&d, 3), p.a.filters = 1 + test_random_below(&d, 3);
    if (p.a.max_keys == 0) p.a.max_keys = 1;
    p.a.filter_size = 1 + 2 * test_random_below(&d, 3);
    p.a.first_position = test_random_below(&d, 4) - 1;
    p.a.heads_first = test_random_below(&d, 2) && (problem_in_place(&p) || p.o.heads == 1);
    random_extras(&p, &d);
    if (number % 9 == 0 && score->check_tile &&
        !score->parameter) { /* scores around 1e4, exact in float unless scaled */
        p.o.soft_cap = 0, p.o.scale = 0, p.extras |= PROBLEM_INTEGERS, p.reach = 60;
    }
    problem_new(&p, number);
    return p;
}

/* ---- comparison ---- */

typedef struct expected {
    plain_problem plain;
    double *exact[PLAIN_SLOTS];
    double *context, *weights, *scores;
} expected;

static double *doubles(size_t size)
{
    double *x = calloc(size + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static expected expected_new(const problem *p)
{
    expected x = { .plain = problem_plain(p) };
    for (int slot = 0; slot < PLAIN_SLOTS; slot++) {
        if (!p->data[slot]) continue;
        x.exact[slot] = doubles(p->size[slot]);
        for (size_t i = 0; i < p->size[slot]; i++) x.exact[slot][i] = (double)p->data[slot][i];
        x.plain.data[slot] = x.exact[slot];
    }
    x.context = doubles(p->context_size), x.weights = doubles(p->area), x.scores = doubles(p->area);
    assert_true(plain_attention(&x.plain, x.context, x.weights, x.scores));
    return x;
}

static void expected_free(expected *x)
{
    for (int slot = 0; slot < PLAIN_SLOTS; slot++) free(x->exact[slot]);
    free(x->context);
    free(x->weights);
    free(x->scores);
}

static void assert_near(const problem *p, const char *table, const char *what, size_t i, double got, double want,
                        double bound)
{
    char text[200];
    if (!(fabs(got - want) <= bound) && got != want)
        fail_msg("%s [%s]: %s %zu is %.9g, expected %.9g (bound %.2g)", problem_text(p, text), table, what, i, got,
                 want, bound);
}

/* In float, hard attention may resolve near-ties differently: it must choose one key whose score is close to the
 * maximum. */
static bool hard_row_is_good(const problem *p, const expected *x, size_t row, double bound)
{
    const size_t keys = (size_t)p->a.keys;
    double largest = -INFINITY, sum = 0;
    for (size_t j = 0; j < keys; j++)
        if (x->scores[row * keys + j] > largest) largest = x->scores[row * keys + j];
    for (size_t j = 0; j < keys; j++) {
        const double w = (double)p->weights[row * keys + j];
        if (w != 0 && w != 1) return false;
        if (w == 1 && !(x->scores[row * keys + j] >= largest - bound)) return false;
        sum += w;
    }
    return sum == (largest == -INFINITY ? 0 : 1);
}

/* The weights of a row sum to 1, or to 0 if no key is visible. */
static void assert_sums(const problem *p, const expected *x, const char *table)
{
    const size_t keys = (size_t)p->a.keys;
    for (size_t row = 0; keys && row < p->area / keys; row++) {
        double sum = 0;
        bool sees = false;
        for (size_t j = 0; j < keys; j++) {
            sum += (double)p->weights[row * keys + j];
            sees |= x->scores[row * keys + j] != -INFINITY;
        }
        if (!sees || p->o.window != ATTEND_WINDOW_LOCAL_P)
            assert_near(p, table, "sum of weights", row, sum, sees, sees ? 1e-5 : 0);
    }
}

/* Returns whether context and weights can be compared elementwise: not if hard attention has a near-tie. */
static bool compare_forward(const problem *p, const expected *x, const char *table)
{
    const size_t keys = (size_t)p->a.keys;
    double largest = 1;
    bool same = true;
    for (size_t i = 0; i < p->area; i++)
        if (fabs(x->scores[i]) > largest && x->scores[i] != -INFINITY) largest = fabs(x->scores[i]);
    const bool exact =
        p->extras & PROBLEM_INTEGERS && strcmp(p->o.score->name, "dot") == 0 && !(p->extras & PROBLEM_BIAS);
    const double off = exact ? 1e-6 : 2e-6 * largest; /* of a score */
    for (size_t i = 0; p->scores && i < p->area; i++)
        assert_near(p, table, "score", i, (double)p->scores[i], x->scores[i], off);
    if (p->o.selection == ATTEND_SELECT_HARD) {
        for (size_t row = 0; keys && row < p->area / keys; row++)
            if (!hard_row_is_good(p, x, row, 4 * off)) assert_near(p, table, "hard row", row, 1, 0, 0);
        for (size_t i = 0; i < p->area; i++) same &= (double)p->weights[i] == x->weights[i];
    }
    if (!same) return false;
    for (size_t i = 0; i < p->area; i++)
        assert_near(p, table, "weight", i, (double)p->weights[i], x->weights[i], 2e-6 + 2 * off);
    const double values = p->extras & PROBLEM_ONE_ARRAY ? p->reach : 1;
    const double reach = strcmp(p->o.score->name, "projected") == 0 ? 60 : 1;
    for (size_t i = 0; i < p->context_size; i++)
        assert_near(p, table, "context", i, (double)p->context[i], x->context[i], values * reach * (2e-6 + 4 * off));
    return true;
}

/* L = context . dcontext + weights . dweights of the plain implementation. */
static double plain_loss(const problem *p, const expected *x)
{
    double sum = 0;
    assert_true(plain_attention(&x->plain, x->context, x->weights, x->scores));
    for (size_t i = 0; i < p->context_size; i++) sum += x->context[i] * (double)p->dcontext[i];
    for (size_t i = 0; i < p->area; i++) sum += x->weights[i] * (double)p->dweights[i];
    return sum;
}

/* The directional derivative along a random direction of each array equals the difference quotient of the plain loss. */
static void compare_gradients(const problem *p, expected *x, const char *table, uint64_t number)
{
    static const double step = 1e-5;
    for (int slot = 0; slot < PLAIN_SLOTS; slot++) {
        if (!p->data[slot] || p->size[slot] == 0) continue;
        const attend_rng rng = { .seed = 5, .stream = number, .use = (uint32_t)slot };
        double along = 0, all = 0, loss[2];
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < p->size[slot]; i++) {
                const double direction = 2 * attend_rng_uniform(&rng, i) - 1;
                x->exact[slot][i] = (double)p->data[slot][i] + (side ? -step : step) * direction;
                if (side) continue;
                along += direction * (double)p->grad[slot][i];
                all += fabs(direction * (double)p->grad[slot][i]);
            }
            loss[side] = plain_loss(p, x);
        }
        for (size_t i = 0; i < p->size[slot]; i++) x->exact[slot][i] = (double)p->data[slot][i];
        char what[48];
        snprintf(what, sizeof what, "derivative along %s", problem_slots[slot]);
        assert_near(p, table, what, 0, along, (loss[0] - loss[1]) / (2 * step), 2e-5 * (1 + all));
    }
}

static void test_against_plain(void **state)
{
    (void)state;
    const attend_kernel_table *usual = attend_kernel();
    attend_runner *r = problem_runner(2);
    int derivatives = 0, apart = 0;
    for (uint64_t number = 0; number < PROBLEMS; number++) {
        problem p = random_problem(number);
        expected x = expected_new(&p);
        for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
            attend_kernel_select(*t);
            char text[200];
            if (problem_run(r, &p) != ATTEND_OK) fail_msg("%s: %s", problem_text(&p, text), attend_message());
            assert_sums(&p, &x, (*t)->name);
            const bool same = compare_forward(&p, &x, (*t)->name);
            apart += !same;
            if (!same || p.o.selection == ATTEND_SELECT_HARD || p.reach > 2 || p.area > 1500) continue;
            compare_gradients(&p, &x, (*t)->name, number);
            assert_true(plain_attention(&x.plain, x.context, x.weights, x.scores));
            derivatives++;
        }
        expected_free(&x);
        problem_free(&p);
    }
    printf("%d problems, gradients of %d, %d near-ties\n", (int)PROBLEMS, derivatives, apart);
    assert_true(derivatives > PROBLEMS / 3);
    attend_kernel_select(usual);
    attend_runner_free(r);
}

/* ---- queries that see no key ---- */

/* Contexts, weights and gradients of such rows are 0, and all gradients are finite. */
static void test_queries_that_see_no_key(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    for (const attend_score *const *s = attend_scores; *s; s++)
        for (int selection = ATTEND_SELECT_SOFT; selection <= ATTEND_SELECT_HARD; selection++) {
            problem p = problem_of(*s);
            p.o.selection = (attend_selection)selection;
            p.o.soft_cap = 2;
            p.extras = PROBLEM_ALLOWED | PROBLEM_BIAS | PROBLEM_RAGGED;
            p.a.allowed_shape[1] = 1;
            p.a.training = selection == ATTEND_SELECT_HARD;
            problem_new(&p, 11);
            for (int j = 0; j < p.a.keys; j++) p.allowed[2 * p.a.keys + j] = 0; /* query 2 of sequence 0 sees no key */
            p.lengths[p.a.batch + 3] = 0;                                       /* nor does any query of sequence 3 */
            p.lengths[3] = p.a.queries;
            assert_ok(problem_run(r, &p));
            const size_t row = p.context_size / (size_t)(p.a.batch * p.a.queries),
                         width = (size_t)(p.o.heads * p.a.query_width);
            for (int i = 0; i < p.a.batch * p.a.queries; i++) {
                if (i != 2 && i / p.a.queries != 3) continue;
                for (size_t l = 0; l < row; l++) assert_true(p.context[(size_t)i * row + l] == 0);
                for (size_t l = 0; l < width; l++) assert_true(p.grad[PLAIN_QUERY][(size_t)i * width + l] == 0);
            }
            for (int slot = 0; slot < PLAIN_SLOTS; slot++)
                for (size_t i = 0; p.grad[slot] && i < p.size[slot]; i++)
                    assert_true(isfinite((double)p.grad[slot][i]));
            problem_free(&p);
        }
    attend_runner_free(r);
}

/* ---- permutations ---- */

/* Copies `of` with its keys permuted: key j moves to position order[j]. */
static void permute_keys(problem *p, const int *order, problem *of)
{
    const size_t keys = (size_t)p->a.keys;
    for (int slot = PLAIN_KEY; slot <= PLAIN_VALUE; slot++) {
        const size_t width = p->size[slot] / (keys * (size_t)p->a.batch);
        for (size_t row = 0; row < keys * (size_t)p->a.batch; row++)
            memcpy(p->data[slot] + (row / keys * keys + (size_t)order[row % keys]) * width,
                   of->data[slot] + row * width, width * sizeof(attend_real));
    }
    for (size_t i = 0; i < p->area; i++) {
        const size_t to = i / keys * keys + (size_t)order[i % keys];
        p->allowed[to] = of->allowed[i], p->data[PLAIN_BIAS][to] = of->data[PLAIN_BIAS][i];
    }
}

static void test_permuted_keys_permute_the_weights(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(1);
    for (const attend_score *const *s = attend_scores; *s; s++)
        for (int selection = ATTEND_SELECT_SOFT; selection <= ATTEND_SELECT_HARD; selection++) {
            if (strncmp((*s)->name, "location", 8) == 0) continue; /* these depend on positions */
            problem p[2];
            int order[64];
            for (int way = 0; way < 2; way++) {
                p[way] = problem_of(*s);
                p[way].o.selection = (attend_selection)selection;
                p[way].extras = PROBLEM_ALLOWED | PROBLEM_BIAS;
                problem_new(&p[way], 3);
            }
            const int keys = p[0].a.keys;
            for (int j = 0; j < keys; j++) order[j] = (5 * j + 3) % keys; /* 13 keys */
            permute_keys(&p[1], order, &p[0]);
            for (int way = 0; way < 2; way++) assert_ok(problem_forward(r, &p[way]));
            for (size_t i = 0; i < p[0].area; i++) {
                const size_t to = i / (size_t)keys * (size_t)keys + (size_t)order[i % (size_t)keys];
                assert_near(&p[0], "permuted", "weight", i, (double)p[1].weights[to], (double)p[0].weights[i], 2e-6);
            }
            for (size_t i = 0; i < p[0].context_size; i++)
                assert_near(&p[0], "permuted", "context", i, (double)p[1].context[i], (double)p[0].context[i], 1e-5);
            for (int way = 0; way < 2; way++) problem_free(&p[way]);
        }
    attend_runner_free(r);
}

/* ---- large scores ---- */

/* e = 8192 + x_j, exact in float, has the same weights as x, also when backward recomputes them. */
static void test_weights_are_invariant_to_a_common_offset(void **state)
{
    (void)state;
    enum { KEYS = 40 };
    attend_real key[KEYS][2], value[KEYS], weights[2][KEYS], dvalue[2][KEYS], dquery[2][2], context;
    for (int selection = ATTEND_SELECT_SOFT; selection <= ATTEND_SELECT_ENTMAX15; selection++) {
        attend_runner *r = problem_runner(1);
        for (int far = 0; far < 2; far++) {
            const attend_real query[2] = { 1, far ? 8192 : 0 }, dcontext = 1;
            for (int j = 0; j < KEYS; j++) {
                key[j][0] = (attend_real)((j * 37 % 64 - 32) / 16.0), key[j][1] = 1;
                value[j] = (attend_real)(j % 7 - 3);
            }
            attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
            o.score = &attend_score_dot;
            o.selection = (attend_selection)selection;
            const attend_arrays a = { .batch = 1,
                                      .queries = 1,
                                      .keys = KEYS,
                                      .query_width = 2,
                                      .key_width = 2,
                                      .value_width = 1,
                                      .query = query,
                                      .key = &key[0][0],
                                      .value = value };
            memset(dvalue[far], 0, sizeof dvalue[far]);
            memset(dquery[far], 0, sizeof dquery[far]);
            assert_ok(attend_runner_forward(r, &o, &a, &context, weights[far], NULL));
            const attend_array_gradients g = { .value = dvalue[far], .query = dquery[far] };
            assert_ok(attend_runner_backward(r, &dcontext, NULL, &g));
        }
        for (int j = 0; j < KEYS; j++) {
            assert_true(fabs((double)(weights[1][j] - weights[0][j])) < 1e-6);
            if (!(fabs((double)(dvalue[1][j] - weights[0][j])) < 1e-6))
                fail_msg("selection %d: dv is %g, the weight is %g", selection, (double)dvalue[1][j],
                         (double)weights[0][j]);
        }
        assert_true(fabs((double)(dquery[1][0] - dquery[0][0])) < 1e-5);
        attend_runner_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_plain),
        cmocka_unit_test(test_queries_that_see_no_key),
        cmocka_unit_test(test_permuted_keys_permute_the_weights),
        cmocka_unit_test(test_weights_are_invariant_to_a_common_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
