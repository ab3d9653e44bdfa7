#include "core/pool.h"
#include "unit/unit.h"
#include <stdatomic.h>
#include <time.h>

enum { PIECES = 1000 };
static atomic_int done[PIECES];
static atomic_int wrong_calls; /* cmocka's assertions work on the main thread only */

static void count(void *user, int piece)
{
    if (user != (void *)done || piece < 0 || piece >= PIECES)
        atomic_fetch_add(&wrong_calls, 1);
    else
        atomic_fetch_add(&done[piece], 1);
}

static void test_every_piece_runs_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        attend_pool *p = NULL;
        assert_ok(attend_pool_new(&p, threads));
        assert_int_equal(attend_pool_threads(p), threads);
        memset(done, 0, sizeof done);
        for (int round = 1; round <= 300; round++) {
            /* let the workers fall asleep sometimes */
            if (round % 100 == 0) nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
            int pieces = round % 3 == 0 ? PIECES : round % 7;
            attend_pool_run(p, pieces, count, done);
        }
        int expected[PIECES] = { 0 };
        for (int round = 1; round <= 300; round++)
            for (int i = 0; i < (round % 3 == 0 ? PIECES : round % 7); i++) expected[i]++;
        for (int i = 0; i < PIECES; i++) assert_int_equal(atomic_load(&done[i]), expected[i]);
        assert_int_equal(atomic_load(&wrong_calls), 0);
        attend_pool_free(p);
    }
}

static void test_invalid_thread_counts(void **state)
{
    (void)state;
    attend_pool *p = NULL;
    assert_int_equal(attend_pool_new(&p, 0), ATTEND_BAD_USAGE);
    assert_null(p);
    assert_non_null(strstr(attend_message(), "1 to"));
    assert_int_equal(attend_pool_new(&p, 1 << 20), ATTEND_BAD_USAGE);
    attend_pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_piece_runs_once),
        cmocka_unit_test(test_invalid_thread_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
