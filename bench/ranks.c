/* ranks.c: training steps on two ranks with one thread each, compared with one process: with one thread, by networks of
 * 10 and 1 Gbit/s, and with two threads, by memory. Ranks are threads here, and a message arrives when the network would have
 * carried it (rank/in_process.h). The machine needs two cores. */
#include "training_steps.h"

#include "rank/in_process.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { VOCABULARY = 4000, MAX_PAIRS = 1200, SHARD_ROWS = 390, RANKS = 2 };

/* Pairs of 8 to 20 tokens on each side: `tokens` target tokens. */
static step_batch batch_of(int tokens)
{
    static pair_lengths lengths[MAX_PAIRS];
    unsigned x = 1;
    int count = 0;
    for (int sum = 0; count < MAX_PAIRS && sum < tokens; sum += lengths[count++].target) {
        int *sides[2] = { &lengths[count].source, &lengths[count].target };
        for (int i = 0; i < 2; i++) {
            x = x * 1103515245u + 12345u;
            *sides[i] = 9 + (int)(x >> 16) % 13; /* with the end token */
        }
    }
    /* as attend_train cuts a batch: shards of nearly equal size, and a multiple of four of them */
    const int shards = (tokens / SHARD_ROWS + 4) / 4 * 4;
    return step_batch_new(lengths, count, VOCABULARY, (count + shards - 1) / shards);
}

/* 4 million parameters. */
static attend_config config_of(void)
{
    attend_config config = ATTEND_CONFIG_INIT;
    config.source_vocab = config.target_vocab = VOCABULARY;
    config.hidden = 256, config.embedding = 192, config.dropout = 0.1;
    return config;
}

typedef struct rank_step {
    rank_group *group;
    int rank;
    const attend_config *config;
    const step_batch *batch;
    attend_ranks *ranks;
    stepper steps;
} rank_step;

static void *begin(void *user)
{
    rank_step *r = user;
    r->ranks = attend_rank_group_join(r->group, r->rank);
    r->steps = stepper_on_ranks(r->config, r->batch, 1, 1, r->ranks);
    return NULL;
}

static void *step(void *user)
{
    stepper_run(&((rank_step *)user)->steps);
    return NULL;
}

static void on_all(rank_step *all, void *(*run)(void *user))
{
    pthread_t ids[RANKS];
    for (int i = 1; i < RANKS; i++) bench_require(pthread_create(&ids[i], NULL, run, &all[i]));
    run(&all[0]);
    for (int i = 1; i < RANKS; i++) pthread_join(ids[i], NULL);
}

static void run_ranks(void *user)
{
    on_all(user, step);
}

static void measure(bench *b, int tokens, double gigabits, int threads, double goal)
{
    const attend_config config = config_of();
    step_batch batch = batch_of(tokens);
    stepper alone = stepper_on_threads(&config, &batch, 1, threads);
    rank_step all[RANKS];
    rank_group *group = attend_rank_group_new(RANKS, 60);
    for (int i = 0; i < RANKS; i++)
        all[i] = (rank_step){ .group = group, .rank = i, .config = &config, .batch = &batch };
    on_all(all, begin);
    if (gigabits > 0) attend_rank_group_throttle(group, gigabits * 1e9 / 8, 50e-6);
    const work works[] = { { stepper_run, &alone }, { run_ranks, all } };
    double seconds[2];
    bench_measure(b, 2, works, seconds);
    result r = { .group = "training step on two ranks of one thread", .goal = goal };
    char network[32] = "by memory";
    if (gigabits > 0) snprintf(network, sizeof network, "at %.0f Gbit/s", gigabits);
    snprintf(r.name, sizeof r.name, "RNNsearch 256, %.1f M parameters, %d tokens, %s",
             1e-6 * (double)attend_params_size(attend_model_params(alone.m)), tokens, network);
    snprintf(r.measured, sizeof r.measured, "%.1f ms", 1e3 * seconds[1]);
    snprintf(r.reference, sizeof r.reference, "%.1f ms, %d thread%s", 1e3 * seconds[0], threads,
             threads == 1 ? "" : "s");
    r.ratio = seconds[0] / seconds[1];
    bench_report(b, &r);
    for (int i = 0; i < RANKS; i++) {
        stepper_free(&all[i].steps);
        attend_ranks_leave(all[i].ranks);
    }
    attend_rank_group_free(group);
    stepper_free(&alone);
    step_batch_free(&batch);
}

/* ---- a model of the time of an update ----
 *
 *     seconds = a cpu / ranks + b bytes / bandwidth + c latency
 *
 * cpu: CPU seconds, which are in proportion to the tokens; bytes: what a rank sends, by the formula of docs/cluster.md. Without
 * other losses a and b are 1, and c is the number of exchanges. On a machine that other programs use, a is larger. */

enum { POINTS = 9, TERMS = 3, STEPS = 3 };

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One point: the fastest of some steps. *per_token: CPU seconds. */
static double step_seconds(const attend_config *config, int tokens, double gigabits, double latency,
                           double terms[TERMS], double *per_token)
{
    step_batch batch = batch_of(tokens);
    rank_step all[RANKS];
    rank_group *group = attend_rank_group_new(RANKS, 60);
    for (int i = 0; i < RANKS; i++)
        all[i] = (rank_step){ .group = group, .rank = i, .config = config, .batch = &batch };
    on_all(all, begin);
    attend_rank_group_throttle(group, gigabits * 1e9 / 8, latency);
    double best = 1e9, cpu = 1e9;
    for (int i = 0; i < STEPS; i++) {
        const double start = bench_now(), start_cpu = cpu_now();
        on_all(all, step);
        const double seconds = bench_now() - start, used = cpu_now() - start_cpu;
        if (seconds < best) best = seconds;
        if (used < cpu) cpu = used;
    }
    const double parameters = (double)attend_params_size(attend_model_params(all[0].steps.m));
    *per_token = cpu / (batch.sources + batch.rows);
    terms[0] = cpu / RANKS;
    terms[1] = 8.0 * (RANKS - 1) / RANKS * parameters / (gigabits * 1e9 / 8);
    terms[2] = latency;
    for (int i = 0; i < RANKS; i++) {
        stepper_free(&all[i].steps);
        attend_ranks_leave(all[i].ranks);
    }
    attend_rank_group_free(group);
    step_batch_free(&batch);
    return best;
}

/* Least squares of the relative errors, by the normal equations. */
static void fit(double terms[POINTS][TERMS], const double seconds[POINTS], double x[TERMS])
{
    double m[TERMS][TERMS + 1] = { { 0 } };
    for (int p = 0; p < POINTS; p++)
        for (int i = 0; i < TERMS; i++) {
            for (int k = 0; k < TERMS; k++) m[i][k] += terms[p][i] * terms[p][k] / (seconds[p] * seconds[p]);
            m[i][TERMS] += terms[p][i] / seconds[p];
        }
    for (int i = 0; i < TERMS; i++)
        for (int k = 0; k < TERMS; k++) {
            const double factor = k == i ? 0 : m[k][i] / m[i][i];
            for (int j = 0; j <= TERMS; j++) m[k][j] -= factor * m[i][j];
        }
    for (int i = 0; i < TERMS; i++) x[i] = m[i][TERMS] / m[i][i];
}

void bench_rank_model(bench *b)
{
    static const struct {
        int tokens;
        double gigabits, latency;
    } points[POINTS] = { { 4000, 10, 5e-5 },  { 2000, 10, 5e-5 },  { 1000, 10, 5e-5 },  /* slow, so that the network */
                         { 200, 0.02, 5e-5 }, { 200, 0.04, 5e-5 }, { 200, 0.08, 5e-5 }, /* is not lost in the noise */
                         { 200, 10, 0.2 },    { 200, 10, 0.5 },    { 200, 0.04, 0.5 } };
    const attend_config config = config_of();
    double terms[POINTS][TERMS], seconds[POINTS], x[TERMS], worst = 0, per_token[POINTS];
    if (bench_quick(b)) return;
    for (int p = 0; p < POINTS; p++)
        seconds[p] =
            step_seconds(&config, points[p].tokens, points[p].gigabits, points[p].latency, terms[p], &per_token[p]);
    fit(terms, seconds, x);
    for (int p = 0; p < POINTS; p++) {
        double sum = 0;
        for (int i = 0; i < TERMS; i++) sum += x[i] * terms[p][i];
        result r = { .group = "seconds of an update on two ranks, and of the model fitted to them" };
        snprintf(r.name, sizeof r.name, "%d tokens, %.2f Gbit/s, latency %.2f ms", points[p].tokens, points[p].gigabits,
                 1e3 * points[p].latency);
        snprintf(r.measured, sizeof r.measured, "%.1f ms", 1e3 * seconds[p]);
        snprintf(r.reference, sizeof r.reference, "%.1f ms", 1e3 * sum);
        r.ratio = sum / seconds[p];
        bench_report(b, &r);
        if (fabs(r.ratio - 1) > worst) worst = fabs(r.ratio - 1);
    }
    result r = { .group = "seconds of an update on two ranks, and of the model fitted to them", .name = "the model" };
    snprintf(r.measured, sizeof r.measured, "%.4f CPU ms a token", 1e3 * per_token[0]);
    snprintf(r.reference, sizeof r.reference, "%.2f of the CPU time, %.2f of the bytes, %.1f latencies", x[0], x[1],
             x[2]);
    r.ratio = 1 + worst;
    bench_report(b, &r);
}

void bench_ranks(bench *b)
{
    measure(b, 4000, 10, 1, 1.9);
    if (bench_quick(b)) return;
    measure(b, 4000, 0, 2, 0.95);
    measure(b, 16000, 1, 1, 1.7);
}
