/* config.c: the table of configuration fields. A new field is a member of attend_config, its default in
 * ATTEND_CONFIG_INIT, and one line of the table: parsing, range checks, help, `attend info`, the check for fields
 * without effect and model files follow from it. */
#include <attend/config.h>

#include "core/status.h"
#include "model/architecture.h"
#include "model/config.h"
#include <attend/parse.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CHOICES = 32, MAX_VALUES_TEXT = 256 };

typedef struct field {
    attend_config_field public;
    size_t offset;   /* of the member */
    double min, max; /* of INTEGER and REAL */
} field;

/* ---- the table ---- */

/* Sets of architectures. */
enum {
    RNN = 1 << ATTEND_ARCHITECTURE_RNN,
    TRANSFORMER = 1 << ATTEND_ARCHITECTURE_TRANSFORMER,
    LSTMN = 1 << ATTEND_ARCHITECTURE_LSTMN,
    RECURRENT = RNN | LSTMN,
    NONE = 0,
    ALL = ~0
};

#define FIELD(name, old_name, key, since, type, member, values, min, max, default_value, translation, language_model,  \
              help)                                                                                                    \
    {                                                                                                                  \
        { name,                                                                                                        \
          old_name,                                                                                                    \
          key,                                                                                                         \
          since,                                                                                                       \
          ATTEND_FIELD_##type,                                                                                         \
          values,                                                                                                      \
          default_value,                                                                                               \
          (unsigned)(translation),                                                                                     \
          (unsigned)(language_model),                                                                                  \
          help },                                                                                                      \
            offsetof(attend_config, member), min, max                                                                  \
    }
#define INTEGER(name, member, min, max, default_value, since, translation, language_model, help)                       \
    FIELD(name, NULL, name, since, INTEGER, member, #min ".." #max, min, max, default_value, translation,              \
          language_model, help)
#define REAL(name, member, min, max, default_value, since, translation, language_model, help)                          \
    FIELD(name, NULL, name, since, REAL, member, #min ".." #max, min, max, default_value, translation, language_model, \
          help)
#define SWITCH(name, member, default_value, since, translation, language_model, help)                                  \
    FIELD(name, NULL, name, since, SWITCH, member, "yes|no", 0, 0, default_value, translation, language_model, help)
/* `values`: in the order of the enum. */
#define CHOICE(name, member, values, default_value, since, translation, language_model, help)                          \
    FIELD(name, NULL, name, since, CHOICE, member, values, 0, 0, default_value, translation, language_model, help)

/* The values of these two fields are lists that exist elsewhere: attend_architectures and attend_scores. */
static char architecture_values[MAX_VALUES_TEXT], score_values[MAX_VALUES_TEXT];

/* Ranges keep every width that a model adds up or multiplies by its gates far below INT_MAX; areas (rows times width)
 * may exceed an int and are size_t everywhere.
 *
 * since: fields of version "0.0" are in every valid file. A file that lacks a later field gets the default.
 *
 *    name, member, values or range, default, since, architectures where it has an effect (as a translation model, as a
 *    language model), help */
static const field fields[] = {
    CHOICE("task", task, "translation|language-model", "translation", "0.1", ALL, ALL,
           "translate a source to a target, or model lines of text"),
    FIELD("architecture", NULL, "architecture", "0.1", CHOICE, architecture, architecture_values, 0, 0, "rnn", ALL, ALL,
          "kind of network"),
    CHOICE("cell", cell, "simple|gru|gru-reset-before|lstm", "gru", "0.0", RNN, RNN, "recurrent cell"),
    CHOICE("activation", activation, "tanh|relu", "tanh", "0.0", RNN, RNN,
           "activation of the cell; gates are always sigmoid"),
    INTEGER("layers", layers, 1, 8, "1", "0.0", ALL, ALL, "layers of encoder and decoder"),
    INTEGER("decoder-layers", decoder_layers, 0, 8, "0", "0.1", TRANSFORMER | LSTMN, TRANSFORMER | LSTMN,
            "transformer, lstmn: layers of the decoder; 0: as many as layers"),
    INTEGER("hidden", hidden, 1, 16384, "256", "0.0", ALL, ALL, "width of a recurrent cell or a transformer layer"),
    INTEGER("embedding", embedding, 0, 16384, "0", "0.0", ALL, ALL,
            "width of a token embedding; 0: 256, or hidden for a transformer"),
    SWITCH("bidirectional", bidirectional, "yes", "0.0", RNN, NONE, "the encoder reads in both directions"),
    CHOICE("start", start, "map|copy", "map", "0.0", RNN, NONE,
           "initial decoder state: tanh(W h + b) of the encoder's final state h, or h itself"),
    FIELD("attention", NULL, "attention", "0.0", SCORE, attention, score_values, 0, 0, "additive", RECURRENT, NONE,
          "score function of the attention"),
    CHOICE("context", context, "before|after", "before", "0.0", RNN, NONE,
           "the context enters before the decoder step (Bahdanau) or after it (Luong)"),
    SWITCH("input-feeding", input_feeding, "no", "0.0", RNN, NONE,
           "with context after: feed the previous attentional state into the next step"),
    CHOICE("readout", readout, "plain|deep", "deep", "0.0", RNN, RNN,
           "predict from the state, or from state, context and previous token"),
    INTEGER("heads", heads, 0, 256, "0", "0.0", ALL, TRANSFORMER, "number of attention heads; 0: one"),
    INTEGER("attention-width", attention_width, 0, 16384, "0", "0.0", RECURRENT, LSTMN,
            "inner width of additive and projected attention; 0: hidden"),
    FIELD("max-positions", "longest", "longest", "0.0", INTEGER, max_positions, "1..65536", 1, 65536, "128", ALL,
          TRANSFORMER, "location attention, learned positions: maximum number of positions"),
    INTEGER("filters", filters, 1, 1024, "8", "0.0", RECURRENT, NONE,
            "location-sensitive attention: filters over the previous weights"),
    INTEGER("filter-size", filter_size, 1, 1024, "15", "0.0", RECURRENT, NONE,
            "location-sensitive attention: weights that each filter covers"),
    CHOICE("window", window, "global|local-m|local-p", "global", "0.0", RECURRENT, NONE,
           "source positions that a query attends to"),
    INTEGER("window-size", window_size, 1, 65536, "5", "0.0", RECURRENT, NONE,
            "local windows: positions on each side of the centre"),
    CHOICE("selection", selection, "soft|sparsemax|entmax15|hard", "soft", "0.0", RECURRENT, NONE,
           "function from scores to weights"),
    CHOICE("estimator", estimator, "straight-through|reinforce", "straight-through", "0.0", RECURRENT, NONE,
           "gradient estimator of hard attention"),
    REAL("temperature", temperature, 1e-6, 1e6, "1", "0.0", RECURRENT, NONE,
         "temperature of the straight-through estimator"),
    REAL("entropy-bonus", entropy_bonus, 0, 1e6, "0", "0.0", RECURRENT, NONE,
         "weight of the entropy term of REINFORCE"),
    CHOICE("norm", norm, "pre|post", "pre", "0.1", TRANSFORMER, TRANSFORMER,
           "transformer: layer norm before or after each sublayer"),
    CHOICE("positions", positions, "sinusoidal|learned|rotary", "sinusoidal", "0.1", TRANSFORMER, TRANSFORMER,
           "transformer: positional encoding"),
    CHOICE("feed-forward", feed_forward, "relu|gelu|gated", "relu", "0.1", TRANSFORMER, TRANSFORMER,
           "transformer: activation of the feed-forward sublayer"),
    INTEGER("feed-forward-width", feed_forward_width, 0, 65536, "0", "0.1", TRANSFORMER, TRANSFORMER,
            "transformer: width of the feed-forward sublayer; 0: 4 * hidden"),
    CHOICE("fusion", fusion, "shallow|deep", "shallow", "0.1", LSTMN, NONE,
           "lstmn: attention to the source beside the decoder's cell or inside it"),
    INTEGER("span", span, 0, 65536, "0", "0.1", LSTMN, LSTMN, "lstmn: previous tokens that a cell attends to; 0: all"),
    REAL("dropout", dropout, 0, 0.999, "0.2", "0.0", ALL, ALL,
         "dropout rate on embeddings, between layers and before the output"),
    REAL("attention-dropout", attention_dropout, 0, 0.999, "0", "0.1", TRANSFORMER, TRANSFORMER,
         "transformer: dropout on attention weights"),
    SWITCH("dropout-along-time", dropout_along_time, "no", "0.0", RECURRENT, RECURRENT,
           "one dropout mask per sentence instead of one per token"),
    SWITCH("tie-embeddings", tie_embeddings, "no", "0.0", ALL, ALL, "use the target embedding table as output matrix"),
    SWITCH("shared-vocab", shared_vocab, "no", "0.0", ALL, NONE,
           "one vocabulary and one embedding table for both sides"),
    INTEGER("source-vocab", source_vocab, 4, 10000000, "0", "0.0", ALL, ALL,
            "tokens of the source vocabulary, special ones included"),
    INTEGER("target-vocab", target_vocab, 4, 10000000, "0", "0.0", ALL, ALL,
            "tokens of the target vocabulary, special ones included"),
};

enum { FIELD_COUNT = sizeof fields / sizeof *fields };
_Static_assert(ATTEND_MAX_LAYERS == 8, "the range of layers and decoder-layers");

static void append(char *text, const char *name)
{
    const size_t length = strlen(text);
    snprintf(text + length, MAX_VALUES_TEXT - length, "%s%s", length ? "|" : "", name);
}

static void make_values(void)
{
    for (const architecture *const *a = attend_architectures; *a; a++) append(architecture_values, (*a)->name);
    const int length = snprintf(score_values, sizeof score_values, "none|");
    attend_score_names(score_values + length, sizeof score_values - (size_t)length);
}

static const field *field_at(int i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_values);
    return i >= 0 && i < FIELD_COUNT ? &fields[i] : NULL;
}

const attend_config_field *attend_config_field_at(int i)
{
    const field *f = field_at(i);
    return f ? &f->public : NULL;
}

int attend_config_field_find(const char *name)
{
    ATTEND_REQUIRE(0, name);
    for (int i = 0; i < FIELD_COUNT; i++) {
        const attend_config_field *f = &fields[i].public;
        if (strcmp(f->name, name) == 0 || (f->old_name && strcmp(f->old_name, name) == 0)) return i;
    }
    return -1;
}

static const field *field_of(const char *name)
{
    const field *f = field_at(attend_config_field_find(name));
    if (f) return f;
    const char *names[FIELD_COUNT];
    for (int i = 0; i < FIELD_COUNT; i++) names[i] = fields[i].public.name;
    const char *closest = attend_closest_word(name, names, FIELD_COUNT);
    attend_fail(ATTEND_BAD_USAGE, "a model has no field '%s'%s%s%s", name, closest ? "; did you mean '" : "",
                closest ? closest : "", closest ? "'?" : "");
    return NULL;
}

/* ---- from text ---- */

/* The names in a list such as "yes|no". */
typedef struct choices {
    char text[MAX_VALUES_TEXT];
    const char *names[MAX_CHOICES];
    int count;
} choices;

static void split_choices(const field *f, choices *c)
{
    snprintf(c->text, sizeof c->text, "%s", f->public.values);
    c->count = 0;
    for (char *rest = c->text, *name; c->count < MAX_CHOICES && (name = strtok_r(rest, "|", &rest));)
        c->names[c->count++] = name;
}

static int refuse_value(const field *f, const char *value)
{
    return attend_fail(ATTEND_BAD_USAGE, "%s '%s' is not one of %s", f->public.name, value, f->public.values);
}

/* The index of a name in the list, or -1 and a message. */
static int choice_of(const field *f, const char *value)
{
    choices c;
    split_choices(f, &c);
    for (int i = 0; i < c.count; i++)
        if (strcmp(c.names[i], value) == 0) return i;
    const char *closest = attend_closest_word(value, c.names, (size_t)c.count);
    if (closest)
        attend_fail(ATTEND_BAD_USAGE, "%s '%s' is not one of %s; did you mean '%s'?", f->public.name, value,
                    f->public.values, closest);
    else
        refuse_value(f, value);
    return -1;
}

/* Reports an enum member with a value outside of its enum. */
static int refuse_number(const field *f, int number)
{
    return attend_fail(ATTEND_BAD_USAGE, "%s number %d is not one of %s", f->public.name, number, f->public.values);
}

static int set_number(const field *f, void *to, const char *value)
{
    const bool integer = f->public.type == ATTEND_FIELD_INTEGER;
    double x;
    if (!attend_parse_real(value, NULL, &x) || !(x >= f->min && x <= f->max) || (integer && x != floor(x)))
        return attend_fail(ATTEND_BAD_USAGE, "%s '%s' is not %s in %s", f->public.name, value,
                           integer ? "an integer" : "a number", f->public.values);
    if (integer)
        *(int *)to = (int)x;
    else
        *(double *)to = x;
    return ATTEND_OK;
}

int attend_config_set(attend_config *config, const char *name, const char *value)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, config && name && value);
    const field *f = field_of(name);
    if (!f) return ATTEND_BAD_USAGE;
    void *to = (char *)config + f->offset;
    if (f->public.type == ATTEND_FIELD_INTEGER || f->public.type == ATTEND_FIELD_REAL) return set_number(f, to, value);
    const int choice = choice_of(f, value);
    if (choice < 0) return ATTEND_BAD_USAGE;
    if (f->public.type == ATTEND_FIELD_SWITCH)
        *(bool *)to = choice == 0;
    else if (f->public.type == ATTEND_FIELD_SCORE)
        *(const attend_score **)to = choice == 0 ? NULL : attend_scores[choice - 1];
    else
        memcpy(to, &choice, sizeof choice); /* enums of the public headers are as wide as an int; tested */
    return ATTEND_OK;
}

/* ---- to text ---- */

int attend_config_get(const attend_config *config, const char *name, char *text, size_t size)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, config && name && text);
    const field *f = field_of(name);
    if (!f) return ATTEND_BAD_USAGE;
    const void *from = (const char *)config + f->offset;
    const attend_score *score;
    choices c;
    int number, length = -1;
    switch (f->public.type) {
    case ATTEND_FIELD_INTEGER:
        length = snprintf(text, size, "%d", *(const int *)from);
        break;
    case ATTEND_FIELD_REAL:
        length = attend_format_real(text, size, *(const double *)from, 15);
        break;
    case ATTEND_FIELD_SWITCH:
        length = snprintf(text, size, "%s", *(const bool *)from ? "yes" : "no");
        break;
    case ATTEND_FIELD_CHOICE:
        memcpy(&number, from, sizeof number);
        split_choices(f, &c);
        if (number < 0 || number >= c.count) return refuse_number(f, number);
        length = snprintf(text, size, "%s", c.names[number]);
        break;
    case ATTEND_FIELD_SCORE:
        memcpy(&score, from, sizeof score);
        length = snprintf(text, size, "%s", score ? score->name : "none");
        break;
    }
    if (length < 0 || (size_t)length >= size)
        return attend_fail(ATTEND_BAD_USAGE, "attend_config_get: %zu bytes are too few for '%s'", size, name);
    return ATTEND_OK;
}

/* ---- ranges ---- */

int attend_config_check_ranges(const attend_config *config)
{
    for (int i = 0; i < FIELD_COUNT; i++) {
        const field *f = field_at(i);
        const void *from = (const char *)config + f->offset;
        choices c;
        double x = f->min;
        int number;
        if (f->public.type == ATTEND_FIELD_INTEGER) x = *(const int *)from;
        if (f->public.type == ATTEND_FIELD_REAL) x = *(const double *)from;
        if (!(x >= f->min && x <= f->max))
            return attend_fail(ATTEND_BAD_USAGE, "%s %g is not in %s", f->public.name, x, f->public.values);
        if (f->public.type != ATTEND_FIELD_CHOICE) continue;
        memcpy(&number, from, sizeof number);
        split_choices(f, &c);
        if (number < 0 || number >= c.count) return refuse_number(f, number);
    }
    return ATTEND_OK;
}

/* ---- fields without effect ---- */

static unsigned architectures_of(attend_task task, const attend_config_field *f)
{
    return task == ATTEND_TASK_LANGUAGE_MODEL ? f->language_model : f->translation;
}

bool attend_config_field_applies(const attend_config *config, const attend_config_field *f)
{
    ATTEND_REQUIRE(false, attend_config_has_architecture(config) && f);
    return (architectures_of(config->task, f) & 1u << config->architecture) != 0;
}

/* Whether the value of a field without effect is harmless: "no", 0, or the value that the architecture implies (cell
 * lstm of an LSTMN). */
static bool is_harmless(const attend_config *config, const char *name)
{
    attend_config checked = ATTEND_CONFIG_INIT;
    char given[64], used[64];
    checked.task = config->task, checked.architecture = config->architecture;
    checked.source_vocab = checked.target_vocab = ATTEND_FIRST_TOKEN + 1;
    if (attend_config_get(config, name, given, sizeof given) != ATTEND_OK) return true;
    if (strcmp(given, "no") == 0 || strcmp(given, "0") == 0) return true;
    return attend_config_check(&checked) == ATTEND_OK &&
           attend_config_get(&checked, name, used, sizeof used) == ATTEND_OK && strcmp(given, used) == 0;
}

static int refuse_field(const attend_config *config, const attend_config_field *f)
{
    const unsigned architectures = architectures_of(config->task, f);
    char list[MAX_VALUES_TEXT] = "";
    if (architectures == 0)
        return attend_fail(ATTEND_BAD_USAGE, "%s has no effect for a language model, which has no source: leave it out",
                           f->name);
    for (int i = 0; attend_architectures[i]; i++) {
        const size_t length = strlen(list);
        if (architectures & 1u << i)
            snprintf(list + length, sizeof list - length, "%s'%s'", length ? " or " : "",
                     attend_architectures[i]->name);
    }
    return attend_fail(ATTEND_BAD_USAGE, "%s belongs to architecture %s, but this model is '%s': leave it out", f->name,
                       list, attend_architectures[config->architecture]->name);
}

int attend_config_check_given(const attend_config *config, const bool *given)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, config && given);
    for (int i = 0; i < FIELD_COUNT; i++) {
        const attend_config_field *f = attend_config_field_at(i);
        if (!given[i] || attend_config_field_applies(config, f)) continue;
        if (architectures_of(config->task, f) == 0 || !is_harmless(config, f->name)) return refuse_field(config, f);
    }
    return ATTEND_OK;
}
