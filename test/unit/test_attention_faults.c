/* Every allocation of a runner's forward and backward passes fails in turn. Each failure must return an error with a
 * message, without a crash or a leak (checked by AddressSanitizer and valgrind). */
#include "core/memory.h"
#include "support/attention_problem.h"

/* Two forward and backward passes; the second reuses memory of the first. */
static int two_calls(problem *p, int threads)
{
    attend_runner *r = NULL;
    int status = attend_runner_new(&r, threads);
    for (int i = 0; status == ATTEND_OK && i < 2; i++) status = problem_run(r, p);
    attend_runner_free(r);
    return status;
}

static void fail_each_allocation(const attend_score *score, int threads)
{
    problem p = problem_of(score);
    p.extras = PROBLEM_RAGGED | PROBLEM_BIAS;
    p.o.dropout = 0.2, p.o.soft_cap = 2, p.a.training = true;
    problem_new(&p, 4);
    attend_memory_refuse(-1); /* count only */
    assert_ok(two_calls(&p, threads));
    const long allocations = attend_memory_requests();
    assert_true(allocations > 50);
    for (long n = 1; n <= allocations; n++) {
        attend_memory_refuse(n);
        const int status = two_calls(&p, threads);
        if (status != ATTEND_NO_MEMORY)
            fail_msg("allocation %ld of %ld failed, but the status is %d", n, allocations, status);
        assert_non_null(strstr(attend_message(), "no memory"));
    }
    attend_memory_refuse(0);
    assert_ok(two_calls(&p, threads));
    printf("%s: %ld allocations failed in turn on %d thread%s\n", score->name, allocations, threads,
           threads > 1 ? "s" : "");
    problem_free(&p);
}

/* A runner works again after a failure. */
static void test_runner_survives(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    for (const attend_score *const *s = attend_scores; *s; s++) {
        problem p = problem_of(*s);
        problem_new(&p, 4);
        attend_memory_refuse(3);
        assert_int_equal(problem_run(r, &p), ATTEND_NO_MEMORY);
        attend_memory_refuse(0);
        assert_int_equal(problem_backward(r, &p), ATTEND_BAD_USAGE);
        assert_ok(problem_run(r, &p));
        problem_free(&p);
    }
    attend_runner_free(r);
}

static void test_in_place(void **state)
{
    (void)state;
    fail_each_allocation(&attend_score_dot, 1);
    fail_each_allocation(&attend_score_dot, 2);
}

static void test_by_shards(void **state)
{
    (void)state;
    fail_each_allocation(&attend_score_additive, 1);
    fail_each_allocation(&attend_score_additive, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_in_place), cmocka_unit_test(test_by_shards),
                                        cmocka_unit_test(test_runner_survives) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
