/* transformer.c: a training step (gradient, norm, clipping, Adam) of a Transformer on 4,096 words of targets, two threads, against PyTorch on two and
 * against this machine's products: 256 wide, 4 heads, feed-forward 1024, 4 + 4 layers, vocabulary 10,000. */
#include "steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    VOCABULARY = 10000,
    WIDTH = 256,
    INNER = 1024,
    LAYERS = 4,
    WORDS = 25,
    TOKENS = 4096,      /* of a batch's targets */
    SHARD_TOKENS = 512, /* of what a thread does at a time */
    MOST_BATCHES = 8
};

/* Pairs from `lengths` on until there are TOKENS. */
static step_batch batch_new(const pair_lengths *lengths, int most)
{
    int count = 0;
    for (int tokens = 0; count < most && tokens < TOKENS; count++) tokens += lengths[count].target;
    return step_batch_new(lengths, count, VOCABULARY, 0, SHARD_TOKENS);
}

static stepper stepper_with(double dropout, const step_batch *batches, int count)
{
    attend_config config = ATTEND_CONFIG_INIT;
    config.architecture = ATTEND_ARCHITECTURE_TRANSFORMER;
    config.hidden = WIDTH, config.heads = 4, config.feed_forward_width = INNER, config.layers = LAYERS;
    config.dropout = config.attention_dropout = dropout;
    config.source_vocab = config.target_vocab = VOCABULARY;
    return stepper_new(&config, batches, count);
}

/* Words that look at each other, in all three ways: weights of one head and layer. */
static double weights_of(const step_batch *b)
{
    double weights = 0;
    for (int i = 0; i < b->pairs.count; i++) {
        const double source = b->source_lengths[i], target = b->target_lengths[i] + 1;
        weights += source * source + target * (target + 1) / 2 + source * target;
    }
    return weights;
}

/* Products of a step: three times those of the forward pass. */
static double flop(const step_batch *b)
{
    const double d = WIDTH, f = INNER, source = b->sources, target = b->rows;
    const double self = 4 * d * d, feed = 2 * d * f, cross = 2 * d * d;
    const double rows = source * (self + feed + cross) +
                        target * (self + cross + feed); /* cross: keys and values of a source, query and output */
    return 3 * 2 * (LAYERS * (rows + 2 * d * weights_of(b)) + target * d * VOCABULARY);
}

static const char group[] = "Transformer 256, 4 heads, 1024, 4 + 4 layers, V 10000: training step of 4096 words";

static void race(bench *b, const char *name, const step_batch *batches, int count, const char *task, double goal)
{
    double rows = 0, products = 0;
    for (int i = 0; i < count; i++) rows += batches[i].rows, products += flop(&batches[i]);
    stepper t = stepper_with(0, batches, count);
    const double seconds = bench_against_peer(b, (work){ stepper_run, &t }, task, group, name, rows, goal);
    stepper_free(&t);
    steps_of_ceiling(b, group, name, products, seconds, 0);
}

/* What dropout of 0.1 in all places costs. */
static void bench_dropout(bench *b, const step_batch *all)
{
    stepper without = stepper_with(0, all, 1), with = stepper_with(0.1, all, 1);
    double seconds[2];
    bench_race(b, 2, (const work[]){ { stepper_run, &without }, { stepper_run, &with } }, seconds);
    result r = { .group = group, .ratio = seconds[0] / seconds[1] };
    snprintf(r.name, sizeof r.name, "25 words each way, dropout 0.1 in all places");
    snprintf(r.measured, sizeof r.measured, "%.0f tokens/s", all->rows / seconds[1]);
    snprintf(r.against, sizeof r.against, "%.0f without", all->rows / seconds[0]);
    bench_report(b, &r);
    stepper_free(&without), stepper_free(&with);
}

static void bench_real(bench *b)
{
    enum { POOL = 3200 };
    static pair_lengths lengths[POOL];
    static step_batch batches[MOST_BATCHES];
    static const char name[] = "real lengths (Multi30k en-de), sorted";
    char path[] = "/tmp/attend_bench_XXXXXX", task[160];
    if (bench_lengths(lengths, POOL) < POOL) {
        steps_no_data(b, group, name);
        return;
    }
    int count = 0;
    bench_sort_lengths(lengths, POOL);
    for (int at = 0; count < MOST_BATCHES && at < POOL; at += batches[count++].pairs.count)
        batches[count] = batch_new(lengths + at, POOL - at);
    if (step_batches_write(path, batches, count)) {
        snprintf(task, sizeof task, "train-transformer %s", path);
        race(b, name, batches, count, task, 1.5);
        unlink(path);
    }
    for (int i = 0; i < count; i++) step_batch_free(&batches[i]);
}

void bench_transformer(bench *b)
{
    enum { PAIRS = (TOKENS + WORDS - 1) / WORDS };
    pair_lengths even[PAIRS];
    for (int i = 0; i < PAIRS; i++) even[i] = (pair_lengths){ WORDS, WORDS };
    step_batch all = batch_new(even, PAIRS);
    race(b, "25 words each way", &all, 1, "train-transformer", 1.5);
    if (!bench_quick(b)) bench_dropout(b, &all);
    step_batch_free(&all);
    if (!bench_quick(b)) bench_real(b);
}
