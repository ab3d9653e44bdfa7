/* decoding.c: RNNsearch and a Transformer with random weights, 25 source tokens and 25 steps, compared with PyTorch
 * and, for the Transformer, CTranslate2, all on two threads: 1 and 64 sentences; greedy search and a beam of 5; fp32, bf16 and int8 weights; a shortlist. */
#include "bench.h"

#include "core/pool.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VOCABULARY = 10000, EMBEDDING = 256, HIDDEN = 512, TOKENS = 25, MAX_SENTENCES = 64, THREADS = 2, MAX_PARTS = 4 };

typedef struct decoder {
    const attend_model *m;
    attend_search_options options;
    int count; /* sentences */
    int tokens[MAX_SENTENCES * TOKENS], lengths[MAX_SENTENCES];
    attend_ctx *one_sentence; /* for one sentence on both threads */
    attend_pool *pool;        /* for several sentences, in `parts` parts, each on one thread */
    int parts;
    attend_ctx *contexts[MAX_PARTS];
} decoder;

static void run_part(void *user, int i)
{
    decoder *d = user;
    const int part = d->count / d->parts;
    attend_search_result *found = NULL;
    bench_require(
        attend_search(&found, d->contexts[i], d->m, &d->options, part, d->tokens + i * part * TOKENS, d->lengths));
    attend_search_result_free(found);
}

static void run_search(void *state)
{
    decoder *d = state;
    if (d->count > 1) {
        attend_pool_run(d->pool, d->parts, run_part, d);
        return;
    }
    attend_search_result *found = NULL;
    bench_require(attend_search(&found, d->one_sentence, d->m, &d->options, 1, d->tokens, d->lengths));
    if (attend_search_result_at(found, 0, 0)->count != TOKENS - 1)
        fprintf(stderr, "bench: the search ended before step 25\n");
    attend_search_result_free(found);
}

/* A shortlist of about 900 tokens for a sentence of 25: 9 % of the vocabulary, as in the Multi30k recipe. */
static void attach_shortlist(attend_model *m)
{
    enum { PER_TOKEN = 38 };
    attend_shortlist *s = NULL;
    unsigned seed = 7;
    bench_require(attend_shortlist_new(&s, VOCABULARY, VOCABULARY));
    for (int i = 0; i < VOCABULARY; i++)
        for (int j = 0; j < PER_TOKEN; j++) {
            seed = seed * 1664525u + 1013904223u;
            bench_require(
                attend_shortlist_add(s, i, ATTEND_FIRST_TOKEN + (int)(seed >> 8) % (VOCABULARY - ATTEND_FIRST_TOKEN)));
        }
    bench_require(attend_shortlist_attach(s, m, 0, PER_TOKEN));
    attend_shortlist_free(s);
}

/* A model to decode with, and the task of the peer that it is compared with. */
typedef struct decoding_setup {
    const char *group, *task; /* task: its name in peers/torch_peer.py */
    attend_config config;
    bool ctranslate2; /* CTranslate2 has such a model too */
} decoding_setup;

static decoding_setup rnnsearch(void)
{
    decoding_setup x = { .group = "decoding, RNNsearch 512, V 10000, 25 tokens, 25 steps, 2 threads",
                         .task = "decode",
                         .config = ATTEND_CONFIG_INIT };
    x.config.hidden = HIDDEN, x.config.embedding = EMBEDDING;
    return x;
}

static decoding_setup transformer(void)
{
    decoding_setup x = { .group = "decoding, Transformer 256, 4 + 4 layers, V 10000, 25 tokens, 25 steps, 2 threads",
                         .task = "decode-transformer",
                         .config = ATTEND_CONFIG_INIT };
    x.config.architecture = ATTEND_ARCHITECTURE_TRANSFORMER;
    x.config.hidden = 256, x.config.heads = 4, x.config.feed_forward_width = 1024, x.config.layers = 4;
    x.ctranslate2 = true;
    return x;
}

static attend_model *model_new(const decoding_setup *x, attend_precision precision)
{
    attend_config config = x->config;
    config.dropout = 0;
    config.source_vocab = config.target_vocab = VOCABULARY;
    attend_model *m = NULL;
    bench_require(attend_model_new(&m, &config, 1));
    attend_param *bias = attend_params_find(attend_model_params(m), "output.b");
    attend_param_edit(bias)[ATTEND_END] = -1000; /* no hypothesis ends before step 25 */
    attend_param_changed(bias);
    bench_require(attend_model_quantize(m, precision));
    return m;
}

enum { VARIANTS = 4 }; /* three precisions, and int8 with a shortlist */

typedef struct search_case {
    const char *name;
    int batch, beam;
    double goals[VARIANTS];
} search_case;

static const char *const variants[VARIANTS] = { "fp32", "bf16", "int8", "int8, shortlist" };

static void keep_best(double *best, double seconds)
{
    if (seconds > 0 && (*best == 0 || seconds < *best)) *best = seconds;
}

static void report(bench *b, const decoding_setup *setup, const search_case *x, int variant, const char *against,
                   const peer *p, double ours, double theirs, double goal)
{
    result r = { .group = setup->group, .goal = goal, .ratio = theirs > 0 ? theirs / ours : NAN };
    snprintf(r.name, sizeof r.name, "%s, %s", x->name, variants[variant]);
    snprintf(r.measured, sizeof r.measured, "%.1f sentences/s", x->batch / ours);
    if (theirs > 0)
        snprintf(r.reference, sizeof r.reference, "%.1f, %s %s", x->batch / theirs, against, peer_version(p));
    else
        snprintf(r.reference, sizeof r.reference, "%s: not available", against);
    bench_report(b, &r);
}

/* Measures our variants, PyTorch and CTranslate2 alternately. Many sentences are decoded in batches of a half or a
 * quarter of them, whichever is faster, by attend as by CTranslate2. */
static void compare(bench *b, const decoding_setup *setup, const search_case *x, decoder *d,
                    attend_model *const *models)
{
    static const struct {
        int variant;
        const char *kind; /* its name in CTranslate2 */
    } same_precision[] = { { 0, "float32" }, { 2, "int8" } };
    double ours[VARIANTS] = { 0 }, torch = 0, ctranslate2[2] = { 0 };
    peer *const other = setup->ctranslate2 ? bench_ctranslate2(b) : NULL;
    char task[64];
    d->count = bench_quick(b) && x->batch > 4 ? 4 : x->batch;
    d->options.beam = x->beam;
    for (int round = 0; round < (bench_quick(b) ? 1 : 3); round++) {
        for (int p = 0; p < VARIANTS; p++) {
            double seconds;
            d->m = models[p < 3 ? p : 2];
            d->options.shortlist = p == 3;
            for (d->parts = THREADS; d->parts <= (d->count > 1 ? MAX_PARTS : THREADS); d->parts *= 2) {
                bench_measure(b, 1, (const work[]){ { run_search, d } }, &seconds);
                keep_best(&ours[p], seconds);
            }
        }
        snprintf(task, sizeof task, "%s %d %d", setup->task, x->batch, x->beam);
        if (bench_peer(b)) keep_best(&torch, peer_seconds(bench_peer(b), task));
        for (int i = 0; other && i < 2; i++) {
            snprintf(task, sizeof task, "%s %d %d %s", setup->task, x->batch, x->beam, same_precision[i].kind);
            keep_best(&ctranslate2[i], peer_seconds(other, task));
        }
    }
    for (int p = 0; p < VARIANTS; p++) report(b, setup, x, p, "PyTorch", bench_peer(b), ours[p], torch, x->goals[p]);
    for (int i = 0; setup->ctranslate2 && i < 2; i++)
        report(b, setup, x, same_precision[i].variant, "CTranslate2", other, ours[same_precision[i].variant],
               ctranslate2[i], bench_goal(1.5, 1.5));
}

/* ---- memory ---- */

static const char *const precision_names[] = { "fp32", "bf16", "int8" };

static void decoder_new(decoder *d)
{
    const attend_search_options options = ATTEND_SEARCH_OPTIONS_INIT;
    d->options = options;
    d->options.length_ratio = 0, d->options.length_extra = TOKENS - 1;
    bench_random_tokens(d->tokens, MAX_SENTENCES * TOKENS, VOCABULARY);
    for (int i = 0; i < MAX_SENTENCES; i++) d->lengths[i] = TOKENS;
    bench_require(attend_pool_new(&d->pool, THREADS));
    d->parts = THREADS;
    for (int i = 0; i < MAX_PARTS; i++) bench_require(attend_ctx_new(&d->contexts[i]));
}

static void decoder_free(decoder *d)
{
    attend_ctx_free(d->one_sentence);
    for (int i = 0; i < MAX_PARTS; i++) attend_ctx_free(d->contexts[i]);
    attend_pool_free(d->pool);
}

/* Prints the peak memory, in MiB, of loading a model and decoding with it, minus the size of its file. */
void bench_print_decoding_peak(const char *what)
{
    static decoder d;
    int precision = 0;
    while (precision < 2 && strcmp(precision_names[precision], what) != 0) precision++;
    char path[] = "/tmp/attend_bench_XXXXXX";
    const int file = mkstemp(path);
    if (file < 0) return;
    attend_model *m = NULL;
    const pid_t child = fork(); /* a child process creates the model, so that its memory is not measured */
    if (child == 0) {
        const decoding_setup x = rnnsearch();
        m = model_new(&x, (attend_precision)precision);
        _exit(attend_model_save(m, path));
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return;
    struct stat at;
    const double size = stat(path, &at) == 0 ? (double)at.st_size / (1 << 20) : 0;
    bench_require(attend_model_load(&m, path, NULL));
    unlink(path);
    decoder_new(&d);
    d.m = m, d.count = MAX_SENTENCES, d.options.beam = 5;
    run_search(&d);
    printf("%.1f\n", bench_status_mib("VmHWM") - size);
    decoder_free(&d);
    attend_model_free(m);
    close(file);
}

static void bench_memory(bench *b)
{
    for (int p = 0; p < 3 && !bench_quick(b); p++) {
        const double mib = bench_peak_memory(precision_names[p]);
        result r = { .group = "peak memory of decoding 64 sentences with a beam of 5, minus the model file",
                     .goal = 1,
                     .ratio = mib > 0 ? 100e6 / (mib * (1 << 20)) : NAN };
        snprintf(r.name, sizeof r.name, "%s", precision_names[p]);
        snprintf(r.measured, sizeof r.measured, "%.1f MB", mib * (1 << 20) * 1e-6);
        snprintf(r.reference, sizeof r.reference, "100 MB");
        bench_report(b, &r);
    }
}

static void compare_all(bench *b, decoding_setup setup, const search_case *cases, int count)
{
    static decoder d;
    attend_model *models[3];
    decoder_new(&d);
    bench_require(attend_ctx_new(&d.one_sentence));
    bench_require(attend_ctx_set_threads(d.one_sentence, THREADS));
    for (int p = 0; p < 3; p++) models[p] = model_new(&setup, (attend_precision)p);
    attach_shortlist(models[2]);
    for (int i = 0; i < count; i++) compare(b, &setup, &cases[i], &d, models);
    for (int p = 0; p < 3; p++) attend_model_free(models[p]);
    decoder_free(&d);
}

void bench_decoding(bench *b)
{
    static const search_case cases[] = { { "greedy, 1 sentence", 1, 1, { 3, 0, 8, 0 } },
                                         { "beam 5, 1 sentence", 1, 5, { 2.5, 0, 6, 0 } },
                                         { "greedy, 64 sentences", 64, 1, { 1.4, 0, 2.5, 0 } },
                                         { "beam 5, 64 sentences", 64, 5, { 1.35, 0, 2.5, 6 } } };
    compare_all(b, rnnsearch(), cases, 4);
    bench_memory(b);
}

void bench_transformer_decoding(bench *b)
{
    static const search_case cases[] = { { "greedy, 1 sentence", 1, 1, { 3, 0, 0, 0 } },
                                         { "beam 5, 1 sentence", 1, 5, { 3, 0, 0, 0 } },
                                         { "greedy, 64 sentences", 64, 1, { 2, 0, 0, 0 } },
                                         { "beam 5, 64 sentences", 64, 5, { 2, 0, 0, 0 } } };
    compare_all(b, transformer(), cases, 4);
}
