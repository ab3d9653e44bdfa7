/* Backward with many keys processes blocks of keys, or whole rows if there is a gradient of the weights. With such a
 * gradient of zero both must agree. */
#include "support/attention_problem.h"
#include "support/kernel_tables.h"

enum { PROBLEMS = 10, KEYS = 700, BLIND = 5 };

static problem long_problem(const attend_score *score, int number)
{
    problem p = problem_of(score);
    if (!score->needs_previous_weights) p.o.heads = 2, p.o.key_heads = 1;
    p.a.batch = 2;
    p.a.queries = number % 4 ? 110 : 300;
    p.a.keys = KEYS + number, p.a.max_keys = p.a.keys;
    p.o.causal = number & 1;
    p.extras = number & 2 ? PROBLEM_RAGGED : 0;
    if (number & 4) p.extras |= PROBLEM_ALLOWED | PROBLEM_BIAS;
    if (number & 4) p.a.allowed_shape[1] = p.a.bias_shape[0] = p.a.bias_shape[1] = 1;
    if (number % 5 == 1) p.o.soft_cap = 1.5;
    if (number % 5 == 2) p.o.dropout = 0.3, p.a.training = true;
    if (number % 5 == 3) p.o.window = ATTEND_WINDOW_LOCAL_M, p.o.window_size = 150;
    if (number % 5 == 3 && !p.o.causal) p.o.window = ATTEND_WINDOW_LOCAL_P;
    if (number % 5 == 4 && problem_in_place(&p)) p.extras |= PROBLEM_INTEGERS, p.reach = 60; /* scores around 1e4 */
    return p;
}

/* Query 3 sees none of the first 300 keys; no query sees key BLIND, nor the same key of a later block. */
static void hide(problem *p)
{
    const size_t keys = (size_t)p->a.keys, rows = (size_t)p->a.batch * (size_t)p->a.queries;
    for (size_t i = 0; p->allowed && i < rows; i++)
        for (size_t j = 0; j < keys; j++)
            if (j == BLIND || j == BLIND + 300 || (j < 300 && i == 3)) p->allowed[i * keys + j] = 0;
    if (!p->allowed || !problem_in_place(p)) return; /* other scores map rows before the mask applies */
    for (int slot = PLAIN_KEY; slot <= PLAIN_VALUE; slot++) {
        const size_t width = p->size[slot] / (keys * (size_t)p->a.batch);
        for (size_t l = 0; l < width; l++)
            p->data[slot][BLIND * width + l] = p->data[slot][(BLIND + 300) * width + l] = (attend_real)NAN;
    }
}

static void compare(const problem *whole, const problem *blocks, const char *table)
{
    char text[200];
    for (int slot = 0; slot < PLAIN_SLOTS; slot++) {
        double most = 1;
        for (size_t i = 0; whole->grad[slot] && i < whole->size[slot]; i++)
            if (fabs((double)whole->grad[slot][i]) > most) most = fabs((double)whole->grad[slot][i]);
        for (size_t i = 0; whole->grad[slot] && i < whole->size[slot]; i++) {
            const double a = (double)whole->grad[slot][i], b = (double)blocks->grad[slot][i];
            if (!(fabs(a - b) <= 2e-5 * most))
                fail_msg("%s [%s]: d%s %zu is %.9g with whole rows and %.9g with blocks", problem_text(whole, text),
                         table, problem_slots[slot], i, a, b);
        }
    }
}

static void test_blocks_are_whole_rows(void **state)
{
    (void)state;
    const attend_kernel_table *usual = attend_kernel();
    attend_runner *r = problem_runner(2);
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        attend_kernel_select(*t);
        const bool best = *t == usual;
        for (const attend_score *const *s = attend_scores; *s; s++)
            for (int number = 0; number < (best ? PROBLEMS : 2); number++) {
                problem p[2];
                for (int way = 0; way < 2; way++) {
                    p[way] = long_problem(*s, number);
                    if (way) p[way].extras |= PROBLEM_NO_WEIGHTS;
                    problem_new(&p[way], (uint64_t)number);
                    hide(&p[way]);
                    memset(p[way].dweights, 0, p[way].area * sizeof(attend_real));
                    if (problem_run(r, &p[way]) != ATTEND_OK) fail_msg("%s: %s", (*s)->name, attend_message());
                }
                compare(&p[0], &p[1], (*t)->name);
                for (int way = 0; way < 2; way++) problem_free(&p[way]);
            }
    }
    attend_kernel_select(usual);
    attend_runner_free(r);
}

/* The result is bit-identical for any number of threads. */
static void test_threads_do_not_matter(void **state)
{
    (void)state;
    for (int number = 0; number < PROBLEMS; number++) {
        problem p[2];
        for (int way = 0; way < 2; way++) {
            attend_runner *r = problem_runner(way ? 3 : 1);
            p[way] = long_problem(&attend_score_scaled_dot, number);
            p[way].extras |= PROBLEM_NO_WEIGHTS;
            problem_new(&p[way], (uint64_t)number);
            assert_ok(problem_run(r, &p[way]));
            attend_runner_free(r);
        }
        for (int slot = 0; slot < PLAIN_SLOTS; slot++)
            if (p[0].grad[slot])
                assert_memory_equal(p[0].grad[slot], p[1].grad[slot], p[0].size[slot] * sizeof(attend_real));
        for (int way = 0; way < 2; way++) problem_free(&p[way]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_whole_rows),
        cmocka_unit_test(test_threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
