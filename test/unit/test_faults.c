/* Memory that runs out: every single request of a training step is refused in turn. Each time the step must end in an
 * error with a message, crash nothing and leak nothing (AddressSanitizer and valgrind watch). */
#include "core/memory.h"
#include "support/language_model.h"
#include "unit/unit.h"

/* Two whole steps, from parameters to an update: the second meets the memory the first left behind. */
static int two_steps(int threads)
{
    language_model m = { .vocabulary = 31, .embedding = 5, .hidden = 7, .count = 5, .longest = 4, .shard = 2,
                         .ragged = true, .dropout = 0.1 };
    attend_team *team = NULL;
    attend_optimizer *optimizer = NULL;
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    int status = language_model_new(&m);
    if (status == ATTEND_OK) status = attend_team_new(&team, m.params, threads);
    if (status == ATTEND_OK) status = attend_optimizer_new(&optimizer, team, &options);
    for (uint64_t i = 0; status == ATTEND_OK && i < 2; i++) {
        status = attend_team_gradient(team, language_model_shards(&m), language_model_loss, &m, 1, i, NULL);
        if (status == ATTEND_OK) status = attend_optimizer_step(optimizer, 0.1, 1, NULL);
    }
    attend_optimizer_free(optimizer);
    attend_team_free(team);
    language_model_free(&m);
    return status;
}

static void refuse_each(int threads)
{
    attend_memory_refuse(-1); /* count, refuse none */
    assert_ok(two_steps(threads));
    long requests = attend_memory_requests();
    assert_true(requests > 100);
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        int status = two_steps(threads);
        if (status != ATTEND_NO_MEMORY) fail_msg("request %ld of %ld refused, and the answer is %d", n, requests, status);
        assert_non_null(strstr(attend_message(), "no memory"));
    }
    attend_memory_refuse(0);
    assert_ok(two_steps(threads));
    printf("%ld requests refused in turn on %d thread%s\n", requests, threads, threads > 1 ? "s" : "");
}

static void test_one_thread(void **state)
{
    (void)state;
    refuse_each(1);
}

static void test_two_threads(void **state)
{
    (void)state;
    refuse_each(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_thread), cmocka_unit_test(test_two_threads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
