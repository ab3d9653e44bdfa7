/* Memory that runs out under attention: every single request of a runner's forward and backward is refused in turn. Each time it must
 * end in an error with a message, crash nothing and leak nothing (AddressSanitizer and valgrind watch). */
#include "core/memory.h"
#include "support/attention_problem.h"

/* Two whole calls: the second meets the memory the first left behind. */
static int two_calls(problem *p, int threads)
{
    attend_runner *r = NULL;
    int status = attend_runner_new(&r, threads);
    for (int i = 0; status == ATTEND_OK && i < 2; i++) status = problem_run(r, p);
    attend_runner_free(r);
    return status;
}

static void refuse_each(const attend_score *score, int threads)
{
    problem p = problem_of(score);
    p.extras = PROBLEM_RAGGED | PROBLEM_BIAS;
    p.o.dropout = 0.2, p.o.soft_cap = 2, p.a.training = true;
    problem_new(&p, 4);
    attend_memory_refuse(-1); /* count, refuse none */
    assert_ok(two_calls(&p, threads));
    const long requests = attend_memory_requests();
    assert_true(requests > 50);
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        const int status = two_calls(&p, threads);
        if (status != ATTEND_NO_MEMORY)
            fail_msg("request %ld of %ld refused, and the answer is %d", n, requests, status);
        assert_non_null(strstr(attend_message(), "no memory"));
    }
    attend_memory_refuse(0);
    assert_ok(two_calls(&p, threads));
    printf("%s: %ld requests refused in turn on %d thread%s\n", score->name, requests, threads, threads > 1 ? "s" : "");
    problem_free(&p);
}

/* A runner that failed works again once there is memory. */
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
    refuse_each(&attend_score_dot, 1);
    refuse_each(&attend_score_dot, 2);
}

static void test_by_shards(void **state)
{
    (void)state;
    refuse_each(&attend_score_additive, 1);
    refuse_each(&attend_score_additive, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_in_place), cmocka_unit_test(test_by_shards),
                                        cmocka_unit_test(test_runner_survives) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
