/* train_options.c: the options of training, and those that are chosen from the amount of data. */
#include "train_options.h"

#include "compute_option.h"
#include "device_option.h"

#include <attend/processors.h>
#include <attend/training_choice.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 2 }; /* per processor */

enum { LOWERCASE_NONE, LOWERCASE_SOURCE, LOWERCASE_BOTH };
static const char *const lowercase_names[] = { "none", "source", "both", NULL };

enum { SPLIT_CLASSES, SPLIT_SPACES };
static const char *const split_names[] = { "classes", "spaces", NULL };

#define AT(member) offsetof(train_settings, member)
static const option table[] = {
    { "preset", NULL, "size of the model; none: depends on the amount of data", OPTION_CHOICE, AT(preset), 0, 0,
      attend_preset_names },
    { "tokens", NULL, "tokenization of both sides (default: depends on the data; bpe for sentences)", OPTION_CHOICE,
      AT(tokens), 0, 0, attend_token_kind_names },
    { "source-tokens", NULL, "tokenization of the source (default: as --tokens)", OPTION_CHOICE, AT(source_tokens), 0,
      0, attend_token_kind_names },
    { "target-tokens", NULL, "tokenization of the target (default: as --tokens)", OPTION_CHOICE, AT(target_tokens), 0,
      0, attend_token_kind_names },
    { "lowercase", NULL, "lower-case the source, or both sides; kept in the model and applied wherever it reads text",
      OPTION_CHOICE, AT(lowercase), 0, 0, lowercase_names },
    { "vocab-size", "N",
      "maximum size of each vocabulary (default: depends on the amount of data for bpe, else unlimited)",
      OPTION_INTEGER, AT(vocab_size), 0, 1e7, NULL },
    { "source-vocab-size", "N", "maximum size of the source vocabulary (default: as --vocab-size)", OPTION_INTEGER,
      AT(source_vocab_size), 0, 1e7, NULL },
    { "target-vocab-size", "N", "maximum size of the target vocabulary (default: as --vocab-size)", OPTION_INTEGER,
      AT(target_vocab_size), 0, 1e7, NULL },
    { "min-count", "N", "leave tokens that occur less often out of the vocabulary", OPTION_INTEGER, AT(min_count), 1,
      1e9, NULL },
    { "bpe-split", NULL,
      "where a word ends, which BPE merges do not cross: at spaces and where letters, digits, other characters and "
      "scripts meet; or at spaces only",
      OPTION_CHOICE, AT(bpe_split), 0, 0, split_names },
    { "bpe-dropout", "P", "probability of skipping a BPE merge; segmentations differ in each epoch", OPTION_REAL,
      AT(bpe_dropout), 0, 0.99, NULL },
    { "crop", "P",
      "pairs of words: probability of training on the end of a pair, with the part of the target that belongs to it",
      OPTION_REAL, AT(crop), 0, 0.99, NULL },
    { "guided-alignment", "FILE|auto",
      "train the attention to align words, too: by links of the word aligner, which is trained on the pairs first, or "
      "by "
      "links in a file, one line per line of --train; adds an alignment head to a new model (docs/alignment.md)",
      OPTION_INPUT, AT(guided_alignment), 0, 0, NULL },
    { "guidance", "X", "weight of the loss of --guided-alignment", OPTION_REAL, AT(guidance), 0, 100, NULL },
    { "max-length", "N", "leave out pairs with more tokens on a side", OPTION_INTEGER, AT(max_length), 1, 1e6, NULL },
    { "optimizer", NULL, "optimizer", OPTION_CHOICE, AT(optimizer), 0, 0, attend_optimizer_names },
    { "momentum", "X", "momentum of sgd", OPTION_REAL, AT(momentum), 0, 0.9999, NULL },
    { "weight-decay", "X", "decoupled weight decay", OPTION_REAL, AT(weight_decay), 0, 1, NULL },
    { "learning-rate", "X", "learning rate", OPTION_REAL, AT(rate), 0, 100, NULL },
    { "schedule", NULL, "learning rate schedule; plateau halves the rate when validation does not improve",
      OPTION_CHOICE, AT(schedule), 0, 0, attend_schedule_names },
    { "warmup", "N", "updates over which the learning rate increases linearly", OPTION_INTEGER, AT(warmup), 0, 1e9,
      NULL },
    { "clip", "X", "maximum norm of the gradient; 0: unlimited", OPTION_REAL, AT(clip), 0, 1e9, NULL },
    { "label-smoothing", "P", "probability distributed evenly over the vocabulary", OPTION_REAL, AT(smoothing), 0, 0.99,
      NULL },
    { "average", "P", "keep an exponential moving average of the weights, with this decay (such as 0.999); 0: none",
      OPTION_REAL, AT(average), 0, 0.999999, NULL },
    { "average-last", "N", "at the end of training, keep the average of the last N models if it is better; 0: never",
      OPTION_INTEGER, AT(average_checkpoints), 0, ATTEND_MAX_AVERAGED_CHECKPOINTS, NULL },
    { "accumulate", "N", "number of batches per update", OPTION_INTEGER, AT(accumulate), 1, 1e4, NULL },
    { "batch-tokens", "N", "maximum number of tokens per batch", OPTION_INTEGER, AT(batch_tokens), 1, 1e8, NULL },
    { "epochs", "N",
      "maximum number of passes over the data (default: with validation unlimited, except for few pairs of words; else "
      "depends on the amount of data)",
      OPTION_INTEGER, AT(epochs), 1, 1e9, NULL },
    { "updates", "N", "maximum number of updates (default: unlimited)", OPTION_INTEGER, AT(updates), 1, 1e15, NULL },
    { "patience", "N", "stop after N validations without improvement; 0: never", OPTION_INTEGER, AT(patience), 0, 1e9,
      NULL },
    { "valid-every", "N",
      "updates between validations (default: about one epoch, and at least 8 validations if --updates or --epochs "
      "limits them)",
      OPTION_INTEGER, AT(valid_every), 1, 1e15, NULL },
    { "valid-metric", NULL,
      "metric that selects the best model; word-error: wrong lines if a line is a word, otherwise wrong words",
      OPTION_CHOICE, AT(metric), 0, 0, valid_metric_choices },
    COMPUTE_OPTION(AT(compute)),
    { "seed", "N", "random seed; the same seed gives the same model", OPTION_INTEGER, AT(seed), 0, 9e15, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};
/* What attend_training_choose sets. */
static const chosen_option chosen[] = {
    { "hidden", true },
    { "embedding", true },
    { "dropout", true },
    { "batch-tokens", true },
    { "layers", false },
    { "heads", false },
    { "feed-forward-width", false },
    { "learning-rate", false },
    { "warmup", false },
    { "label-smoothing", false },
    { "diagonal-start", false },
    { "schedule", false },
    { "average", false },
    { "patience", false },
    { "crop", false },
    { NULL, false },
};
const option_group train_option_group = { "training", "docs/training.md", table, chosen };

void train_settings_limit_threads(train_settings *s)
{
    const long long limit = (long long)MAX_THREADS * attend_processors_threads();
    if (s->threads <= limit) return;
    s->threads = limit; /* more would cost memory without a gain; the model is the same */
    if (!s->quiet)
        attend_print(stderr, "threads     limited to %lld for %d cores\n", limit, attend_processors_threads());
}

int train_settings_use_device(const verb *v, train_settings *s, const parsed *p)
{
    return device_option_use(v, p, &(device_choice){ s->device, &s->compute, &s->threads, NULL, s->quiet });
}

char *train_settings_checkpoint(const train_settings *s, const char *model)
{
    const size_t size = strlen(model) + sizeof ".checkpoint";
    char *path = s->fresh ? NULL : malloc(size);
    if (!path) return NULL;
    snprintf(path, size, "%s.checkpoint", model);
    if (access(path, F_OK) == 0) return path;
    free(path);
    return NULL;
}

/* Options that a language model does not have. */
static int check_lines(const verb *v, const train_settings *s, const parsed *p)
{
    static const char *const of_pairs[] = { "source-tokens", "target-tokens", "source-vocab-size",
                                            "target-vocab-size" };
    if (s->config.task != ATTEND_TASK_LANGUAGE_MODEL) return 0;
    for (size_t i = 0; i < sizeof of_pairs / sizeof *of_pairs; i++)
        if (options_given(v, p, of_pairs[i]))
            return usage_error(v, "--%s applies to pairs; a language model is trained on lines", of_pairs[i]);
    if (s->lowercase == LOWERCASE_SOURCE)
        return usage_error(v, "--lowercase source applies to pairs; a language model is trained on lines: use both");
    if (s->preset == ATTEND_PRESET_G2P)
        return usage_error(v, "--preset g2p applies to pairs; a language model is trained on lines");
    return 0;
}

int train_settings_check(const verb *v, const train_settings *s, const parsed *p)
{
    const int wrong = check_lines(v, s, p);
    if (wrong) return wrong;
    if (options_given(v, p, "source-vocab") || options_given(v, p, "target-vocab"))
        return usage_error(v, "vocabulary sizes are determined by the data; --vocab-size limits them");
    if (s->guided_alignment && s->config.task == ATTEND_TASK_LANGUAGE_MODEL)
        return usage_error(v, "--guided-alignment applies to pairs; a language model is trained on lines");
    if (s->config.shared_vocab && (options_given(v, p, "target-vocab-size") || options_given(v, p, "target-tokens")))
        return usage_error(v, "with --shared-vocab, source and target have one vocabulary; use --tokens and "
                              "--vocab-size");
    if (s->config.shared_vocab && s->lowercase == LOWERCASE_SOURCE)
        return usage_error(v, "with --shared-vocab, source and target have one tokenizer; use --lowercase both");
    return 0;
}

/* ---- sizes ---- */

typedef struct chooser {
    const verb *v;
    train_settings *s;
    const parsed *p;
} chooser;

static bool is_given(void *user, const char *name)
{
    const chooser *c = user;
    return options_given(c->v, c->p, name);
}

/* Sets an option in the same way as if it were given, and records it. */
static int take_choice(void *user, const char *name, const char *text)
{
    const chooser *c = user;
    const size_t n = strlen(c->s->chosen);
    snprintf(c->s->chosen + n, sizeof c->s->chosen - n, "%s%s %s", n ? ", " : "", name, text);
    return options_set(c->v, c->s, name, text);
}

static int requested_kind(const verb *v, const train_settings *s, const parsed *p, int side)
{
    if (options_given(v, p, side ? "target-tokens" : "source-tokens"))
        return side ? s->target_tokens : s->source_tokens;
    return options_given(v, p, "tokens") ? s->tokens : s->kinds[side];
}

int train_settings_choose(const verb *v, train_settings *s, const parsed *p, const attend_data_check_counts *n)
{
    const bool lines = s->config.task == ATTEND_TASK_LANGUAGE_MODEL;
    chooser c = { v, s, p };
    const attend_training_request r = {
        .preset = (attend_preset)s->preset,
        .task = s->config.task,
        .architecture = s->config.architecture,
        .window = s->config.window,
        .shared_vocab = s->config.shared_vocab,
        .tokens = { requested_kind(v, s, p, 0), requested_kind(v, s, p, 1) },
        .has_config = s->has_config,
        .has_vocabularies = s->has_vocabularies,
        .has_validation = s->valid.count > 0,
        .has_guided_alignment = s->guided_alignment != NULL,
        .label_smoothing = s->smoothing,
        .bpe_dropout = s->bpe_dropout,
        .updates = (uint64_t)s->updates,
        .checkpoint = s->checkpoint,
        .user = &c,
        .given = is_given,
        .choose = take_choice,
    };
    const attend_data_size data = attend_data_size_of(n);
    attend_training_choice z;
    const int status = attend_training_choose(&r, &data, &z);
    memcpy(s->basis, z.basis, sizeof s->basis);
    s->is_word_level = z.is_word_level;
    if (lines) s->source_tokens = s->target_tokens = (int)z.tokens[0];
    for (int side = 0; !lines && side < 2; side++) /* --tokens sets both sides */
        if (r.tokens[side] >= 0) *(side ? &s->target_tokens : &s->source_tokens) = r.tokens[side];
    snprintf(s->because, sizeof s->because, "%llu %s of %s, %llu tokens%s%s", (unsigned long long)n->usable,
             lines ? "lines" : "pairs",
             z.is_word_level ? "words"
             : lines         ? "text"
                             : "sentences",
             (unsigned long long)z.data_tokens, s->preset ? ", preset " : "",
             s->preset ? attend_preset_names[s->preset] : "");
    return status;
}

void train_settings_print_choice(const train_settings *s)
{
    if (!s->quiet && *s->chosen) attend_print(stderr, "chosen      for %s: %s\n", s->because, s->chosen);
}

/* ---- options of the library ---- */

/* The inverse of train_settings_options. */
train_settings train_settings_defaults(void)
{
    const attend_train_options o = attend_train_defaults();
    return (train_settings){
        .config = o.config,
        .tokens = (int)o.tokens[0].kind,
        .source_tokens = (int)o.tokens[0].kind,
        .target_tokens = (int)o.tokens[1].kind,
        .vocab_size = o.tokens[0].vocab_size,
        .min_count = o.tokens[0].min_count,
        .bpe_dropout = o.bpe_dropout,
        .crop = o.crop,
        .guidance = o.guidance,
        .max_length = o.max_length,
        .optimizer = (int)o.optimizer.kind,
        .momentum = o.optimizer.momentum,
        .weight_decay = o.optimizer.weight_decay,
        .schedule = (int)o.schedule.kind,
        .rate = o.schedule.rate,
        .warmup = (long long)o.schedule.warmup,
        .clip = o.clip,
        .smoothing = o.label_smoothing,
        .average = o.average,
        .accumulate = o.accumulate,
        .batch_tokens = o.batch_tokens,
        .updates = (long long)o.updates,
        .epochs = (long long)o.epochs,
        .patience = o.patience,
        .valid_every = (long long)o.valid_every,
        .save_every = (long long)o.save_every,
        .log_every = (long long)o.log_every,
        .metric = (int)o.valid_metric,
        .compute = (int)o.compute,
        .seed = (long long)o.seed,
        .threads = attend_processors_threads(), /* the library's default is 1 */
        .memory = (long long)o.memory,
        .keep = o.keep,
        .average_checkpoints = o.average_checkpoints,
        .kinds = { -1, -1 },
    };
}

/* Whether a model of this configuration can have an alignment head. */
static bool can_have_head(const attend_config *c)
{
    const attend_config_field *f = attend_config_field_at(attend_config_field_find("alignment-head"));
    return attend_config_field_applies(c, f) && attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS) > 0;
}

attend_train_options train_settings_options(const verb *v, const train_settings *s, const parsed *p)
{
    attend_train_options o = attend_train_defaults();
    o.train = s->train.items, o.train_count = s->train.count;
    o.valid = s->valid.items, o.valid_count = s->valid.count;
    o.config = s->config;
    for (int side = 0; side < 2; side++) {
        const char *const name = side ? "target-tokens" : "source-tokens";
        const int own = side ? s->target_tokens : s->source_tokens;
        o.tokens[side].kind =
            (attend_token_kind)(options_given(v, p, name) || !options_given(v, p, "tokens") ? own : s->tokens);
        o.tokens[side].vocab_size = (int)s->vocab_size;
        o.tokens[side].min_count = (int)s->min_count;
        o.tokens[side].split_classes = s->bpe_split == SPLIT_CLASSES;
        o.tokens[side].lowercase = s->lowercase == LOWERCASE_BOTH || (s->lowercase == LOWERCASE_SOURCE && side == 0);
        if (o.tokens[side].kind != ATTEND_TOKENS_BPE && !options_given(v, p, "vocab-size"))
            o.tokens[side].vocab_size = 0;
        if (options_given(v, p, side ? "target-vocab-size" : "source-vocab-size"))
            o.tokens[side].vocab_size = (int)(side ? s->target_vocab_size : s->source_vocab_size);
    }
    o.bpe_dropout = s->bpe_dropout, o.crop = s->crop;
    o.guided_alignment = s->guided_alignment, o.guidance = s->guidance;
    if (s->guided_alignment && !s->has_config && !options_given(v, p, "alignment-head"))
        o.config.alignment_head = can_have_head(&s->config);
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
    o.valid_metric = valid_metric_of(s->metric, s->is_word_level);
    o.compute = (attend_compute_precision)s->compute;
    o.seed = (uint64_t)s->seed;
    o.threads = (int)s->threads;
    o.memory = (size_t)s->memory;
    o.keep = (int)s->keep, o.average_checkpoints = (int)s->average_checkpoints;
    o.fresh = s->fresh;
    o.basis = s->basis;
    return o;
}
