/* threads.c: training steps on several threads compared with one: batches of the default size, which have two or four
 * shards, and of 8,000 tokens, which have twelve. */
#include "training_steps.h"

#include <attend/processors.h>
#include <stdio.h>

enum { VOCABULARY = 6000, MAX_PAIRS = 400, MAX_COUNTS = 8 };

/* Pairs of 8 to 20 tokens on each side, in the order of a linear congruential generator. */
static step_batch batch_of(int tokens)
{
    pair_lengths lengths[MAX_PAIRS];
    unsigned x = 1;
    int count = 0;
    for (int sum = 0; count < MAX_PAIRS; count++) {
        int *sides[2] = { &lengths[count].source, &lengths[count].target };
        for (int i = 0; i < 2; i++) {
            x = x * 1103515245u + 12345u;
            *sides[i] = 9 + (int)(x >> 16) % 13; /* with the end token */
        }
        sum += lengths[count].source + lengths[count].target - 1;
        if (sum > tokens) break;
    }
    return step_batch_new(lengths, count, VOCABULARY, 0);
}

static attend_config config_of(bool transformer)
{
    attend_config config = ATTEND_CONFIG_INIT;
    config.source_vocab = config.target_vocab = VOCABULARY;
    config.hidden = 384, config.embedding = 256, config.dropout = 0.3;
    if (!transformer) return config;
    bench_require(attend_config_set(&config, "architecture", "transformer"));
    config.hidden = 256, config.embedding = 0, config.layers = 4, config.heads = 4, config.feed_forward_width = 1024;
    config.dropout = 0.1;
    return config;
}

/* 1, 2, 4, ... and all cores. */
static int thread_counts(int *counts)
{
    const int cores = attend_processors_threads();
    int n = 0;
    for (int threads = 1; threads < cores && n + 1 < MAX_COUNTS; threads *= 2) counts[n++] = threads;
    counts[n++] = cores;
    return n;
}

static double goal_of(int threads, int tokens)
{
    const double goal = threads == 2 ? 1.9 : threads != 16 ? 0 : tokens >= 8000 ? 11 : 7;
    return steps_goal((step_goals){ .fp32 = goal, .amx_fp32 = goal });
}

static void measure(bench *b, bool transformer, int tokens)
{
    const attend_config config = config_of(transformer);
    step_batch batch = batch_of(tokens);
    int counts[MAX_COUNTS];
    const int n = thread_counts(counts);
    stepper steppers[MAX_COUNTS];
    work works[MAX_COUNTS];
    double seconds[MAX_COUNTS];
    for (int i = 0; i < n; i++) {
        steppers[i] = stepper_on_threads(&config, &batch, 1, counts[i]);
        works[i] = (work){ stepper_run, &steppers[i] };
    }
    bench_measure(b, n, works, seconds);
    for (int i = 1; i < n; i++) {
        result r = { .group = "training step on several threads", .goal = goal_of(counts[i], tokens) };
        snprintf(r.name, sizeof r.name, "%s, %d tokens, %d shards, %d threads",
                 transformer ? "Transformer 256, 4 + 4 layers" : "RNNsearch 384", tokens, batch.shards, counts[i]);
        snprintf(r.measured, sizeof r.measured, "%.1f ms", 1e3 * seconds[i]);
        snprintf(r.reference, sizeof r.reference, "%.1f ms, 1 thread", 1e3 * seconds[0]);
        r.ratio = seconds[0] / seconds[i];
        bench_report(b, &r);
    }
    for (int i = 0; i < n; i++) stepper_free(&steppers[i]);
    step_batch_free(&batch);
}

void bench_threads(bench *b)
{
    measure(b, false, 1500);
    if (bench_quick(b)) return;
    measure(b, true, 2000);
    for (int transformer = 0; transformer < 2; transformer++) measure(b, transformer, 8000);
}
