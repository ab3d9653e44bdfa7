/* train_options.c: what a training is told on a command line. */
#include "train_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[] = { "word", "char", "bpe", NULL };

enum { MOST_THREADS = 2 }; /* for each core */

#define AT(member) offsetof(train_settings, member)
const option train_option_table[] = {
    { "preset", "tiny|g2p|translate-small|translate", "a size; without it, the data decides (docs/training.md)",
      OPTION_WORD, AT(preset), 0, 0, attend_preset_names },
    { "tokens", "word|char|bpe", "what a line is cut into; bpe for sentences", OPTION_WORD, AT(tokens), 0, 0, kinds },
    { "source-tokens", "word|char|bpe", "of the source alone", OPTION_WORD, AT(source_tokens), 0, 0, kinds },
    { "target-tokens", "word|char|bpe", "of the target alone", OPTION_WORD, AT(target_tokens), 0, 0, kinds },
    { "vocab-size", "N", "entries of a vocabulary at most", OPTION_WHOLE, AT(vocab_size), 0, 1e7, NULL },
    { "source-vocab-size", "N", "of the source alone", OPTION_WHOLE, AT(source_vocab_size), 0, 1e7, NULL },
    { "target-vocab-size", "N", "of the target alone", OPTION_WHOLE, AT(target_vocab_size), 0, 1e7, NULL },
    { "min-count", "N", "words seen less often are unknown; 1", OPTION_WHOLE, AT(min_count), 1, 1e9, NULL },
    { "bpe-dropout", "P", "merges left out at random, each epoch anew", OPTION_REAL, AT(bpe_dropout), 0, 0.99, NULL },
    { "max-length", "N", "longer sentences are left out; 200", OPTION_WHOLE, AT(max_length), 1, 1e6, NULL },
    { "optimizer", "sgd|adam", "how weights are changed", OPTION_WORD, AT(optimizer), 0, 0, attend_optimizer_names },
    { "momentum", "X", "of sgd", OPTION_REAL, AT(momentum), 0, 0.9999, NULL },
    { "weight-decay", "X", "decoupled", OPTION_REAL, AT(weight_decay), 0, 1, NULL },
    { "learning-rate", "X", "step size; 0.001", OPTION_REAL, AT(rate), 0, 100, NULL },
    { "schedule", "constant|inverse-sqrt|cosine|plateau",
      "how the step size changes; plateau: halved when nothing gets better", OPTION_WORD, AT(schedule), 0, 0,
      attend_schedule_names },
    { "warmup", "N", "updates over which the step size rises", OPTION_WHOLE, AT(warmup), 0, 1e9, NULL },
    { "clip", "X", "longest gradient; 1; 0: any", OPTION_REAL, AT(clip), 0, 1e9, NULL },
    { "label-smoothing", "P", "share of probability given to all words; 0.1", OPTION_REAL, AT(smoothing), 0, 0.99,
      NULL },
    { "average", "P", "keep a moving average of the weights (0.999, say)", OPTION_REAL, AT(average), 0, 0.999999,
      NULL },
    { "average-last", "N", "at the end, the mean of the last N models is kept if it is better; 0: none", OPTION_WHOLE,
      AT(average_checkpoints), 0, ATTEND_MAX_AVERAGED_CHECKPOINTS, NULL },
    { "accumulate", "N", "batches of an update", OPTION_WHOLE, AT(accumulate), 1, 1e4, NULL },
    { "batch-tokens", "N", "words of a batch", OPTION_WHOLE, AT(batch_tokens), 1, 1e8, NULL },
    { "epochs", "N", "passes over the data at most", OPTION_WHOLE, AT(epochs), 1, 1e9, NULL },
    { "updates", "N", "updates at most", OPTION_WHOLE, AT(updates), 1, 1e15, NULL },
    { "patience", "N", "validations without a better model before it ends; 10; 0: never", OPTION_WHOLE, AT(patience), 0,
      1e9, NULL },
    { "valid-every", "N", "updates between validations; about an epoch", OPTION_WHOLE, AT(valid_every), 1, 1e15, NULL },
    { "valid-metric", "perplexity|bleu|chrf|token-accuracy|word-error|exact", "what makes a model better; perplexity",
      OPTION_WORD, AT(metric), 0, 0, attend_valid_metric_names },
    { "seed", "N", "the same seed gives the same model", OPTION_WHOLE, AT(seed), 0, 9e15, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

static long cores(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? n : 1;
}

train_settings train_settings_defaults(void)
{
    static const attend_config config = ATTEND_CONFIG_INIT;
    return (train_settings){ .config = config,
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
                             .seed = 1,
                             .threads = cores() };
}

void train_settings_limit_threads(train_settings *s)
{
    if (s->threads <= MOST_THREADS * cores()) return;
    s->threads = MOST_THREADS * cores(); /* each takes memory, and the model is the same */
    if (!s->quiet) fprintf(stderr, "threads     %lld are enough for %ld cores\n", s->threads, cores());
}

/* What needs a source, where there is none. */
static int check_lines(const verb *v, const train_settings *s, const parsed *p)
{
    static const char *const of_sources[] = { "source-tokens", "target-tokens", "source-vocab-size",
                                              "target-vocab-size" };
    if (s->config.task != ATTEND_TASK_LANGUAGE_MODEL) return 0;
    for (size_t i = 0; i < sizeof of_sources / sizeof *of_sources; i++)
        if (options_given(v, p, of_sources[i]))
            return options_wrong(v, "--%s is for a source and a target, and a language model has lines alone",
                                 of_sources[i]);
    if (s->preset == ATTEND_PRESET_G2P)
        return options_wrong(v, "--preset g2p is for pairs, and a language model has lines alone");
    return 0;
}

int train_settings_check(const verb *v, const train_settings *s, const parsed *p)
{
    const int wrong = check_lines(v, s, p);
    if (wrong) return wrong;
    if (options_given(v, p, "source-vocab") || options_given(v, p, "target-vocab"))
        return options_wrong(v, "vocabularies come from the data; --vocab-size limits them");
    if (s->config.shared_vocab && (options_given(v, p, "target-vocab-size") || options_given(v, p, "target-tokens")))
        return options_wrong(v, "with --shared-vocab the target has the source's vocabulary; --tokens and "
                                "--vocab-size are for both");
    return 0;
}

/* ---- sizes ---- */

/* What is chosen for the user goes through the same door as what is given. */
static int choose(const verb *v, train_settings *s, const parsed *p, const char *name, const char *format, double value)
{
    char text[32];
    if (options_given(v, p, name)) return 0;
    snprintf(text, sizeof text, format, value);
    const size_t n = strlen(s->chosen);
    snprintf(s->chosen + n, sizeof s->chosen - n, "%s%s %s", n ? ", " : "", name, text);
    return options_set(v, s, name, text);
}

/* A word, which lives as long as the program. */
static int choose_kind(const verb *v, train_settings *s, const parsed *p, int side, attend_token_kind kind)
{
    const char *const name = side ? "target-tokens" : "source-tokens";
    if (options_given(v, p, name) || options_given(v, p, "tokens")) return 0;
    const size_t n = strlen(s->chosen);
    snprintf(s->chosen + n, sizeof s->chosen - n, "%s%s %s", n ? ", " : "", name, kinds[kind]);
    return options_set(v, s, name, kinds[kind]);
}

static int settled_kind(const verb *v, const train_settings *s, const parsed *p, int side)
{
    if (options_given(v, p, side ? "target-tokens" : "source-tokens"))
        return side ? s->target_tokens : s->source_tokens;
    return options_given(v, p, "tokens") ? s->tokens : -1;
}

/* What was chosen for what. */
static void give_reason(train_settings *s, const attend_training_sizes *z, uint64_t count, const char *of)
{
    snprintf(s->because, sizeof s->because, "%llu %s, %llu tokens%s%s", (unsigned long long)count, of,
             (unsigned long long)z->data_tokens, s->preset ? ", preset " : "",
             s->preset ? attend_preset_names[s->preset] : "");
    s->of_words = z->is_word_level;
}

static int choose_transformer(const verb *v, train_settings *s, const parsed *p, const attend_training_sizes *z)
{
    int status = choose(v, s, p, "hidden", "%.0f", z->transformer.hidden);
    if (status == 0) status = choose(v, s, p, "layers", "%.0f", z->transformer.layers);
    if (status == 0) status = choose(v, s, p, "heads", "%.0f", z->transformer.heads);
    if (status == 0 && !options_given(v, p, "hidden")) /* 4 times as wide as another is what the model takes itself */
        status = choose(v, s, p, "feed-forward-width", "%.0f", z->transformer.feed_forward_width);
    if (status == 0) status = choose(v, s, p, "dropout", "%g", z->transformer.dropout);
    if (status == 0) status = choose(v, s, p, "learning-rate", "%g", z->transformer.rate);
    if (status == 0) status = choose(v, s, p, "warmup", "%.0f", (double)z->transformer.warmup);
    return status;
}

static int choose_network(const verb *v, train_settings *s, const parsed *p, const attend_training_sizes *z)
{
    int status = choose(v, s, p, "hidden", "%.0f", z->hidden);
    if (status == 0) status = choose(v, s, p, "embedding", "%.0f", z->embedding);
    return status == 0 ? choose(v, s, p, "dropout", "%g", z->dropout) : status;
}

/* What pairs and lines have in common. */
static int choose_sizes(const verb *v, train_settings *s, const parsed *p, const attend_training_sizes *z)
{
    const bool pieces = z->tokens[0] == ATTEND_TOKENS_BPE || z->tokens[1] == ATTEND_TOKENS_BPE;
    int status = pieces ? choose(v, s, p, "vocab-size", "%.0f", z->vocab_size) : 0;
    if (status == 0 && s->config.architecture == ATTEND_ARCHITECTURE_TRANSFORMER)
        status = choose_transformer(v, s, p, z);
    else if (status == 0)
        status = choose_network(v, s, p, z);
    if (status == 0 && z->label_smoothing != s->smoothing)
        status = choose(v, s, p, "label-smoothing", "%g", z->label_smoothing);
    if (status == 0) status = choose(v, s, p, "batch-tokens", "%.0f", z->batch_tokens);
    if (status == 0 && s->valid.count == 0 && s->updates == 0) /* nothing else would end it */
        status = choose(v, s, p, "epochs", "%.0f", (double)z->epochs);
    return status;
}

/* Of lines alone, which have one side. */
static int choose_for_lines(const verb *v, train_settings *s, const parsed *p, const attend_data_check_counts *n)
{
    const attend_data_size data = { n->usable, { 0, n->words[1] }, { 0, n->characters[1] } };
    const int kind = options_given(v, p, "tokens") ? s->tokens : -1;
    const attend_training_sizes z =
        attend_training_sizes_for((attend_preset)s->preset, &data, (const int[2]){ kind, kind });
    snprintf(s->basis, sizeof s->basis, "%llu lines, %llu characters", (unsigned long long)n->usable,
             (unsigned long long)n->characters[1]);
    s->source_tokens = s->target_tokens = (int)z.tokens[0];
    if (kind < 0) snprintf(s->chosen, sizeof s->chosen, "tokens %s", kinds[z.tokens[0]]);
    give_reason(s, &z, n->usable, z.is_word_level ? "lines of words" : "lines of text");
    return choose_sizes(v, s, p, &z);
}

int train_settings_choose(const verb *v, train_settings *s, const parsed *p, const attend_data_check_counts *n)
{
    if (s->config.task == ATTEND_TASK_LANGUAGE_MODEL) return choose_for_lines(v, s, p, n);
    const attend_data_size data = { n->usable, { n->words[0], n->words[1] }, { n->characters[0], n->characters[1] } };
    const int settled[2] = { settled_kind(v, s, p, 0), settled_kind(v, s, p, 1) };
    attend_training_sizes z = attend_training_sizes_for((attend_preset)s->preset, &data, settled);
    if (s->config.shared_vocab && z.tokens[0] != z.tokens[1]) { /* one vocabulary has one kind of token */
        const int one = settled[0] >= 0 ? settled[0] : ATTEND_TOKENS_BPE;
        z = attend_training_sizes_for((attend_preset)s->preset, &data, (const int[2]){ one, one });
    }
    snprintf(s->basis, sizeof s->basis, "%llu pairs, %llu and %llu characters", (unsigned long long)n->usable,
             (unsigned long long)n->characters[0], (unsigned long long)n->characters[1]);
    for (int side = 0; side < 2; side++) /* what is said of both is said of each */
        if (settled[side] >= 0) *(side ? &s->target_tokens : &s->source_tokens) = settled[side];
    give_reason(s, &z, n->usable, z.is_word_level ? "pairs of words" : "pairs of sentences");
    int status = choose_kind(v, s, p, 0, z.tokens[0]);
    if (status == 0) status = choose_kind(v, s, p, 1, z.tokens[1]);
    return status == 0 ? choose_sizes(v, s, p, &z) : status;
}

void train_settings_print_choice(const train_settings *s)
{
    if (!s->quiet && *s->chosen) fprintf(stderr, "chosen      for %s: %s\n", s->because, s->chosen);
}

/* ---- what the library is told ---- */

attend_pairs_spec *pairs_list_specs(const pairs_list *list)
{
    attend_pairs_spec *specs = calloc((size_t)list->count + 1, sizeof *specs);
    for (int i = 0; specs && i < list->count; i++)
        specs[i] = (attend_pairs_spec){ list->items[i].first, list->items[i].second };
    return specs;
}

attend_train_options train_settings_options(const verb *v, const train_settings *s, const parsed *p,
                                            const attend_pairs_spec *train, const attend_pairs_spec *valid)
{
    attend_train_options o = attend_train_defaults();
    o.train = train, o.train_count = s->train.count;
    o.valid = valid, o.valid_count = s->valid.count;
    o.config = s->config;
    for (int side = 0; side < 2; side++) {
        const char *const name = side ? "target-tokens" : "source-tokens";
        const int own = side ? s->target_tokens : s->source_tokens;
        o.tokens[side].kind =
            (attend_token_kind)(options_given(v, p, name) || !options_given(v, p, "tokens") ? own : s->tokens);
        o.tokens[side].vocab_size = (int)s->vocab_size;
        o.tokens[side].min_count = (int)s->min_count;
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
    o.valid_metric = (attend_valid_metric)s->metric;
    o.seed = (uint64_t)s->seed;
    o.threads = (int)s->threads;
    o.memory = (size_t)s->memory;
    o.keep = (int)s->keep, o.average_checkpoints = (int)s->average_checkpoints;
    o.fresh = s->fresh;
    o.basis = s->basis;
    return o;
}
