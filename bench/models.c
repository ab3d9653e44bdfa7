/* models.c: recurrent models of docs/models.md. Whole training steps (gradient, norm, clipping, Adam) compared with
 * PyTorch, both on two threads, on sentences of equal length and of real lengths; peak memory; loading; growth of the
 * cost with the length. */
#include "training_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VOCABULARY = 10000, EMBEDDING = 256, HIDDEN = 512, BATCH = 64, TOKENS = 25, SHARD = 16, MAX_BATCHES = 8 };

static step_batch equal_length_batch(int pairs, int tokens)
{
    pair_lengths lengths[BATCH];
    for (int i = 0; i < pairs; i++) lengths[i] = (pair_lengths){ tokens, tokens };
    return step_batch_new(lengths, pairs, VOCABULARY, SHARD);
}

/* Operations in the matrix products of a training step of RNNsearch: three times those of the forward pass. */
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
    step_goals goals;
} models[] = { { "RNNsearch (bi-GRU, additive)", "rnnsearch", { 1.7, 1.5, 2.5, 1.5 } },
               { "Luong dot LSTM", "luong", { 1.3, 1.2, 0, 0 } },
               { "Luong dot LSTM with input feeding", "luong-feeding", { 1.5, 1.5, 0, 0 } } };

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

static void bench_equal_lengths(bench *b)
{
    static const char group[] = "training step, 512, B 64, 25 source and 25 target tokens, V 10000";
    step_batch all = equal_length_batch(BATCH, TOKENS);
    for (int i = 0; i < 3; i++) {
        const attend_config config = config_of(i);
        stepper t = stepper_new(&config, &all, 1);
        char task[64];
        snprintf(task, sizeof task, "train %s -%s", models[i].task, steps_peer_precision());
        const double seconds = bench_compare_with_peer(b, (work){ stepper_run, &t }, task, group, models[i].name,
                                                       all.rows, steps_goal(models[i].goals));
        if (i == 0)
            report_share_of_ceiling(b, group, models[i].name, rnnsearch_flop(BATCH, TOKENS, TOKENS), seconds,
                                    steps_goal((step_goals){ .fp32 = 0.8, .amx_fp32 = 0.8 }));
        stepper_free(&t);
    }
    step_batch_free(&all);
}

/* ---- real lengths ---- */

static const char ragged_group[] = "training step on batches of 64 real pairs (Multi30k en-de; PyTorch pads)";

enum { POOL = 40 * BATCH };

/* RNNsearch on several batches of these lengths. */
static void compare_lengths(bench *b, const char *name, const pair_lengths *lengths, double goal)
{
    step_batch batches[MAX_BATCHES];
    double rows = 0;
    for (int i = 0; i < MAX_BATCHES; i++) { /* every fifth batch of the pool: if sorted, both short and long ones */
        batches[i] = step_batch_new(lengths + (5 * i + 2) * BATCH, BATCH, VOCABULARY, SHARD);
        rows += batches[i].rows;
    }
    char path[] = "/tmp/attend_bench_XXXXXX", task[160];
    if (step_batches_write(path, batches, MAX_BATCHES)) {
        const attend_config config = config_of(0);
        stepper t = stepper_new(&config, batches, MAX_BATCHES);
        snprintf(task, sizeof task, "train %s %s%s", models[0].task, path, steps_peer_precision());
        bench_compare_with_peer(b, (work){ stepper_run, &t }, task, ragged_group, name, rows, goal);
        stepper_free(&t);
        unlink(path);
    }
    for (int i = 0; i < MAX_BATCHES; i++) step_batch_free(&batches[i]);
}

static void bench_real_lengths(bench *b)
{
    static pair_lengths lengths[POOL];
    if (bench_sentence_lengths(lengths, POOL) < POOL) {
        report_missing_data(b, ragged_group, "RNNsearch");
        return;
    }
    compare_lengths(b, "RNNsearch, pairs in corpus order", lengths,
                    steps_goal((step_goals){ .fp32 = 2.2, .amx_fp32 = 2.2 }));
    bench_sort_sentence_lengths(lengths, POOL);
    compare_lengths(b, "RNNsearch, pairs sorted by length", lengths, 0);
}

/* ---- memory ---- */

void bench_print_training_peak(void)
{
    step_batch all = equal_length_batch(BATCH, TOKENS);
    const attend_config config = config_of(0);
    stepper t = stepper_new(&config, &all, 1);
    for (int i = 0; i < 3; i++) stepper_run(&t);
    printf("%.1f\n", bench_status_mib("VmHWM"));
    stepper_free(&t);
    step_batch_free(&all);
}

static void bench_memory(bench *b)
{
    const double ours = bench_quick(b) ? 0 : bench_peak_memory("training");
    const double theirs = bench_peer(b) ? peer_seconds(bench_peer(b), "memory rnnsearch") : 0;
    result r = { .group = "peak memory of a training process",
                 .goal = 2,
                 .ratio = theirs > 0 && ours > 0 ? theirs / ours : NAN };
    snprintf(r.name, sizeof r.name, "RNNsearch, the training step above");
    snprintf(r.measured, sizeof r.measured, "%.0f MiB", ours);
    if (theirs > 0)
        snprintf(r.reference, sizeof r.reference, "%.0f MiB, PyTorch %s", theirs, peer_version(bench_peer(b)));
    else
        snprintf(r.reference, sizeof r.reference, "PyTorch: not available");
    bench_report(b, &r);
}

/* ---- loading ---- */

typedef struct loader {
    const char *path;
    attend_load_options options;
    bool decode; /* also run the first decoding step of a source of 25 tokens */
    attend_ctx *c;
} loader;

static void run_load(void *state)
{
    loader *l = state;
    attend_model *m = NULL;
    bench_require(attend_model_load(&m, l->path, &l->options));
    if (l->decode) {
        int source[TOKENS], length = TOKENS, one = 1, zero = 0, begin = ATTEND_BEGIN;
        for (int i = 0; i < TOKENS; i++) source[i] = ATTEND_FIRST_TOKEN + i;
        attend_decoding *d = NULL;
        bench_require(attend_decoding_new(&d, l->c, m, 1, source, &length));
        bench_require(attend_decoding_step(d, &one, &zero, &begin));
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
    } cases[] = { { "without checksum", true, false, 0.050 },
                  { "with checksum", false, false, 0.150 },
                  { "without checksum, plus a first decoding step", true, true, 0 },
                  { "with checksum, plus a first decoding step", false, true, 0 } };
    char path[] = "/tmp/attend_bench_XXXXXX";
    int file = mkstemp(path);
    if (file < 0) return;
    close(file);
    const attend_config config = config_of(0);
    attend_model *m = NULL;
    bench_require(attend_model_new(&m, &config, 1));
    bench_require(attend_model_save(m, path));
    const double size = (double)attend_params_size(attend_model_params(m)) * 4e-6;
    attend_model_free(m);
    loader l = { .path = path };
    bench_require(attend_ctx_new(&l.c));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        l.options.skip_checksum = cases[i].skip, l.decode = cases[i].decode;
        double seconds;
        bench_measure(b, 1, (const work[]){ { run_load, &l } }, &seconds);
        result r = { .group = "load RNNsearch 512 and validate it, page cache warm",
                     .goal = cases[i].limit > 0 ? 1 : 0,
                     .ratio = cases[i].limit > 0 ? cases[i].limit / seconds : NAN };
        snprintf(r.name, sizeof r.name, "%.0f MB, %s", size, cases[i].name);
        snprintf(r.measured, sizeof r.measured, "%.1f ms", seconds * 1e3);
        if (cases[i].limit > 0) snprintf(r.reference, sizeof r.reference, "%.0f ms", cases[i].limit * 1e3);
        bench_report(b, &r);
    }
    attend_ctx_free(l.c);
    unlink(path);
}

/* ---- growth ---- */

/* Without attention a pair of m source and t target tokens costs m + t steps; attention adds m t weights. */
static void bench_growth(bench *b)
{
    static const char group[] =
        "cost of a pair of n source and n target tokens: recurrent steps O(n), attention weights O(n^2)";
    double first = 0;
    for (int n = 25; n <= (bench_quick(b) ? 25 : 400); n *= 2) {
        enum { PAIRS = 2 };
        step_batch all = equal_length_batch(PAIRS, n);
        double seconds[2];
        attend_ctx *c = NULL;
        bench_require(attend_ctx_new(&c));
        for (int attention = 0; attention < 2; attention++) {
            attend_config config = ATTEND_CONFIG_INIT;
            if (!attention) config.attention = NULL;
            config.source_vocab = config.target_vocab = VOCABULARY;
            attend_model *m = NULL;
            bench_require(attend_model_new(&m, &config, 1));
            seconds[attention] = 0;
            for (int round = 0; round < 4; round++) {
                const double begin = bench_now();
                bench_require(attend_model_score(c, m, &all.pairs, NULL, NULL, ATTEND_ATTENTION_CROSS, NULL));
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
        snprintf(r.measured, sizeof r.measured, "%.2f ms per pair", seconds[1] / PAIRS * 1e3);
        snprintf(r.reference, sizeof r.reference, "%.2f ms without %-*.*s", seconds[0] / PAIRS * 1e3, 20,
                 dots < 0 ? 0 : dots, "....................");
        bench_report(b, &r);
    }
}

void bench_models(bench *b)
{
    bench_equal_lengths(b);
    if (!bench_brief(b)) bench_real_lengths(b);
    if (bench_brief(b) && !bench_quick(b)) return;
    bench_memory(b);
    bench_load(b);
    bench_growth(b);
}
