/* Ranks: which shards and which pieces of the parameters each has; exchanges, their faults and their speed. */
#include "unit/unit.h"

#include "rank/in_process.h"
#include "train/gradient_tree.h"
#include "train/pieces.h"
#include <pthread.h>
#include <time.h>

/* ---- shards ---- */

static void shards_are_divided_evenly(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 33; ranks++)
        for (int shards = 1; shards <= 70; shards++) {
            int next = 0, nodes = 0, largest = 0;
            for (int rank = 0; rank < ranks; rank++) {
                shard_range cover[MAX_COVER];
                const shard_range own = attend_gradient_tree_own(shards, ranks, rank);
                const int count = attend_gradient_tree_cover(shards, own, cover);
                assert_int_equal(own.first, next);
                assert_true(own.end >= own.first);
                next = own.end;
                for (int i = 0, at = own.first; i < count; at = cover[i++].end) assert_int_equal(cover[i].first, at);
                assert_int_equal(count > 0 ? cover[count - 1].end : own.first, own.end);
                nodes += count;
                if (own.end - own.first > largest) largest = own.end - own.first;
                if ((ranks & (ranks - 1)) == 0) assert_true(count <= 1);
            }
            assert_int_equal(next, shards);
            const int even = (shards + ranks - 1) / ranks;
            if ((ranks & (ranks - 1)) == 0)
                assert_true(largest <= even);
            else
                assert_true(largest <= even + 1 + shards / (4 * ranks));
            assert_true(nodes <= 5 * ranks);
        }
}

/* ---- pieces ---- */

static void pieces_are_divided_evenly(void **state)
{
    (void)state;
    static const int shapes[][2] = { { 5000, 300 }, { 7, 1 }, { 3, 70000 }, { 1, 1 }, { 640, 512 }, { 200000, 1 } };
    enum { COUNT = sizeof shapes / sizeof *shapes };
    attend_params *set = NULL;
    attend_param *p[COUNT];
    assert_ok(attend_params_new(&set));
    size_t total = 0;
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        assert_ok(attend_params_add(&p[i], set, name, shapes[i][1] == 1 ? 1 : 2, shapes[i]));
        total += attend_param_size(p[i]);
    }
    for (int ranks = 1; ranks <= 9; ranks++) {
        parameter_pieces x;
        assert_ok(attend_pieces_new(&x, set));
        assert_ok(attend_pieces_divide(&x, ranks, ranks - 1));
        for (int i = 0; i < COUNT; i++) {
            size_t next = 0;
            for (int rank = 0; rank < ranks; rank++) {
                const element_range r = attend_pieces_of(&x, rank, i);
                if (r.last == r.first) continue;
                assert_int_equal(r.first, next);
                assert_int_equal(r.first % (size_t)shapes[i][1], 0); /* whole rows */
                next = r.last;
            }
            assert_int_equal(next, attend_param_size(p[i]));
        }
        for (int rank = 0; rank < ranks; rank++)
            assert_true(x.numbers[rank + 1] - x.numbers[rank] <= total / (size_t)ranks + 70000);
        assert_int_equal(x.numbers[ranks], total);
        attend_pieces_free(&x);
    }
    attend_params_free(set);
}

/* ---- exchanges ---- */

enum { RANKS = 4, SIZE = 1000 };

typedef struct talker {
    rank_group *group;
    int rank, rounds, status;
    char message[512];
    double seconds;
} talker;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Each rank gives a block of its own number. */
static void *talk(void *user)
{
    talker *t = user;
    attend_ranks *r = attend_rank_group_join(t->group, t->rank);
    const double start = now();
    t->status = r ? ATTEND_OK : ATTEND_FAILED;
    for (int round = 0; t->status == ATTEND_OK && round < t->rounds; round++) {
        char data[RANKS * SIZE];
        size_t offsets[RANKS + 1];
        for (int i = 0; i <= RANKS; i++) offsets[i] = (size_t)i * SIZE;
        memset(data, -1, sizeof data);
        memset(data + offsets[t->rank], t->rank + round, SIZE);
        t->status = attend_ranks_all_gather(r, data, offsets);
        for (size_t i = 0; t->status == ATTEND_OK && i < sizeof data; i++)
            if (data[i] != (char)((int)(i / SIZE) + round)) t->status = ATTEND_BAD_DATA;
        int number = t->rank == 0 ? 41 + round : 0;
        if (t->status == ATTEND_OK) t->status = attend_ranks_share(r, &number, sizeof number);
        if (t->status == ATTEND_OK && number != 41 + round) t->status = ATTEND_BAD_DATA;
        if (t->status == ATTEND_OK) t->status = attend_ranks_wait(r);
    }
    t->seconds = now() - start;
    snprintf(t->message, sizeof t->message, "%s", t->status == ATTEND_OK ? "" : attend_message());
    attend_ranks_leave(r);
    return NULL;
}

/* Rank 0 hands out texts whose sizes differ, one of them empty; the others return them with a letter added. */
static void *divide(void *user)
{
    talker *t = user;
    attend_ranks *r = attend_rank_group_join(t->group, t->rank);
    attend_string parts[RANKS] = { { 0 } }, own = { 0 };
    t->status = r ? ATTEND_OK : ATTEND_FAILED;
    for (int round = 0; t->status == ATTEND_OK && round < t->rounds; round++) {
        for (int i = 0; t->rank == 0 && i < RANKS; i++) {
            parts[i].size = 0;
            for (int k = 0; k < i * (round + 1) * 100; k++) attend_string_add(&parts[i], "abc", 3);
        }
        t->status = attend_ranks_hand_out(r, parts, &own);
        if (t->status == ATTEND_OK && own.size != (size_t)(t->rank * (round + 1) * 300)) t->status = ATTEND_BAD_DATA;
        const char letter = (char)('a' + t->rank);
        if (t->status == ATTEND_OK) t->status = attend_string_add(&own, &letter, 1);
        if (t->status == ATTEND_OK) t->status = attend_ranks_collect(r, &own, parts);
        for (int i = 0; t->rank == 0 && t->status == ATTEND_OK && i < RANKS; i++)
            if (parts[i].size != (size_t)(i * (round + 1) * 300 + 1) || parts[i].text[parts[i].size - 1] != 'a' + i)
                t->status = ATTEND_BAD_DATA;
    }
    snprintf(t->message, sizeof t->message, "%s", t->status == ATTEND_OK ? "" : attend_message());
    for (int i = 0; i < RANKS; i++) attend_string_free(&parts[i]);
    attend_string_free(&own);
    attend_ranks_leave(r);
    return NULL;
}

static void run_all(rank_group *g, int rounds, void *(*run)(void *), talker all[RANKS])
{
    pthread_t ids[RANKS];
    for (int i = 0; i < RANKS; i++) {
        all[i] = (talker){ .group = g, .rank = i, .rounds = rounds };
        assert_int_equal(pthread_create(&ids[i], NULL, run, &all[i]), 0);
    }
    for (int i = 0; i < RANKS; i++) pthread_join(ids[i], NULL);
}

static void talk_all(rank_group *g, int rounds, talker all[RANKS])
{
    run_all(g, rounds, talk, all);
}

static void parts_of_work(void **state)
{
    (void)state;
    talker all[RANKS];
    rank_group *g = attend_rank_group_new(RANKS, 10);
    run_all(g, 5, divide, all);
    for (int i = 0; i < RANKS; i++)
        if (all[i].status != ATTEND_OK) fail_msg("rank %d: %s", i, all[i].message);
    attend_rank_group_free(g);
    g = attend_rank_group_new(RANKS, 0.5);
    attend_rank_group_inject(g, 2, 8, INJECT_STOP, 2);
    run_all(g, 50, divide, all);
    for (int i = 0; i < RANKS; i++) assert_int_equal(all[i].status, ATTEND_FAILED);
    assert_non_null(strstr(all[0].message, "rank 2 on "));
    attend_rank_group_free(g);
}

static void parts_alone(void **state)
{
    (void)state;
    attend_string part = { 0 }, own = { 0 };
    assert_ok(attend_string_add(&part, "work", 4));
    assert_ok(attend_ranks_hand_out(NULL, &part, &own));
    assert_string_equal(own.text, "work");
    assert_ok(attend_string_add(&own, "ed", 2));
    assert_ok(attend_ranks_collect(NULL, &own, &part));
    assert_string_equal(part.text, "worked");
    assert_int_equal(attend_ranks_hand_out(NULL, NULL, &own), ATTEND_BAD_USAGE);
    attend_string_free(&part);
    attend_string_free(&own);
}

static void exchanges(void **state)
{
    (void)state;
    talker all[RANKS];
    rank_group *g = attend_rank_group_new(RANKS, 10);
    talk_all(g, 20, all);
    for (int i = 0; i < RANKS; i++) {
        if (all[i].status != ATTEND_OK) fail_msg("%s", all[i].message);
        assert_int_equal(attend_rank_group_messages(g, i), 3 + 3 + 20 * (3 + (i == 0 ? 3 : 0) + 3));
    }
    attend_rank_group_free(g);
}

/* A stopped rank is named by all others after the time-out, and a dead one at once. */
static void silent_ranks(void **state)
{
    (void)state;
    for (int dead = 0; dead < 2; dead++) {
        talker all[RANKS];
        rank_group *g = attend_rank_group_new(RANKS, 0.5);
        attend_rank_group_inject(g, 2, 10, dead ? INJECT_KILL : INJECT_STOP, 2);
        talk_all(g, 20, all);
        for (int i = 0; i < RANKS; i++) {
            assert_int_equal(all[i].status, ATTEND_FAILED);
            if (i == 2) continue;
            assert_non_null(strstr(all[i].message, "rank 2 on "));
            assert_non_null(strstr(all[i].message, dead ? "it has ended" : "nothing was heard from it for 0.5 s"));
            assert_true(dead ? all[i].seconds < 0.4 : all[i].seconds >= 0.5 && all[i].seconds < 1.5);
        }
        attend_rank_group_free(g);
    }
}

/* Data that is lost is noticed, although its sender is alive. */
static void lost_data(void **state)
{
    (void)state;
    talker all[RANKS];
    rank_group *g = attend_rank_group_new(RANKS, 0.5);
    attend_rank_group_inject(g, 1, 10, INJECT_DROP, 0);
    talk_all(g, 20, all);
    int failed = 0;
    for (int i = 0; i < RANKS; i++) failed += all[i].status == ATTEND_FAILED && strstr(all[i].message, "rank 1 on ");
    assert_int_equal(failed, RANKS);
    attend_rank_group_free(g);
}

/* 20 rounds of 3 * SIZE bytes by each rank at 1 MB/s take 60 ms, and 60 exchanges with a latency of 1 ms at least as long. */
static void a_slow_network(void **state)
{
    (void)state;
    talker all[RANKS];
    rank_group *g = attend_rank_group_new(RANKS, 10);
    attend_rank_group_throttle(g, 1e6, 1e-3);
    talk_all(g, 20, all);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(all[i].status, ATTEND_OK);
        assert_true(all[i].seconds >= 0.12);
    }
    attend_rank_group_free(g);
}

static void alone(void **state)
{
    (void)state;
    attend_ranks *r = (void *)state;
    bool answer = true;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
    unsetenv("PMIX_RANK");
    unsetenv("SLURM_STEP_NUM_TASKS");
    int rank = 1;
    assert_int_equal(attend_ranks_started(&rank), 1);
    assert_int_equal(rank, 0);
    assert_ok(attend_ranks_join(&r, 60));
    assert_null(r);
    assert_int_equal(attend_ranks_count(r), 1);
    assert_int_equal(attend_ranks_rank(r), 0);
    assert_ok(attend_ranks_wait(r));
    assert_ok(attend_ranks_decide(r, &answer));
    assert_true(answer);
    attend_ranks_abort(r, ATTEND_FAILED, "x");
    attend_ranks_leave(r);
    assert_int_equal(attend_ranks_join(&r, 0.5), ATTEND_BAD_USAGE);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    assert_int_equal(attend_ranks_started(&rank), 2);
    assert_int_equal(rank, 1);
    setenv("ATTEND_MPI", "/no/such/plugin.so", 1);
    assert_int_equal(attend_ranks_join(&r, 60), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "install the package attend-mpi"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_divided_evenly),
        cmocka_unit_test(pieces_are_divided_evenly),
        cmocka_unit_test(exchanges),
        cmocka_unit_test(parts_of_work),
        cmocka_unit_test(parts_alone),
        cmocka_unit_test(silent_ranks),
        cmocka_unit_test(lost_data),
        cmocka_unit_test(a_slow_network),
        cmocka_unit_test(alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
