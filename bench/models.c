/* models.c: whole training steps (gradient, norm, clipping, Adam) of the models in docs/models.md, two threads, against PyTorch on two;
 * on sentences of one length and on the lengths of real batches; their memory; and how the cost grows with the length of sentences. */
#include "steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VOCABULARY = 10000, EMBEDDING = 256, HIDDEN = 512, BATCH = 64, WORDS = 25, SHARD = 16, MOST_BATCHES = 8 };

static step_batch even_batch(int pairs, int words)
{
    pair_lengths lengths[BATCH];
    for (int i = 0; i < pairs; i++) lengths[i] = (pair_lengths){ words, words };
    return step_batch_new(lengths, pairs, VOCABULARY, SHARD, 0);
}

/* Products of a training step of RNNsearch, forward and backward: three times those of the forward pass. */
static double rnnsearch_flop(double pairs, double source, double target)
{
    const double h = HIDDEN, e = EMBEDDING, v = VOCABULARY;
    const double encoder = 2 * source * 3 * h * (e + h), keys = source * 2 * h * h, query = target * h * h;
    const double attention = target * source * 4 * h; /* score and context */
    const double decoder = target * 3 * h * (e + 3 * h), readout = target * h * (3 * h + e), output = target * h * v;
    return 3 * 2 * pairs * (encoder + keys + query + attention + decoder + readout + output);
}

static const struct {
    const char *name, *task;
    double goal, ragged_goal;
} models[] = { { "RNNsearch (bi-GRU, additive)", "rnnsearch", 1.7, 2.2 },
               { "Luong dot LSTM", "luong", 1.4, 0 },
               { "Luong dot LSTM with input feeding", "luong-feeding", 1.6, 0 } };

static attend_config config_of(int i)
{
    attend_config config = ATTEND_CONFIG_INIT;
    config.hidden = HIDDEN, config.embedding = EMBEDDING, config.dropout = 0;
    config.source_vocab = config.target_vocab = VOCABULARY;
    if (i == 0) return config;
    config.cell = ATTEND_CELL_LSTM;
    config.attention = &attend_score_dot;
    config.context = ATTEND_CONTEXT_AFTER;
    config.readout = ATTEND_READOUT_PLAIN;
    config.input_feeding = i == 2;
    return config;
}

static void bench_even(bench *b)
{
    static const char group[] = "training step, 512, B 64, 25 words each way, V 10000";
    step_batch all = even_batch(BATCH, WORDS);
    for (int i = 0; i < 3; i++) {
        const attend_config config = config_of(i);
        stepper t = stepper_new(&config, &all, 1);
        char task[64];
        snprintf(task, sizeof task, "train %s", models[i].task);
        const double seconds =
            bench_against_peer(b, (work){ stepper_run, &t }, task, group, models[i].name, all.rows, models[i].goal);
        if (i == 0) steps_of_ceiling(b, group, models[i].name, rnnsearch_flop(BATCH, WORDS, WORDS), seconds, 0.8);
        stepper_free(&t);
    }
    step_batch_free(&all);
}

/* ---- real lengths ---- */

static const char ragged_group[] = "the same on batches of 64 real pairs (Multi30k en-de; PyTorch pads)";

enum { POOL = 40 * BATCH };

/* RNNsearch over some batches of these lengths. */
static void race_lengths(bench *b, const char *name, const pair_lengths *lengths, double goal)
{
    step_batch batches[MOST_BATCHES];
    double rows = 0;
    for (int i = 0; i < MOST_BATCHES; i++) { /* every fifth of the pool: sorted, that is short ones and long ones */
        batches[i] = step_batch_new(lengths + (5 * i + 2) * BATCH, BATCH, VOCABULARY, SHARD, 0);
        rows += batches[i].rows;
    }
    char path[] = "/tmp/attend_bench_XXXXXX", task[160];
    if (step_batches_write(path, batches, MOST_BATCHES)) {
        const attend_config config = config_of(0);
        stepper t = stepper_new(&config, batches, MOST_BATCHES);
        snprintf(task, sizeof task, "train %s %s", models[0].task, path);
        bench_against_peer(b, (work){ stepper_run, &t }, task, ragged_group, name, rows, goal);
        stepper_free(&t);
        unlink(path);
    }
    for (int i = 0; i < MOST_BATCHES; i++) step_batch_free(&batches[i]);
}

static void bench_ragged(bench *b)
{
    static pair_lengths lengths[POOL];
    if (bench_lengths(lengths, POOL) < POOL) {
        steps_no_data(b, ragged_group, "RNNsearch");
        return;
    }
    race_lengths(b, "RNNsearch, pairs as they come", lengths, models[0].ragged_goal);
    bench_sort_lengths(lengths, POOL);
    race_lengths(b, "RNNsearch, pairs sorted by length", lengths, 0);
}

/* ---- memory ---- */

void bench_training_peak(void)
{
    step_batch all = even_batch(BATCH, WORDS);
    const attend_config config = config_of(0);
    stepper t = stepper_new(&config, &all, 1);
    for (int i = 0; i < 3; i++) stepper_run(&t);
    printf("%.1f\n", bench_status_mib("VmHWM"));
    stepper_free(&t);
    step_batch_free(&all);
}

static void bench_memory(bench *b)
{
    const double ours = bench_quick(b) ? 0 : bench_peak_of("training");
    const double theirs = bench_peer(b) ? peer_seconds(bench_peer(b), "memory rnnsearch") : 0;
    result r = { .group = "peak memory of a process that trains",
                 .goal = 2,
                 .ratio = theirs > 0 && ours > 0 ? theirs / ours : NAN };
    snprintf(r.name, sizeof r.name, "RNNsearch, the same step");
    snprintf(r.measured, sizeof r.measured, "%.0f MiB", ours);
    if (theirs > 0)
        snprintf(r.against, sizeof r.against, "%.0f MiB, PyTorch %s", theirs, peer_version(bench_peer(b)));
    else
        snprintf(r.against, sizeof r.against, "PyTorch: none here");
    bench_report(b, &r);
}

/* ---- loading ---- */

typedef struct loader {
    const char *path;
    attend_load_options options;
    bool decode; /* and the first step of a source of 25 words */
    attend_ctx *c;
} loader;

static void run_load(void *state)
{
    loader *l = state;
    attend_model *m = NULL;
    bench_must(attend_model_load(&m, l->path, &l->options));
    if (l->decode) {
        int source[WORDS], length = WORDS, one = 1, zero = 0, begin = ATTEND_BEGIN;
        for (int i = 0; i < WORDS; i++) source[i] = ATTEND_FIRST_TOKEN + i;
        attend_decoding *d = NULL;
        bench_must(attend_decoding_new(&d, l->c, m, 1, source, &length));
        bench_must(attend_decoding_step(d, &one, &zero, &begin));
        attend_decoding_free(d);
    }
    attend_model_free(m);
}

static void bench_load(bench *b)
{
    static const struct {
        const char *name;
        bool skip, decode;
        double limit;
    } cases[] = { { "without the checksum", true, false, 0.050 },
                  { "with it", false, false, 0.150 },
                  { "without it, and the first word of a source of 25", true, true, 0 },
                  { "with it, and the first word", false, true, 0 } };
    char path[] = "/tmp/attend_bench_XXXXXX";
    int file = mkstemp(path);
    if (file < 0) return;
    close(file);
    const attend_config config = config_of(0);
    attend_model *m = NULL;
    bench_must(attend_model_new(&m, &config, 1));
    bench_must(attend_model_save(m, path));
    const double size = (double)attend_params_size(attend_model_params(m)) * 4e-6;
    attend_model_free(m);
    loader l = { .path = path };
    bench_must(attend_ctx_new(&l.c));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        l.options.skip_checksum = cases[i].skip, l.decode = cases[i].decode;
        double seconds;
        bench_race(b, 1, (const work[]){ { run_load, &l } }, &seconds);
        result r = { .group = "load that model, page cache warm, 1 thread",
                     .goal = cases[i].limit > 0 ? 1 : 0,
                     .ratio = cases[i].limit > 0 ? cases[i].limit / seconds : NAN };
        snprintf(r.name, sizeof r.name, "%.0f MB, every number looked at, %s", size, cases[i].name);
        snprintf(r.measured, sizeof r.measured, "%.1f ms", seconds * 1e3);
        if (cases[i].limit > 0) snprintf(r.against, sizeof r.against, "%.0f ms", cases[i].limit * 1e3);
        bench_report(b, &r);
    }
    attend_ctx_free(l.c);
    unlink(path);
}

/* ---- growth ---- */

/* Without attention a pair costs m + t steps; attention adds m t weights. */
static void bench_growth(bench *b)
{
    static const char group[] =
        "cost of a pair of n words each way: recurrent steps O(m + t), attention weights O(m t)";
    double first = 0;
    for (int n = 25; n <= (bench_quick(b) ? 25 : 400); n *= 2) {
        enum { PAIRS = 2 };
        step_batch all = even_batch(PAIRS, n);
        double seconds[2];
        attend_ctx *c = NULL;
        bench_must(attend_ctx_new(&c));
        for (int attention = 0; attention < 2; attention++) {
            attend_config config = ATTEND_CONFIG_INIT;
            if (!attention) config.attention = NULL;
            config.source_vocab = config.target_vocab = VOCABULARY;
            attend_model *m = NULL;
            bench_must(attend_model_new(&m, &config, 1));
            seconds[attention] = 0;
            for (int round = 0; round < 4; round++) {
                const double begin = bench_now();
                bench_must(attend_model_score(c, m, &all.pairs, NULL, NULL, ATTEND_ATTENTION_CROSS, NULL));
                const double s = bench_now() - begin;
                if (round == 1 || (round > 1 && s < seconds[attention])) seconds[attention] = s;
            }
            attend_model_free(m);
        }
        attend_ctx_free(c);
        step_batch_free(&all);
        if (first == 0) first = seconds[0];
        int stars = (int)(4 * log2(seconds[1] / first) + 2), dots = (int)(4 * log2(seconds[0] / first) + 2);
        result r = { .group = group, .ratio = seconds[1] / seconds[0] };
        snprintf(r.name, sizeof r.name, "n = %3d, weights %6d %-*.*s", n, n * n, 24, stars < 0 ? 0 : stars,
                 "************************");
        snprintf(r.measured, sizeof r.measured, "%.2f ms a pair", seconds[1] / PAIRS * 1e3);
        snprintf(r.against, sizeof r.against, "%.2f ms without %-*.*s", seconds[0] / PAIRS * 1e3, 20,
                 dots < 0 ? 0 : dots, "....................");
        bench_report(b, &r);
    }
}

void bench_models(bench *b)
{
    bench_even(b);
    if (!bench_quick(b)) bench_ragged(b);
    bench_memory(b);
    bench_load(b);
    bench_growth(b);
}
