/* train_options.c: the options of training, and those that are chosen from the amount of data. */
#include "train_options.h"

#include <attend/processors.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 2 }; /* per processor */

enum { LOWERCASE_NONE, LOWERCASE_SOURCE, LOWERCASE_BOTH };
static const char *const lowercase_names[] = { "none", "source", "both", NULL };

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
    { "bpe-dropout", "P", "probability of skipping a BPE merge; segmentations differ in each epoch", OPTION_REAL,
      AT(bpe_dropout), 0, 0.99, NULL },
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
      "maximum number of passes over the data (default: unlimited with validation, else depends on the amount of data)",
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
    { "seed", "N", "random seed; the same seed gives the same model", OPTION_INTEGER, AT(seed), 0, 9e15, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};
/* What choose_model and choose_sizes set. */
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
    if (s->config.shared_vocab && (options_given(v, p, "target-vocab-size") || options_given(v, p, "target-tokens")))
        return usage_error(v, "with --shared-vocab, source and target have one vocabulary; use --tokens and "
                              "--vocab-size");
    if (s->config.shared_vocab && s->lowercase == LOWERCASE_SOURCE)
        return usage_error(v, "with --shared-vocab, source and target have one tokenizer; use --lowercase both");
    return 0;
}

/* ---- sizes ---- */

/* Sets an option that was not given, in the same way as if it were. */
static int choose(const verb *v, train_settings *s, const parsed *p, const char *name, const char *format, double value)
{
    char text[32];
    if (options_given(v, p, name) || (s->has_config && attend_config_field_find(name) >= 0)) return 0;
    snprintf(text, sizeof text, format, value);
    const size_t n = strlen(s->chosen);
    snprintf(s->chosen + n, sizeof s->chosen - n, "%s%s %s", n ? ", " : "", name, text);
    return options_set(v, s, name, text);
}

static int choose_kind(const verb *v, train_settings *s, const parsed *p, int side, attend_token_kind kind)
{
    const char *const name = side ? "target-tokens" : "source-tokens";
    if (options_given(v, p, name) || options_given(v, p, "tokens") || s->kinds[side] >= 0) return 0;
    const size_t n = strlen(s->chosen);
    snprintf(s->chosen + n, sizeof s->chosen - n, "%s%s %s", n ? ", " : "", name, attend_token_kind_names[kind]);
    return options_set(v, s, name, attend_token_kind_names[kind]);
}

static int requested_kind(const verb *v, const train_settings *s, const parsed *p, int side)
{
    if (options_given(v, p, side ? "target-tokens" : "source-tokens"))
        return side ? s->target_tokens : s->source_tokens;
    return options_given(v, p, "tokens") ? s->tokens : s->kinds[side];
}

/* Records the reason for the chosen sizes. */
static void give_reason(train_settings *s, const attend_training_sizes *z, uint64_t count, const char *what)
{
    snprintf(s->because, sizeof s->because, "%llu %s, %llu tokens%s%s", (unsigned long long)count, what,
             (unsigned long long)z->data_tokens, s->preset ? ", preset " : "",
             s->preset ? attend_preset_names[s->preset] : "");
    s->is_word_level = z->is_word_level;
}

/* Sizes of the model and the rates that go with them; those that are 0 keep their defaults. */
static int choose_model(const verb *v, train_settings *s, const parsed *p, const attend_training_sizes *z)
{
    const bool hidden_given = options_given(v, p, "hidden");
    int status = choose(v, s, p, "hidden", "%.0f", z->hidden);
    if (status == 0 && z->embedding) status = choose(v, s, p, "embedding", "%.0f", z->embedding);
    if (status == 0 && z->layers) status = choose(v, s, p, "layers", "%.0f", z->layers);
    if (status == 0 && z->heads) status = choose(v, s, p, "heads", "%.0f", z->heads);
    if (status == 0 && z->feed_forward_width && !hidden_given) /* else the model defaults to 4 times the given width */
        status = choose(v, s, p, "feed-forward-width", "%.0f", z->feed_forward_width);
    if (status == 0) status = choose(v, s, p, "dropout", "%g", z->dropout);
    if (status == 0 && z->learning_rate > 0) status = choose(v, s, p, "learning-rate", "%g", z->learning_rate);
    if (status == 0 && z->warmup) status = choose(v, s, p, "warmup", "%.0f", (double)z->warmup);
    return status;
}

/* The sizes that pairs and lines have in common. */
static int choose_sizes(const verb *v, train_settings *s, const parsed *p, const attend_training_sizes *z)
{
    const bool has_bpe = z->tokens[0] == ATTEND_TOKENS_BPE || z->tokens[1] == ATTEND_TOKENS_BPE;
    int status = has_bpe && !s->has_vocabularies ? choose(v, s, p, "vocab-size", "%.0f", z->vocab_size) : 0;
    if (status == 0) status = choose_model(v, s, p, z);
    if (status == 0 && z->label_smoothing != s->smoothing)
        status = choose(v, s, p, "label-smoothing", "%g", z->label_smoothing);
    if (status == 0) status = choose(v, s, p, "batch-tokens", "%.0f", z->batch_tokens);
    if (status == 0 && s->valid.count == 0 && s->updates == 0) /* no other option ends the training */
        status = choose(v, s, p, "epochs", "%.0f", (double)z->epochs);
    return status;
}

static int choose_for_lines(const verb *v, train_settings *s, const parsed *p, const attend_data_check_counts *n)
{
    const attend_data_size data = { n->usable, { 0, n->words[1] }, { 0, n->characters[1] } };
    const int kind = options_given(v, p, "tokens") ? s->tokens : s->kinds[1];
    const attend_training_sizes z = attend_training_sizes_for((attend_preset)s->preset, s->config.architecture, &data,
                                                              (const int[2]){ kind, kind });
    snprintf(s->basis, sizeof s->basis, "%llu lines, %llu characters", (unsigned long long)n->usable,
             (unsigned long long)n->characters[1]);
    s->source_tokens = s->target_tokens = (int)z.tokens[0];
    if (kind < 0) snprintf(s->chosen, sizeof s->chosen, "tokens %s", attend_token_kind_names[z.tokens[0]]);
    give_reason(s, &z, n->usable, z.is_word_level ? "lines of words" : "lines of text");
    return choose_sizes(v, s, p, &z);
}

int train_settings_choose(const verb *v, train_settings *s, const parsed *p, const attend_data_check_counts *n)
{
    if (s->config.task == ATTEND_TASK_LANGUAGE_MODEL) return choose_for_lines(v, s, p, n);
    const attend_data_size data = { n->usable, { n->words[0], n->words[1] }, { n->characters[0], n->characters[1] } };
    const int settled[2] = { requested_kind(v, s, p, 0), requested_kind(v, s, p, 1) };
    attend_training_sizes z =
        attend_training_sizes_for((attend_preset)s->preset, s->config.architecture, &data, settled);
    if (s->config.shared_vocab && z.tokens[0] != z.tokens[1]) { /* a shared vocabulary has one tokenization */
        const int one = settled[0] >= 0 ? settled[0] : ATTEND_TOKENS_BPE;
        z = attend_training_sizes_for((attend_preset)s->preset, s->config.architecture, &data,
                                      (const int[2]){ one, one });
    }
    snprintf(s->basis, sizeof s->basis, "%llu pairs, %llu and %llu characters", (unsigned long long)n->usable,
             (unsigned long long)n->characters[0], (unsigned long long)n->characters[1]);
    for (int side = 0; side < 2; side++) /* --tokens sets both sides */
        if (settled[side] >= 0) *(side ? &s->target_tokens : &s->source_tokens) = settled[side];
    give_reason(s, &z, n->usable, z.is_word_level ? "pairs of words" : "pairs of sentences");
    int status = choose_kind(v, s, p, 0, z.tokens[0]);
    if (status == 0) status = choose_kind(v, s, p, 1, z.tokens[1]);
    return status == 0 ? choose_sizes(v, s, p, &z) : status;
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
        .seed = (long long)o.seed,
        .threads = attend_processors_threads(), /* the library's default is 1 */
        .memory = (long long)o.memory,
        .keep = o.keep,
        .average_checkpoints = o.average_checkpoints,
        .kinds = { -1, -1 },
    };
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
        o.tokens[side].lowercase = s->lowercase == LOWERCASE_BOTH || (s->lowercase == LOWERCASE_SOURCE && side == 0);
        if (o.tokens[side].kind != ATTEND_TOKENS_BPE && !options_given(v, p, "vocab-size"))
            o.tokens[side].vocab_size = 0;
        if (options_given(v, p, side ? "target-vocab-size" : "source-vocab-size"))
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
    o.valid_metric = valid_metric_of(s->metric, s->is_word_level);
    o.seed = (uint64_t)s->seed;
    o.threads = (int)s->threads;
    o.memory = (size_t)s->memory;
    o.keep = (int)s->keep, o.average_checkpoints = (int)s->average_checkpoints;
    o.fresh = s->fresh;
    o.basis = s->basis;
    return o;
}
