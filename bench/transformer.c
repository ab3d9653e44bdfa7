/* transformer.c: a training step (gradient, norm, clipping, Adam) of a Transformer on 4,096 target tokens, compared
 * with PyTorch, both on two threads, and with the peak of the processor: width 256, 4 heads, feed-forward 1024, 4 + 4 layers,
 * vocabulary 10,000. */
#include "training_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    VOCABULARY = 10000,
    WIDTH = 256,
    INNER = 1024,
    LAYERS = 4,
    LENGTH = 25,
    TOKENS = 4096, /* target tokens of a batch */
    MAX_BATCHES = 8
};

/* The first pairs of `lengths` with at least TOKENS target tokens. */
static step_batch batch_new(const pair_lengths *lengths, int max_count)
{
    int count = 0;
    for (int tokens = 0; count < max_count && tokens < TOKENS; count++) tokens += lengths[count].target;
    return step_batch_new(lengths, count, VOCABULARY, 0);
}

static attend_config config_with(double dropout)
{
    attend_config config = ATTEND_CONFIG_INIT;
    config.architecture = ATTEND_ARCHITECTURE_TRANSFORMER;
    config.hidden = WIDTH, config.heads = 4, config.feed_forward_width = INNER, config.layers = LAYERS;
    config.dropout = config.attention_dropout = dropout;
    config.source_vocab = config.target_vocab = VOCABULARY;
    return config;
}

/* Attention weights of one head and layer: encoder self, decoder self and cross attention. */
static double weights_of(const step_batch *b)
{
    double weights = 0;
    for (int i = 0; i < b->pairs.count; i++) {
        const double source = b->source_lengths[i], target = b->target_lengths[i] + 1;
        weights += source * source + target * (target + 1) / 2 + source * target;
    }
    return weights;
}

/* Operations in the matrix products of a step: three times those of the forward pass. */
static double flop(const step_batch *b)
{
    const double d = WIDTH, f = INNER, source = b->sources, target = b->rows;
    const double self = 4 * d * d, feed = 2 * d * f, cross = 2 * d * d;
    const double rows =
        source * (self + feed + cross) +
        target * (self + cross + feed); /* cross: keys and values of the source, queries and outputs of the target */
    return 3 * 2 * (LAYERS * (rows + 2 * d * weights_of(b)) + target * d * VOCABULARY);
}

static const char group[] = "Transformer 256, 4 heads, 1024, 4 + 4 layers, V 10000: training step of 4096 tokens";

static void compare(bench *b, const char *name, const step_batch *batches, int count, const char *task, double goal)
{
    double rows = 0, products = 0;
    for (int i = 0; i < count; i++) rows += batches[i].rows, products += flop(&batches[i]);
    const attend_config config = config_with(0);
    stepper t = stepper_new(&config, batches, count);
    const double seconds = bench_compare_with_peer(b, (work){ stepper_run, &t }, task, group, name, rows, goal);
    stepper_free(&t);
    report_share_of_ceiling(b, group, name, products, seconds, 0);
}

/* The cost of dropout 0.1 in all layers. */
static void bench_dropout(bench *b, const step_batch *all)
{
    const attend_config no_dropout = config_with(0), dropout = config_with(0.1);
    stepper without = stepper_new(&no_dropout, all, 1), with = stepper_new(&dropout, all, 1);
    double seconds[2];
    bench_measure(b, 2, (const work[]){ { stepper_run, &without }, { stepper_run, &with } }, seconds);
    result r = { .group = group, .ratio = seconds[0] / seconds[1] };
    snprintf(r.name, sizeof r.name, "25 source and 25 target tokens, dropout 0.1");
    snprintf(r.measured, sizeof r.measured, "%.0f tokens/s", all->rows / seconds[1]);
    snprintf(r.reference, sizeof r.reference, "%.0f without", all->rows / seconds[0]);
    bench_report(b, &r);
    stepper_free(&without), stepper_free(&with);
}

static void bench_real_lengths(bench *b)
{
    enum { POOL = 3200 };
    static pair_lengths lengths[POOL];
    static step_batch batches[MAX_BATCHES];
    static const char name[] = "real lengths (Multi30k en-de), sorted";
    char path[] = "/tmp/attend_bench_XXXXXX", task[160];
    if (bench_sentence_lengths(lengths, POOL) < POOL) {
        report_missing_data(b, group, name);
        return;
    }
    int count = 0;
    bench_sort_sentence_lengths(lengths, POOL);
    for (int at = 0; count < MAX_BATCHES && at < POOL; at += batches[count++].pairs.count)
        batches[count] = batch_new(lengths + at, POOL - at);
    if (step_batches_write(path, batches, count)) {
        snprintf(task, sizeof task, "train-transformer %s%s", path, steps_peer_precision());
        compare(b, name, batches, count, task,
                steps_goal((step_goals){ .fp32 = 1.8, .amx_fp32 = 1.7, .amx_bf16x3 = 2.2 }));
        unlink(path);
    }
    for (int i = 0; i < count; i++) step_batch_free(&batches[i]);
}

void bench_transformer(bench *b)
{
    enum { PAIRS = (TOKENS + LENGTH - 1) / LENGTH };
    pair_lengths lengths[PAIRS];
    for (int i = 0; i < PAIRS; i++) lengths[i] = (pair_lengths){ LENGTH, LENGTH };
    step_batch all = batch_new(lengths, PAIRS);
    char task[64];
    snprintf(task, sizeof task, "train-transformer -%s", steps_peer_precision());
    compare(b, "25 source and 25 target tokens", &all, 1, task,
            steps_goal((step_goals){ .fp32 = 1.35, .amx_fp32 = 1.25, .amx_bf16x3 = 2.2 }));
    if (!bench_brief(b)) bench_dropout(b, &all);
    step_batch_free(&all);
    if (!bench_brief(b)) bench_real_lengths(b);
}
