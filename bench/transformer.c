/* transformer.c: a training step (gradient, norm, clipping, Adam) of a Transformer on 4,096 words of targets, two threads, against PyTorch on two and
 * against this machine's products: 256 wide, 4 heads, feed-forward 1024, 4 + 4 layers, vocabulary 10,000. */
#include "bench.h"

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
    MOST_PAIRS = 2048,
    MOST_SHARDS = 64,
    MOST_BATCHES = 8
};

typedef struct batch {
    int source_lengths[MOST_PAIRS], target_lengths[MOST_PAIRS];
    int *words;
    attend_pairs pairs;
    int sources, rows, shards, first[MOST_SHARDS + 1]; /* first: pair of each shard */
    double weights; /* of one head and layer: pairs of words that look at each other, in all three ways */
} batch;

/* Pairs from `lengths` on until there are TOKENS; returns how many. */
static int batch_new(batch *b, const pair_lengths *lengths, int most)
{
    int count = 0, sources = 0, tokens = 0;
    *b = (batch){ .shards = 0 };
    for (; count < most && count < MOST_PAIRS && tokens < TOKENS; count++) {
        const pair_lengths l = lengths[count];
        if (tokens >= b->shards * SHARD_TOKENS && b->shards < MOST_SHARDS) b->first[b->shards++] = count;
        b->source_lengths[count] = l.source, b->target_lengths[count] = l.target - 1;
        sources += l.source, tokens += l.target;
        b->weights += (double)l.source * l.source + (double)l.target * (l.target + 1) / 2 + (double)l.source * l.target;
    }
    b->first[b->shards] = count;
    b->sources = sources, b->rows = tokens;
    b->words = malloc((size_t)(sources + tokens + 1) * sizeof *b->words);
    if (!b->words) exit(1);
    bench_words(b->words, sources + tokens, VOCABULARY);
    b->pairs = (attend_pairs){ .count = count,
                               .source = b->words,
                               .source_lengths = b->source_lengths,
                               .target = b->words + sources,
                               .target_lengths = b->target_lengths };
    return count;
}

typedef struct trainer {
    attend_model *m;
    attend_team *team;
    attend_optimizer *adam;
    uint64_t update;
    const batch *batches, *now;
    int count;
} trainer;

static attend_var *shard_loss(attend_ctx *c, int shard, void *user)
{
    const trainer *t = user;
    const int *first = t->now->first + shard;
    const attend_pairs part = attend_pairs_part(&t->now->pairs, first[0], first[1] - first[0]);
    attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
    options.scale = 1.0 / t->now->rows;
    return attend_model_loss(c, t->m, &part, &options);
}

static void run_steps(void *state)
{
    trainer *t = state;
    for (int i = 0; i < t->count; i++) {
        double loss;
        t->now = &t->batches[i];
        bench_must(attend_team_gradient(t->team, t->now->shards, shard_loss, t, 1, t->update++, &loss));
        bench_must(attend_optimizer_step(t->adam, 1e-3, 1, NULL));
    }
}

static trainer trainer_new(const batch *batches, int count, double dropout)
{
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    attend_config config = ATTEND_CONFIG_INIT;
    trainer t = { .batches = batches, .count = count };
    config.architecture = ATTEND_ARCHITECTURE_TRANSFORMER;
    config.hidden = WIDTH, config.heads = 4, config.feed_forward_width = INNER, config.layers = LAYERS;
    config.dropout = config.attention_dropout = dropout;
    config.source_vocab = config.target_vocab = VOCABULARY;
    bench_must(attend_model_new(&t.m, &config, 1));
    bench_must(attend_team_new(&t.team, attend_model_params(t.m), 2));
    bench_must(attend_optimizer_new(&t.adam, t.team, &options));
    return t;
}

static void trainer_free(trainer *t)
{
    attend_optimizer_free(t->adam);
    attend_team_free(t->team);
    attend_model_free(t->m);
}

/* Products of a step: three times those of the forward pass. */
static double flop(const batch *b)
{
    const double d = WIDTH, f = INNER, source = b->sources, target = b->rows;
    const double self = 4 * d * d, feed = 2 * d * f, cross = 2 * d * d;
    const double rows = source * (self + feed + cross) +
                        target * (self + cross + feed); /* cross: keys and values of a source, query and output */
    return 3 * 2 * (LAYERS * (rows + 2 * d * b->weights) + target * d * VOCABULARY);
}

static const char group[] = "Transformer 256, 4 heads, 1024, 4 + 4 layers, V 10000: training step of 4096 words";

static void race(bench *b, const char *name, const batch *batches, int count, const char *task, double goal)
{
    double rows = 0, products = 0;
    for (int i = 0; i < count; i++) rows += batches[i].rows, products += flop(&batches[i]);
    trainer t = trainer_new(batches, count, 0);
    const double seconds = bench_against_peer(b, (work){ run_steps, &t }, task, group, name, rows, goal);
    trainer_free(&t);
    const double speed = products / seconds * 1e-9, ceiling = 2 * bench_ceiling(b);
    result r = { .group = group, .ratio = speed / ceiling };
    snprintf(r.name, sizeof r.name, "%s, of the ceiling", name);
    snprintf(r.measured, sizeof r.measured, "%.0f GFLOP/s", speed);
    snprintf(r.against, sizeof r.against, "%.0f, twice the best sgemm", ceiling);
    bench_report(b, &r);
}

/* What dropout of 0.1 in all places costs. */
static void bench_dropout(bench *b, const batch *all)
{
    trainer without = trainer_new(all, 1, 0), with = trainer_new(all, 1, 0.1);
    double seconds[2];
    bench_race(b, 2, (const work[]){ { run_steps, &without }, { run_steps, &with } }, seconds);
    result r = { .group = group, .ratio = seconds[0] / seconds[1] };
    snprintf(r.name, sizeof r.name, "25 words each way, dropout 0.1 in all places");
    snprintf(r.measured, sizeof r.measured, "%.0f tokens/s", all->rows / seconds[1]);
    snprintf(r.against, sizeof r.against, "%.0f without", all->rows / seconds[0]);
    bench_report(b, &r);
    trainer_free(&without), trainer_free(&with);
}

static void bench_real(bench *b)
{
    enum { POOL = 3200 };
    static pair_lengths lengths[POOL];
    static batch batches[MOST_BATCHES];
    char path[] = "/tmp/attend_bench_XXXXXX", task[160];
    const int file = mkstemp(path);
    FILE *f = file >= 0 ? fdopen(file, "w") : NULL;
    if (!f) return;
    if (bench_lengths(lengths, POOL) == POOL) {
        int count = 0;
        bench_sort_lengths(lengths, POOL);
        for (int at = 0; count < MOST_BATCHES && at < POOL; count++) {
            const int pairs = batch_new(&batches[count], lengths + at, POOL - at);
            for (int i = at; i < at + pairs; i++) fprintf(f, "%d:%d ", lengths[i].source, lengths[i].target);
            fprintf(f, "\n");
            at += pairs;
        }
        fclose(f);
        snprintf(task, sizeof task, "train-transformer %s", path);
        race(b, "real lengths (Multi30k en-de), sorted", batches, count, task, 1.5);
        for (int i = 0; i < count; i++) free(batches[i].words);
    } else {
        fclose(f);
        result r = { .group = group, .ratio = NAN };
        snprintf(r.name, sizeof r.name, "real lengths");
        snprintf(r.measured, sizeof r.measured, "-");
        snprintf(r.against, sizeof r.against, "no data (ATTEND_DATA names the folder)");
        bench_report(b, &r);
    }
    unlink(path);
}

void bench_transformer(bench *b)
{
    enum { PAIRS = (TOKENS + WORDS - 1) / WORDS };
    static pair_lengths even[PAIRS];
    static batch all;
    for (int i = 0; i < PAIRS; i++) even[i] = (pair_lengths){ WORDS, WORDS };
    batch_new(&all, even, PAIRS);
    race(b, "25 words each way", &all, 1, "train-transformer", 1.5);
    if (!bench_quick(b)) bench_dropout(b, &all);
    free(all.words);
    if (!bench_quick(b)) bench_real(b);
}
