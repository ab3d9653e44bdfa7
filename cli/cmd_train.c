/* cmd_train.c: from files of pairs to a model. */
#include "options.h"

#include "progress.h"
#include "text/doctor.h"
#include <attend/trainer.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
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
    bool fresh, quiet, json, no_check;
} settings;

static const char *const presets[] = { "none", "tiny", "g2p", "translate-small", "translate", NULL };
static const char *const kinds[] = { "word", "char", "bpe", NULL };
static const char *const optimizers[] = { "sgd", "adam", NULL };
static const char *const schedules[] = { "constant", "inverse-sqrt", "cosine", "plateau", NULL };
static const char *const metrics[] = { "perplexity", "bleu", "chrf", "token-accuracy", "word-error", "exact", NULL };

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "train", "PAIRS", "training pairs: one .tsv file or two line-aligned files; may be given several times",
      OPTION_PAIRS, AT(train), 0, 0, NULL },
    { "valid", "PAIRS", "validation pairs: to stop in time and keep the best model", OPTION_PAIRS, AT(valid), 0, 0,
      NULL },
    { "model", "FILE", "the model to make (and FILE.checkpoint, FILE.log.jsonl, FILE.svg)", OPTION_TEXT, AT(model), 0,
      0, NULL },
    { "config", "FILE", "options from a file, a line each: hidden 256", OPTION_TEXT, AT(config_file), 0, 0, NULL },
    { "preset", "tiny|g2p|translate-small|translate", "a model sized to a task; other options change it", OPTION_WORD,
      AT(preset), 0, 0, presets },
    { "tokens", "word|char|bpe", "what a sentence is cut into; bpe unless said", OPTION_WORD, AT(tokens), 0, 0, kinds },
    { "source-tokens", "word|char|bpe", "of the source alone", OPTION_WORD, AT(source_tokens), 0, 0, kinds },
    { "target-tokens", "word|char|bpe", "of the target alone", OPTION_WORD, AT(target_tokens), 0, 0, kinds },
    { "vocab-size", "N", "entries of a vocabulary at most; 8000 for bpe", OPTION_WHOLE, AT(vocab_size), 0, 1e7, NULL },
    { "min-count", "N", "words seen less often are unknown", OPTION_WHOLE, AT(min_count), 1, 1e9, NULL },
    { "bpe-dropout", "P", "merges left out at random, each epoch anew", OPTION_REAL, AT(bpe_dropout), 0, 0.99, NULL },
    { "max-length", "N", "longer sentences are left out", OPTION_WHOLE, AT(max_length), 1, 1e6, NULL },
    { "optimizer", "sgd|adam", "how weights are changed", OPTION_WORD, AT(optimizer), 0, 0, optimizers },
    { "momentum", "X", "of sgd", OPTION_REAL, AT(momentum), 0, 0.9999, NULL },
    { "weight-decay", "X", "decoupled", OPTION_REAL, AT(weight_decay), 0, 1, NULL },
    { "learning-rate", "X", "step size", OPTION_REAL, AT(rate), 0, 100, NULL },
    { "schedule", "constant|inverse-sqrt|cosine|plateau", "how the step size changes", OPTION_WORD, AT(schedule), 0, 0,
      schedules },
    { "warmup", "N", "updates over which the step size rises", OPTION_WHOLE, AT(warmup), 0, 1e9, NULL },
    { "clip", "X", "longest gradient; 0: any", OPTION_REAL, AT(clip), 0, 1e9, NULL },
    { "label-smoothing", "P", "share of probability given to all words", OPTION_REAL, AT(smoothing), 0, 0.99, NULL },
    { "average", "P", "keep a moving average of the weights (0.999, say)", OPTION_REAL, AT(average), 0, 0.999999,
      NULL },
    { "accumulate", "N", "batches of an update", OPTION_WHOLE, AT(accumulate), 1, 1e4, NULL },
    { "batch-tokens", "N", "words of a batch", OPTION_WHOLE, AT(batch_tokens), 1, 1e8, NULL },
    { "epochs", "N", "passes over the data at most", OPTION_WHOLE, AT(epochs), 0, 1e9, NULL },
    { "updates", "N", "updates at most", OPTION_WHOLE, AT(updates), 0, 1e15, NULL },
    { "patience", "N", "validations without a better model before it ends; 0: never", OPTION_WHOLE, AT(patience), 0,
      1e9, NULL },
    { "valid-every", "N", "updates between validations", OPTION_WHOLE, AT(valid_every), 0, 1e15, NULL },
    { "valid-metric", "perplexity|bleu|chrf|token-accuracy|word-error|exact", "what makes a model better", OPTION_WORD,
      AT(metric), 0, 0, metrics },
    { "save-every", "N", "updates between checkpoints", OPTION_WHOLE, AT(save_every), 0, 1e15, NULL },
    { "keep", "N", "the last N models are kept as FILE.update-..", OPTION_WHOLE, AT(keep), 0, 1e6, NULL },
    { "log", "FILE", "the log, a JSON object a line", OPTION_TEXT, AT(log), 0, 0, NULL },
    { "log-every", "N", "updates between its lines", OPTION_WHOLE, AT(log_every), 0, 1e15, NULL },
    { "seed", "N", "the same seed gives the same model", OPTION_WHOLE, AT(seed), 0, 9e15, NULL },
    { "threads", "N", "any number gives the same model", OPTION_WHOLE, AT(threads), 1, 1024, NULL },
    { "memory", "SIZE", "what it may take (2G, say)", OPTION_SIZE, AT(memory), 0, 1e18, NULL },
    { "fresh", NULL, "begin anew instead of going on from the checkpoint", OPTION_FLAG, AT(fresh), 0, 0, NULL },
    { "no-check", NULL, "do not look through the data first", OPTION_FLAG, AT(no_check), 0, 0, NULL },
    { "quiet", NULL, "errors only", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* ---- presets ---- */

/* A word and its value for each preset; what the user gave comes before. NULL: as without a preset. */
static const struct {
    const char *name, *values[5];
} preset_values[] = {
    /*                 none     tiny    g2p     small   translate */
    { "hidden", { NULL, "128", "256", "384", "512" } },
    { "embedding", { NULL, "64", "128", "256", "256" } },
    { "layers", { NULL, "1", "1", "1", "1" } },
    { "dropout", { NULL, "0.1", "0.3", "0.3", "0.2" } },
    { "batch-tokens", { NULL, "1000", "2000", "2000", "4000" } },
    { "vocab-size", { NULL, "2000", "0", "6000", "16000" } },
    { "source-tokens", { NULL, NULL, "char", NULL, NULL } },
    { "target-tokens", { NULL, NULL, "word", NULL, NULL } },
};

static int apply_preset(settings *s, const parsed *p)
{
    for (size_t i = 0; i < sizeof preset_values / sizeof *preset_values; i++) {
        const char *name = preset_values[i].name, *value = preset_values[i].values[s->preset];
        if (!value || options_given(&verb_train, p, name)) continue;
        const int status = options_set(&verb_train, s, name, value);
        if (status) return status;
    }
    return 0;
}

/* ---- what is seen ---- */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    if (caught) _exit(128 + number); /* asked twice */
    caught = number;
}

static bool stop(void *user)
{
    (void)user;
    return caught != 0;
}

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
        o.tokens[side].kind = (attend_token_kind)(options_given(&verb_train, p, name) || own != 2 ? own : s->tokens);
        o.tokens[side].vocab_size = (int)s->vocab_size;
        o.tokens[side].min_count = (int)s->min_count;
        if (o.tokens[side].kind != ATTEND_TOKENS_BPE && !options_given(&verb_train, p, "vocab-size"))
            o.tokens[side].vocab_size = 0;
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
    if (o.updates == 0 && o.epochs == 0 && o.valid_count == 0) o.epochs = 20; /* nothing else would end it */
    return o;
}

/* The quick part of `attend check`: what would stop training is said before it begins. */
static int look_through(const settings *s, const attend_pairs_spec *train, const attend_pairs_spec *valid)
{
    if (s->no_check) return 0;
    attend_doctor_report *report = NULL;
    const int status = attend_doctor(&report, train, s->train.count, valid, s->valid.count, true);
    if (status != ATTEND_OK) return cli_fail(&verb_train, status);
    const bool stops = attend_doctor_stops(report);
    if (stops) attend_doctor_print(report, stderr);
    attend_doctor_free(report);
    return stops ? ATTEND_BAD_DATA : 0;
}

/* Standard input is read once, and training reads its data several times: a copy of it lies beside the model meanwhile. */
static int keep_input(settings *s, char *path, size_t size)
{
    const char **names[2] = { NULL, NULL };
    int found = 0;
    for (int i = 0; i < s->train.count; i++)
        for (int side = 0; side < 2; side++) {
            const char **name = side ? &s->train.items[i].second : &s->train.items[i].first;
            if (*name && strcmp(*name, "-") == 0 && found < 2) names[found++] = name;
        }
    if (found == 0) return 0;
    if (found > 1) return options_wrong(&verb_train, "standard input (-) can be read once");
    snprintf(path, size, "%s.input", s->model);
    FILE *to = fopen(path, "wb");
    char block[1 << 16];
    bool ok = to != NULL;
    for (size_t n; ok && (n = fread(block, 1, sizeof block, stdin)) > 0;) ok = fwrite(block, 1, n, to) == n;
    if (to && fclose(to) != 0) ok = false;
    if (!ok) {
        fprintf(stderr, "attend train: %s: cannot keep standard input here: %s\n", path, strerror(errno));
        return ATTEND_IO;
    }
    *names[0] = path;
    return 0;
}

static int train(const settings *s, const parsed *p, const attend_pairs_spec *train_specs,
                 const attend_pairs_spec *valid_specs)
{
    const attend_train_options o = train_options(s, p, train_specs, valid_specs);
    progress_view view = progress_new(stderr, s->quiet, metrics[s->metric], s->valid.count > 0);
    const attend_train_events events = {
        .user = &view, .plan = progress_plan, .progress = progress_show, .say = progress_say, .stop = stop
    };
    attend_train_end end = ATTEND_TRAIN_DONE;
    const struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    const int status = attend_train(&o, &events, &end);
    progress_end(&view);
    if (status != ATTEND_OK) return cli_fail(&verb_train, status);
    if (end == ATTEND_TRAIN_STOPPED) {
        if (!s->quiet)
            fprintf(stderr, "stopped; %s.checkpoint has everything: the same command goes on from there\n", s->model);
        return 128 + caught;
    }
    if (!s->quiet)
        fprintf(stderr, "%s %s\n",
                end == ATTEND_TRAIN_PATIENCE ? "no better model for a while; the best is" : "done:", s->model);
    return 0;
}

static int run(int argc, char **argv)
{
    static const attend_config config = ATTEND_CONFIG_INIT;
    settings s = { .config = config,
                   .tokens = 2,
                   .source_tokens = 2,
                   .target_tokens = 2,
                   .vocab_size = 8000,
                   .min_count = 1,
                   .max_length = 200,
                   .optimizer = 1,
                   .schedule = 3,
                   .rate = 1e-3,
                   .clip = 1,
                   .smoothing = 0.1,
                   .accumulate = 1,
                   .batch_tokens = 2000,
                   .patience = 10,
                   .seed = 1 };
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s.threads = cores > 0 ? cores : 1;
    parsed p;
    int status = options_parse(&verb_train, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        if (p.rest_count > 0)
            status = options_wrong(&verb_train, "'%s' is not understood", p.rest[0]);
        else if (s.train.count == 0)
            status = options_wrong(&verb_train, "--train PAIRS is missing");
        else if (!s.model)
            status = options_wrong(&verb_train, "--model FILE is missing");
        else
            status = apply_preset(&s, &p);
        char input[4096] = "";
        if (status == 0) status = keep_input(&s, input, sizeof input);
        attend_pairs_spec *train_specs = specs_of(&s.train), *valid_specs = specs_of(&s.valid);
        if (status == 0) status = look_through(&s, train_specs, valid_specs);
        if (status == 0) status = train(&s, &p, train_specs, valid_specs);
        if (input[0] && status == 0) unlink(input);
        free(train_specs);
        free(valid_specs);
    }
    options_free(&verb_train, &s, &p);
    return status;
}

const verb verb_train = {
    .name = "train",
    .summary = "from files of pairs to a model",
    .synopsis = "attend train --train PAIRS --valid PAIRS --model FILE [options]",
    .details =
        "Looks through the data, learns vocabularies and trains. FILE is the best model by validation so far.\n"
        "The same command goes on from the last checkpoint; SIGINT and SIGTERM save one and end with 130 and 143.",
    .examples =
        "  attend train --train train.tsv --valid valid.tsv --model m\n"
        "  attend train --train train.en train.de --valid valid.en valid.de --model en-de --preset translate-small\n"
        "  attend train --train words.tsv --valid dev.tsv --model g2p --preset g2p --valid-metric word-error\n",
    .options = table,
    .has_config = true,
    .config = AT(config),
    .run = run,
};
