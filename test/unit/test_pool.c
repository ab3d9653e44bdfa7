/* The pool: every piece runs once, also in runs within pieces; threads without work help; failures. */
#include "core/memory.h"
#include "core/pool.h"
#include "unit/unit.h"
#include <pthread.h>
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

/* ---- runs within pieces ---- */

enum { OUTER = 7, INNER = 11, INNERMOST = 3, REPEATS = 60 };

typedef struct nest {
    attend_pool *pool;
    atomic_int inner[OUTER][INNER], innermost[OUTER][INNER][INNERMOST];
} nest;

typedef struct nest_piece {
    nest *n;
    int outer, inner;
} nest_piece;

static void run_innermost(void *user, int piece)
{
    const nest_piece *p = user;
    atomic_fetch_add(&p->n->innermost[p->outer][p->inner][piece], 1);
}

static void run_inner(void *user, int piece)
{
    const nest_piece *p = user;
    nest_piece here = { .n = p->n, .outer = p->outer, .inner = piece };
    attend_pool_run(p->n->pool, INNERMOST, run_innermost, &here);
    const int runs = atomic_fetch_add(&p->n->inner[p->outer][piece], 1) + 1;
    for (int i = 0; i < INNERMOST; i++)
        if (atomic_load(&p->n->innermost[p->outer][piece][i]) != runs) atomic_fetch_add(&wrong_calls, 1);
}

/* Many tiny runs. When one returns, all of its pieces are done, and none of them twice. */
static void run_outer(void *user, int piece)
{
    nest *n = user;
    nest_piece here = { .n = n, .outer = piece };
    for (int i = 1; i <= REPEATS; i++) {
        attend_pool_run(n->pool, INNER, run_inner, &here);
        for (int j = 0; j < INNER; j++)
            if (atomic_load(&n->inner[piece][j]) != i) atomic_fetch_add(&wrong_calls, 1);
    }
}

static const int thread_counts[] = { 1, 2, 3, 7, 16 };

static void test_runs_within_pieces(void **state)
{
    (void)state;
    static nest n;
    for (size_t t = 0; t < sizeof thread_counts / sizeof *thread_counts; t++) {
        attend_pool *pool = NULL;
        assert_ok(attend_pool_new(&pool, thread_counts[t]));
        for (int round = 0; round < 5; round++) {
            memset(&n, 0, sizeof n);
            n.pool = pool;
            attend_pool_run(pool, OUTER, run_outer, &n);
            for (int i = 0; i < OUTER; i++)
                for (int j = 0; j < INNER; j++) assert_int_equal(atomic_load(&n.inner[i][j]), REPEATS);
        }
        assert_int_equal(atomic_load(&wrong_calls), 0);
        attend_pool_free(pool);
    }
}

/* ---- help ---- */

static void short_sleep(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Pieces that take long, in a run within a piece as well: a run waits for those of other threads. */
static void finish_late(void *user, int piece)
{
    short_sleep();
    count(user, piece);
}

static void run_late_pieces(void *user, int piece)
{
    attend_pool *p = user;
    memset(done, 0, sizeof done);
    attend_pool_run(p, 8, finish_late, done);
    for (int i = 0; piece == 0 && i < 8; i++)
        if (atomic_load(&done[i]) != 1) atomic_fetch_add(&wrong_calls, 1);
}

static void test_a_run_waits_for_its_helpers(void **state)
{
    (void)state;
    attend_pool *p = NULL;
    assert_ok(attend_pool_new(&p, 5));
    for (int round = 0; round < 20; round++) {
        run_late_pieces(p, 0);
        attend_pool_run(p, 1, run_late_pieces, p);
    }
    assert_int_equal(atomic_load(&wrong_calls), 0);
    attend_pool_free(p);
}

/* Pieces that wait for each other, so that they must run at the same time; a piece gives up after some seconds. */
typedef struct meeting {
    attend_pool *pool;
    int expected;
    atomic_int present, alone; /* pieces that came; that gave up */
    int available;             /* as seen by the last piece to come */
} meeting;

static void meet(void *user, int piece)
{
    (void)piece;
    meeting *m = user;
    if (atomic_fetch_add(&m->present, 1) + 1 == m->expected) m->available = attend_pool_available(m->pool);
    for (int i = 0; i < 4000 && atomic_load(&m->present) < m->expected; i++) short_sleep();
    if (atomic_load(&m->present) < m->expected) atomic_fetch_add(&m->alone, 1);
}

/* Of two pieces, the second has an inner run; the thread of the first, and the third thread, must come to help. */
static void meet_inside(void *user, int piece)
{
    meeting *m = user;
    if (piece == 1) attend_pool_run(m->pool, m->expected, meet, m);
}

static void test_threads_without_pieces_help_with_inner_runs(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) { /* the caller has the first piece or the second */
        meeting m = { .expected = 3 };
        assert_ok(attend_pool_new(&m.pool, 3));
        attend_pool_run(m.pool, 2, meet_inside, &m);
        assert_int_equal(atomic_load(&m.alone), 0);
        attend_pool_free(m.pool);
    }
}

static void test_available_threads(void **state)
{
    (void)state;
    assert_int_equal(attend_pool_available(NULL), 1);
    meeting m = { .expected = 4 };
    assert_ok(attend_pool_new(&m.pool, 4));
    for (int i = 0; i < 10000 && attend_pool_available(m.pool) < 4; i++) short_sleep(); /* until all have started */
    assert_int_equal(attend_pool_available(m.pool), 4);
    attend_pool_run(m.pool, 4, meet, &m);
    assert_int_equal(atomic_load(&m.alone), 0);
    assert_int_equal(m.available, 1); /* all were busy */
    attend_pool_free(m.pool);
}

/* ---- callers that are not of the pool ---- */

static attend_pool *shared;

static void *call_from_outside(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++) attend_pool_run(shared, PIECES, count, done);
    return NULL;
}

static void test_several_callers(void **state)
{
    (void)state;
    enum { CALLERS = 3 };
    pthread_t callers[CALLERS];
    memset(done, 0, sizeof done);
    assert_ok(attend_pool_new(&shared, 3));
    for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_create(&callers[i], NULL, call_from_outside, NULL), 0);
    for (int i = 0; i < CALLERS; i++) pthread_join(callers[i], NULL);
    for (int i = 0; i < PIECES; i++) assert_int_equal(atomic_load(&done[i]), CALLERS * 200);
    attend_pool_free(shared);
}

/* ---- failures ---- */

static void test_a_pool_without_memory(void **state)
{
    (void)state;
    attend_pool *p = NULL;
    attend_memory_refuse(-1);
    assert_ok(attend_pool_new(&p, 4));
    const long requests = attend_memory_requests();
    attend_pool_free(p);
    assert_true(requests > 0);
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        assert_int_equal(attend_pool_new(&p, 4), ATTEND_NO_MEMORY);
        assert_null(p);
    }
    attend_memory_refuse(0);
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
        cmocka_unit_test(test_runs_within_pieces),
        cmocka_unit_test(test_a_run_waits_for_its_helpers),
        cmocka_unit_test(test_threads_without_pieces_help_with_inner_runs),
        cmocka_unit_test(test_available_threads),
        cmocka_unit_test(test_several_callers),
        cmocka_unit_test(test_a_pool_without_memory),
        cmocka_unit_test(test_invalid_thread_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
