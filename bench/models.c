/* models.c: whole training steps (gradient, norm, clipping, Adam) of the models in docs/models.md, two threads, against PyTorch on two;
 * on sentences of one length and on the lengths of real batches; their memory; and how the cost grows with the length of sentences. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VOCABULARY = 10000, EMBEDDING = 256, HIDDEN = 512, BATCH = 64, WORDS = 25, SHARD = 16, MOST_BATCHES = 8 };

/* ---- batches ---- */

/* A batch; a target of t rows has t - 1 words and the end. */
typedef struct batch {
    int source_lengths[BATCH], target_lengths[BATCH];
    int *words;
    attend_pairs pairs;
    int rows;
} batch;

static void batch_fill(batch *b)
{
    int sources = 0, targets = 0;
    for (int i = 0; i < BATCH; i++) sources += b->source_lengths[i], targets += b->target_lengths[i];
    b->words = malloc((size_t)(sources + targets + 1) * sizeof *b->words);
    if (!b->words) exit(1);
    bench_words(b->words, sources + targets, VOCABULARY);
    b->pairs = (attend_pairs){ .count = BATCH,
                               .source = b->words,
                               .source_lengths = b->source_lengths,
                               .target = b->words + sources,
                               .target_lengths = b->target_lengths };
    b->rows = attend_pairs_rows(&b->pairs);
}

/* ---- a trainer ---- */

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
    const attend_pairs part = attend_pairs_part(&t->now->pairs, shard * SHARD, SHARD);
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
        bench_must(attend_team_gradient(t->team, BATCH / SHARD, shard_loss, t, 1, t->update++, &loss));
        bench_must(attend_optimizer_step(t->adam, 1e-3, 1, NULL));
    }
}

static trainer trainer_new(attend_config config, const batch *batches, int count)
{
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    trainer t = { .batches = batches, .count = count };
    config.hidden = HIDDEN, config.embedding = EMBEDDING, config.dropout = 0;
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
    batch all;
    for (int i = 0; i < BATCH; i++) all.source_lengths[i] = WORDS, all.target_lengths[i] = WORDS - 1;
    batch_fill(&all);
    for (int i = 0; i < 3; i++) {
        trainer t = trainer_new(config_of(i), &all, 1);
        char task[64];
        snprintf(task, sizeof task, "train %s", models[i].task);
        const double seconds =
            bench_against_peer(b, (work){ run_steps, &t }, task, group, models[i].name, all.rows, models[i].goal);
        if (i == 0) {
            const double speed = rnnsearch_flop(BATCH, WORDS, WORDS) / seconds * 1e-9, ceiling = 2 * bench_ceiling(b);
            result r = { .group = group, .goal = 0.8, .ratio = speed / ceiling };
            snprintf(r.name, sizeof r.name, "%s, of the ceiling", models[i].name);
            snprintf(r.measured, sizeof r.measured, "%.0f GFLOP/s", speed);
            snprintf(r.against, sizeof r.against, "%.0f, twice the best sgemm", ceiling);
            bench_report(b, &r);
        }
        trainer_free(&t);
    }
    free(all.words);
}

/* ---- real lengths ---- */

static const char ragged_group[] = "the same on batches of 64 real pairs (Multi30k en-de; PyTorch pads)";

enum { POOL = 40 * BATCH };

/* RNNsearch over some batches of these lengths. */
static void race_lengths(bench *b, const char *name, const pair_lengths *lengths, double goal)
{
    static batch batches[MOST_BATCHES];
    char path[] = "/tmp/attend_bench_XXXXXX";
    int file = mkstemp(path);
    FILE *f = file >= 0 ? fdopen(file, "w") : NULL;
    if (!f) return;
    double rows = 0;
    for (int i = 0; i < MOST_BATCHES;
         i++) { /* every fifth batch of the pool: sorted, that is short ones and long ones */
        for (int j = 0; j < BATCH; j++) {
            const pair_lengths l = lengths[(5 * i + 2) * BATCH + j];
            batches[i].source_lengths[j] = l.source;
            batches[i].target_lengths[j] = l.target - 1;
            fprintf(f, "%d:%d ", l.source, l.target);
        }
        fprintf(f, "\n");
        batch_fill(&batches[i]);
        rows += batches[i].rows;
    }
    fclose(f);
    trainer t = trainer_new(config_of(0), batches, MOST_BATCHES);
    char task[160];
    snprintf(task, sizeof task, "train %s %s", models[0].task, path);
    bench_against_peer(b, (work){ run_steps, &t }, task, ragged_group, name, rows, goal);
    trainer_free(&t);
    unlink(path);
    for (int i = 0; i < MOST_BATCHES; i++) free(batches[i].words);
}

static void bench_ragged(bench *b)
{
    static pair_lengths lengths[POOL];
    if (bench_lengths(lengths, POOL) < POOL) {
        result r = { .group = ragged_group, .ratio = NAN };
        snprintf(r.name, sizeof r.name, "RNNsearch");
        snprintf(r.measured, sizeof r.measured, "-");
        snprintf(r.against, sizeof r.against, "no data (ATTEND_DATA names the folder)");
        bench_report(b, &r);
        return;
    }
    race_lengths(b, "RNNsearch, pairs as they come", lengths, models[0].ragged_goal);
    bench_sort_lengths(lengths, POOL);
    race_lengths(b, "RNNsearch, pairs sorted by length", lengths, 0);
}

/* ---- memory ---- */

void bench_training_peak(void)
{
    batch all;
    for (int i = 0; i < BATCH; i++) all.source_lengths[i] = WORDS, all.target_lengths[i] = WORDS - 1;
    batch_fill(&all);
    trainer t = trainer_new(config_of(0), &all, 1);
    for (int i = 0; i < 3; i++) run_steps(&t);
    printf("%.1f\n", bench_status_mib("VmHWM"));
    trainer_free(&t);
    free(all.words);
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
        for (int i = 0; i < WORDS; i++) source[i] = ATTEND_FIRST_WORD + i;
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
    attend_config config = config_of(0);
    config.hidden = HIDDEN, config.embedding = EMBEDDING, config.source_vocab = config.target_vocab = VOCABULARY;
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
        batch all = { .rows = 0 };
        for (int i = 0; i < PAIRS; i++) all.source_lengths[i] = n, all.target_lengths[i] = n - 1;
        batch_fill(&all);
        all.pairs.count = PAIRS;
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
                bench_must(attend_model_score(c, m, &all.pairs, NULL, NULL, ATTEND_LOOK_SOURCE, NULL));
                const double s = bench_now() - begin;
                if (round == 1 || (round > 1 && s < seconds[attention])) seconds[attention] = s;
            }
            attend_model_free(m);
        }
        attend_ctx_free(c);
        free(all.words);
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
