/* cmd_train.c: from files of pairs to a model. */
#include "options.h"

#include "interrupt.h"
#include "progress.h"
#include "streams.h"
#include "text/doctor.h"
#include <attend/trainer.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    pairs_list train, valid;
    const char *model, *log, *config_file;
    attend_config config;
    int preset, tokens, source_tokens, target_tokens;
    long long vocab_size, source_vocab_size, target_vocab_size, min_count, max_length;
    double bpe_dropout;
    int optimizer, schedule, metric;
    double momentum, weight_decay, rate, clip, smoothing, average;
    long long warmup, accumulate, batch_tokens, epochs, updates, patience, valid_every, save_every, log_every, seed,
        threads, memory, keep;
    bool fresh, quiet, no_check;
    char basis[120], chosen[300]; /* what the data is, and what was chosen by it */
} settings;

static const char *const kinds[] = { "word", "char", "bpe", NULL };

enum { MOST_THREADS = 2 }; /* for each core */

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "train", "PAIRS", "training pairs: one .tsv file or two line-aligned files; may be given several times",
      OPTION_PAIRS, AT(train), 0, 0, NULL },
    { "valid", "PAIRS", "validation pairs: to stop in time and keep the best model", OPTION_PAIRS, AT(valid), 0, 0,
      NULL },
    { "model", "FILE", "the model to make (and FILE.checkpoint, FILE.log.jsonl, FILE.svg)", OPTION_TEXT, AT(model), 0,
      0, NULL },
    { "config", "FILE", "options from a file, a line each: hidden 256", OPTION_TEXT, AT(config_file), 0, 0, NULL },
    { "preset", "tiny|g2p|translate-small|translate", "a size; without it, the data decides (docs/training.md)",
      OPTION_WORD, AT(preset), 0, 0, attend_preset_words },
    { "tokens", "word|char|bpe", "what a line is cut into; bpe for sentences", OPTION_WORD, AT(tokens), 0, 0, kinds },
    { "source-tokens", "word|char|bpe", "of the source alone", OPTION_WORD, AT(source_tokens), 0, 0, kinds },
    { "target-tokens", "word|char|bpe", "of the target alone", OPTION_WORD, AT(target_tokens), 0, 0, kinds },
    { "vocab-size", "N", "entries of a vocabulary at most", OPTION_WHOLE, AT(vocab_size), 0, 1e7, NULL },
    { "source-vocab-size", "N", "of the source alone", OPTION_WHOLE, AT(source_vocab_size), 0, 1e7, NULL },
    { "target-vocab-size", "N", "of the target alone", OPTION_WHOLE, AT(target_vocab_size), 0, 1e7, NULL },
    { "min-count", "N", "words seen less often are unknown; 1", OPTION_WHOLE, AT(min_count), 1, 1e9, NULL },
    { "bpe-dropout", "P", "merges left out at random, each epoch anew", OPTION_REAL, AT(bpe_dropout), 0, 0.99, NULL },
    { "max-length", "N", "longer sentences are left out; 200", OPTION_WHOLE, AT(max_length), 1, 1e6, NULL },
    { "optimizer", "sgd|adam", "how weights are changed", OPTION_WORD, AT(optimizer), 0, 0, attend_optimizer_words },
    { "momentum", "X", "of sgd", OPTION_REAL, AT(momentum), 0, 0.9999, NULL },
    { "weight-decay", "X", "decoupled", OPTION_REAL, AT(weight_decay), 0, 1, NULL },
    { "learning-rate", "X", "step size; 0.001", OPTION_REAL, AT(rate), 0, 100, NULL },
    { "schedule", "constant|inverse-sqrt|cosine|plateau",
      "how the step size changes; plateau: halved when nothing gets better", OPTION_WORD, AT(schedule), 0, 0,
      attend_schedule_words },
    { "warmup", "N", "updates over which the step size rises", OPTION_WHOLE, AT(warmup), 0, 1e9, NULL },
    { "clip", "X", "longest gradient; 1; 0: any", OPTION_REAL, AT(clip), 0, 1e9, NULL },
    { "label-smoothing", "P", "share of probability given to all words; 0.1", OPTION_REAL, AT(smoothing), 0, 0.99,
      NULL },
    { "average", "P", "keep a moving average of the weights (0.999, say)", OPTION_REAL, AT(average), 0, 0.999999,
      NULL },
    { "accumulate", "N", "batches of an update", OPTION_WHOLE, AT(accumulate), 1, 1e4, NULL },
    { "batch-tokens", "N", "words of a batch", OPTION_WHOLE, AT(batch_tokens), 1, 1e8, NULL },
    { "epochs", "N", "passes over the data at most", OPTION_WHOLE, AT(epochs), 1, 1e9, NULL },
    { "updates", "N", "updates at most", OPTION_WHOLE, AT(updates), 1, 1e15, NULL },
    { "patience", "N", "validations without a better model before it ends; 10; 0: never", OPTION_WHOLE, AT(patience), 0,
      1e9, NULL },
    { "valid-every", "N", "updates between validations; about an epoch", OPTION_WHOLE, AT(valid_every), 1, 1e15, NULL },
    { "valid-metric", "perplexity|bleu|chrf|token-accuracy|word-error|exact", "what makes a model better; perplexity",
      OPTION_WORD, AT(metric), 0, 0, attend_valid_metric_words },
    { "save-every", "N", "updates between checkpoints", OPTION_WHOLE, AT(save_every), 1, 1e15, NULL },
    { "keep", "N", "the last N models are kept as FILE.update-..", OPTION_WHOLE, AT(keep), 0, 1e6, NULL },
    { "log", "FILE", "the log, a JSON object a line", OPTION_TEXT, AT(log), 0, 0, NULL },
    { "log-every", "N", "updates between its lines", OPTION_WHOLE, AT(log_every), 1, 1e15, NULL },
    { "seed", "N", "the same seed gives the same model", OPTION_WHOLE, AT(seed), 0, 9e15, NULL },
    { "threads", "N", "any number gives the same model", OPTION_WHOLE, AT(threads), 1, 1024, NULL },
    { "memory", "SIZE", "what it may take (2G, say)", OPTION_SIZE, AT(memory), 0, 1e18, NULL },
    { "fresh", NULL, "begin anew instead of going on from the checkpoint", OPTION_FLAG, AT(fresh), 0, 0, NULL },
    { "no-check", NULL, "do not look through the data first", OPTION_FLAG, AT(no_check), 0, 0, NULL },
    { "quiet", NULL, "errors only", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* ---- sizes ---- */

/* What is chosen for the user goes through the same door as what is given. */
static int choose(settings *s, const parsed *p, const char *name, const char *format, double value)
{
    char text[32];
    if (options_given(&verb_train, p, name)) return 0;
    snprintf(text, sizeof text, format, value);
    const size_t n = strlen(s->chosen);
    snprintf(s->chosen + n, sizeof s->chosen - n, "%s%s %s", n ? ", " : "", name, text);
    return options_set(&verb_train, s, name, text);
}

/* A word, which lives as long as the program. */
static int choose_kind(settings *s, const parsed *p, int side, attend_token_kind kind)
{
    const char *const name = side ? "target-tokens" : "source-tokens";
    if (options_given(&verb_train, p, name) || options_given(&verb_train, p, "tokens")) return 0;
    const size_t n = strlen(s->chosen);
    snprintf(s->chosen + n, sizeof s->chosen - n, "%s%s %s", n ? ", " : "", name, kinds[kind]);
    return options_set(&verb_train, s, name, kinds[kind]);
}

static int settled_kind(const settings *s, const parsed *p, int side)
{
    if (options_given(&verb_train, p, side ? "target-tokens" : "source-tokens"))
        return side ? s->target_tokens : s->source_tokens;
    return options_given(&verb_train, p, "tokens") ? s->tokens : -1;
}

/* Sizes by the data, where the user did not say. */
static int choose_sizes(settings *s, const parsed *p, const attend_doctor_counts *n)
{
    const attend_data_size data = { n->good, { n->words[0], n->words[1] }, { n->characters[0], n->characters[1] } };
    const int settled[2] = { settled_kind(s, p, 0), settled_kind(s, p, 1) };
    attend_sizes z = attend_sizes_of((attend_preset)s->preset, &data, settled);
    if (s->config.shared_vocab && z.tokens[0] != z.tokens[1]) { /* one vocabulary has one kind of token */
        const int one = settled[0] >= 0 ? settled[0] : ATTEND_TOKENS_BPE;
        z = attend_sizes_of((attend_preset)s->preset, &data, (const int[2]){ one, one });
    }
    const bool pieces = z.tokens[0] == ATTEND_TOKENS_BPE || z.tokens[1] == ATTEND_TOKENS_BPE;
    snprintf(s->basis, sizeof s->basis, "%llu pairs, %llu and %llu characters", (unsigned long long)n->good,
             (unsigned long long)n->characters[0], (unsigned long long)n->characters[1]);
    int status = choose_kind(s, p, 0, z.tokens[0]);
    if (status == 0) status = choose_kind(s, p, 1, z.tokens[1]);
    if (status == 0 && pieces) status = choose(s, p, "vocab-size", "%.0f", z.vocab_size);
    if (status == 0) status = choose(s, p, "hidden", "%.0f", z.hidden);
    if (status == 0) status = choose(s, p, "embedding", "%.0f", z.embedding);
    if (status == 0) status = choose(s, p, "dropout", "%g", z.dropout);
    if (status == 0) status = choose(s, p, "batch-tokens", "%.0f", z.batch_tokens);
    if (status == 0 && s->valid.count == 0 && s->updates == 0) /* nothing else would end it */
        status = choose(s, p, "epochs", "%.0f", (double)z.epochs);
    if (status == 0 && !s->quiet && *s->chosen)
        fprintf(stderr, "chosen      for %llu pairs of %s, %llu tokens%s%s: %s\n", (unsigned long long)n->good,
                z.of_words ? "words" : "sentences", (unsigned long long)z.seen, s->preset ? ", preset " : "",
                s->preset ? attend_preset_words[s->preset] : "", s->chosen);
    return status;
}

/* ---- what the library is told ---- */

static attend_pairs_spec *specs_of(const pairs_list *list)
{
    attend_pairs_spec *specs = calloc((size_t)list->count + 1, sizeof *specs);
    for (int i = 0; specs && i < list->count; i++)
        specs[i] = (attend_pairs_spec){ list->items[i].first, list->items[i].second };
    return specs;
}

static attend_train_options train_options(const settings *s, const parsed *p, const attend_pairs_spec *train,
                                          const attend_pairs_spec *valid)
{
    attend_train_options o = attend_train_defaults();
    o.train = train, o.train_count = s->train.count;
    o.valid = valid, o.valid_count = s->valid.count;
    o.model = s->model, o.log = s->log;
    o.config = s->config;
    for (int side = 0; side < 2; side++) {
        const char *const name = side ? "target-tokens" : "source-tokens";
        const int own = side ? s->target_tokens : s->source_tokens;
        o.tokens[side].kind =
            (attend_token_kind)(options_given(&verb_train, p, name) || !options_given(&verb_train, p, "tokens")
                                    ? own
                                    : s->tokens);
        o.tokens[side].vocab_size = (int)s->vocab_size;
        o.tokens[side].min_count = (int)s->min_count;
        if (o.tokens[side].kind != ATTEND_TOKENS_BPE && !options_given(&verb_train, p, "vocab-size"))
            o.tokens[side].vocab_size = 0;
        if (options_given(&verb_train, p, side ? "target-vocab-size" : "source-vocab-size"))
            o.tokens[side].vocab_size = (int)(side ? s->target_vocab_size : s->source_vocab_size);
    }
    o.bpe_dropout = s->bpe_dropout;
    o.max_length = (int)s->max_length;
    o.optimizer.kind = (attend_optimizer_kind)s->optimizer;
    o.optimizer.momentum = s->momentum, o.optimizer.weight_decay = s->weight_decay;
    o.schedule.kind = (attend_schedule_kind)s->schedule;
    o.schedule.rate = s->rate, o.schedule.warmup = (uint64_t)s->warmup;
    o.clip = s->clip, o.label_smoothing = s->smoothing, o.average = s->average;
    o.accumulate = (int)s->accumulate, o.batch_tokens = (int)s->batch_tokens;
    o.updates = (uint64_t)s->updates, o.epochs = (uint64_t)s->epochs;
    o.patience = (int)s->patience;
    o.valid_every = (uint64_t)s->valid_every, o.save_every = (uint64_t)s->save_every,
    o.log_every = (uint64_t)s->log_every;
    o.valid_metric = (attend_valid_metric)s->metric;
    o.seed = (uint64_t)s->seed;
    o.threads = (int)s->threads;
    o.memory = (size_t)s->memory;
    o.keep = (int)s->keep;
    o.fresh = s->fresh;
    o.basis = s->basis;
    return o;
}

/* The quick part of `attend check`: what would stop training is said before it begins. Sizes go by what it counts. */
static int look_through(settings *s, const parsed *p, const attend_pairs_spec *train, const attend_pairs_spec *valid)
{
    attend_doctor_report *report = NULL;
    int status = attend_doctor(&report, train, s->train.count, valid, s->valid.count, true);
    if (status != ATTEND_OK) return cli_fail(&verb_train, status);
    const bool stops = !s->no_check && attend_doctor_stops(report);
    if (stops) attend_doctor_print(report, stderr);
    status = stops ? ATTEND_BAD_DATA : choose_sizes(s, p, &report->train);
    attend_doctor_free(report);
    return status;
}

/* ---- training ---- */

static int train(const settings *s, const parsed *p, const attend_pairs_spec *train_specs,
                 const attend_pairs_spec *valid_specs)
{
    const attend_train_options o = train_options(s, p, train_specs, valid_specs);
    progress_view view = progress_new(stderr, s->quiet, attend_valid_metric_words[s->metric], s->valid.count > 0);
    const attend_train_events events = {
        .user = &view, .plan = progress_plan, .progress = progress_show, .say = progress_say, .stop = interrupt_stop
    };
    attend_train_end end = ATTEND_TRAIN_DONE;
    interrupt_catch(); /* a training is worth more than whoever reads along */
    const int status = attend_train(&o, &events, &end);
    progress_end(&view);
    if (status != ATTEND_OK) return cli_fail(&verb_train, status);
    if (end == ATTEND_TRAIN_STOPPED) {
        if (!s->quiet && view.planned)
            fprintf(stderr, "stopped; %s.checkpoint has everything: the same command goes on from there\n", s->model);
        else if (!s->quiet)
            fprintf(stderr, "stopped before the first update\n");
        return 128 + interrupt_caught();
    }
    if (!s->quiet)
        fprintf(stderr, "%s %s\n",
                end == ATTEND_TRAIN_PATIENCE ? "no better model for a while; the best is" : "done:", s->model);
    return 0;
}

/* What was parsed makes sense; now for the files. */
static int run_with(settings *s, const parsed *p)
{
    pairs_list *const lists[] = { &s->train, &s->valid };
    stream_copies copies;
    int status = streams_keep(&verb_train, lists, 2, &copies);
    attend_pairs_spec *train_specs = specs_of(&s->train), *valid_specs = specs_of(&s->valid);
    if (status == 0 && (!train_specs || !valid_specs)) status = options_wrong(&verb_train, "no memory");
    if (status == 0) status = look_through(s, p, train_specs, valid_specs);
    if (status == 0) status = train(s, p, train_specs, valid_specs);
    if (status != 0 && status < 128) streams_explain(&copies);
    streams_free(&copies);
    free(train_specs);
    free(valid_specs);
    return status;
}

static int run(int argc, char **argv)
{
    static const attend_config config = ATTEND_CONFIG_INIT;
    settings s = { .config = config,
                   .tokens = ATTEND_TOKENS_BPE,
                   .source_tokens = ATTEND_TOKENS_BPE,
                   .target_tokens = ATTEND_TOKENS_BPE,
                   .min_count = 1,
                   .max_length = 200,
                   .optimizer = ATTEND_ADAM,
                   .schedule = ATTEND_SCHEDULE_PLATEAU,
                   .rate = 1e-3,
                   .clip = 1,
                   .smoothing = 0.1,
                   .accumulate = 1,
                   .patience = 10,
                   .seed = 1 };
    const long cores = sysconf(_SC_NPROCESSORS_ONLN) > 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    s.threads = cores;
    parsed p;
    int status = options_parse(&verb_train, &s, argc, argv, &p);
    if (s.threads > MOST_THREADS * cores) { /* each takes memory, and the model is the same */
        s.threads = MOST_THREADS * cores;
        if (!s.quiet) fprintf(stderr, "threads     %lld are enough for %ld cores\n", s.threads, cores);
    }
    if (status == 0 && !p.help) {
        if (p.rest_count > 0)
            status = options_wrong(&verb_train, "'%s' is not understood", p.rest[0]);
        else if (s.train.count == 0)
            status = options_wrong(&verb_train, "--train PAIRS is missing");
        else if (!s.model)
            status = options_wrong(&verb_train, "--model FILE is missing");
        else if (options_given(&verb_train, &p, "source-vocab") || options_given(&verb_train, &p, "target-vocab"))
            status = options_wrong(&verb_train, "vocabularies come from the data; --vocab-size limits them");
        else if (s.config.shared_vocab && (options_given(&verb_train, &p, "target-vocab-size") ||
                                           options_given(&verb_train, &p, "target-tokens")))
            status =
                options_wrong(&verb_train, "with --shared-vocab the target has the source's vocabulary; --tokens and "
                                           "--vocab-size are for both");
        else
            status = run_with(&s, &p);
    }
    options_free(&verb_train, &s, &p);
    return status;
}

const verb verb_train = {
    .name = "train",
    .summary = "from files of pairs to a model",
    .synopsis = "attend train --train PAIRS --valid PAIRS --model FILE [options]",
    .details = "Looks through the data, learns vocabularies and trains. FILE is the best model by validation so far.\n"
               "The same command goes on from the last checkpoint; SIGINT, SIGTERM and SIGHUP save one and end\n"
               "with 130, 143 and 129. Sizes that are not given go by the data (docs/training.md).",
    .examples =
        "  attend train --train train.tsv --valid valid.tsv --model m\n"
        "  attend train --train train.en train.de --valid valid.en valid.de --model en-de --preset translate-small\n"
        "  attend train --train words.tsv --valid dev.tsv --model g2p --preset g2p --valid-metric word-error\n"
        "  zcat big*.tsv.gz | attend train --train - --valid valid.tsv --model m --memory 2G\n",
    .options = table,
    .has_config = true,
    .config = AT(config),
    .run = run,
};
