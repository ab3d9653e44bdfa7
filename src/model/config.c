/* config.c: the table of a model's fields. A new field is a member of attend_config, its default there, and a line here. */
#include <attend/config.h>

#include "core/closest_word.h"
#include "core/number.h"
#include "core/status.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum field_kind { WHOLE, REAL, YES_NO, WORD, SCORE } field_kind;

typedef struct field {
    attend_config_field said;
    field_kind kind;
    size_t offset;
    double least, most;       /* of numbers */
    const char *const *words; /* of WORD, in the order of its enum; NULL at the end */
} field;

static const char *const tasks[] = { "translation", "language-model", NULL };
static const char *const architectures[] = { "rnn", "transformer", "lstmn", NULL };
static const char *const norms[] = { "pre", "post", NULL };
static const char *const positions[] = { "sinusoidal", "learned", "rotary", NULL };
static const char *const feed_forwards[] = { "relu", "gelu", "gated", NULL };
static const char *const fusions[] = { "shallow", "deep", NULL };
static const char *const cells[] = { "simple", "gru", "gru-reset-before", "lstm", NULL };
static const char *const activations[] = { "tanh", "relu", NULL };
static const char *const starts[] = { "map", "copy", NULL };
static const char *const places[] = { "before", "after", NULL };
static const char *const readouts[] = { "plain", "deep", NULL };
static const char *const windows[] = { "global", "local-m", "local-p", NULL };
static const char *const selections[] = { "soft", "sparsemax", "entmax15", "hard", NULL };
static const char *const estimators[] = { "straight-through", "reinforce", NULL };

#define AT(member) offsetof(attend_config, member)
#define NUMBER(name, member, least, most, text, help)                                                                  \
    {                                                                                                                  \
        { name, text, help }, WHOLE, AT(member), least, most, NULL                                                     \
    }
#define WORDS(name, member, list, text, help)                                                                          \
    {                                                                                                                  \
        { name, text, help }, WORD, AT(member), 0, 0, list                                                             \
    }
#define SWITCH(name, member, help)                                                                                     \
    {                                                                                                                  \
        { name, "yes|no", help }, YES_NO, AT(member), 0, 0, NULL                                                       \
    }
#define FRACTION(name, member, least, most, text, help)                                                                \
    {                                                                                                                  \
        { name, text, help }, REAL, AT(member), least, most, NULL                                                      \
    }

/* Bounds keep every width a model adds up or multiplies by its gates far below what an int holds; areas, rows times width, do not fit one and
 * are size_t everywhere. */
enum { WIDEST = 16384, MOST_WORDS = 10000000 };

static const field fields[] = {
    WORDS("task", task, tasks, "translation|language-model", "source to target, or lines of text alone"),
    WORDS("architecture", architecture, architectures, "rnn|transformer|lstmn", "what kind of network"),
    WORDS("cell", cell, cells, "simple|gru|gru-reset-before|lstm", "recurrent cell"),
    WORDS("activation", activation, activations, "tanh|relu", "of the cell; its gates stay sigmoid"),
    NUMBER("layers", layers, 1, ATTEND_MAX_LAYERS, "1..8", "of encoder and decoder"),
    NUMBER("decoder-layers", decoder_layers, 0, ATTEND_MAX_LAYERS, "0..8",
           "of a transformer's or lstmn's decoder; 0: as layers"),
    NUMBER("hidden", hidden, 1, WIDEST, "1..16384", "width of a cell, or of a transformer"),
    NUMBER("embedding", embedding, 0, WIDEST, "0..16384", "width of a word; 0: 256, or a transformer's hidden"),
    SWITCH("bidirectional", bidirectional, "the encoder reads in both directions"),
    WORDS("start", start, starts, "map|copy", "the decoder's first state: tanh(W h + b) of the encoder's last, or h"),
    { { "attention", "none|dot|scaled-dot|bilinear|additive|projected|location|location-sensitive",
        "score of the attention" },
      SCORE,
      AT(attention),
      0,
      0,
      NULL },
    WORDS("context", context, places, "before|after",
          "the context enters before the step (Bahdanau) or after it (Luong)"),
    SWITCH("input-feeding", input_feeding, "with context after: what was predicted from enters the next step"),
    WORDS("readout", readout, readouts, "plain|deep", "predict from the state, or from state, context and last word"),
    NUMBER("heads", heads, 0, 256, "1..256", "of the attention"),
    NUMBER("attention-width", attention_width, 0, WIDEST, "1..16384",
           "inside additive and projected attention; 0: hidden"),
    NUMBER("longest", longest, 1, 1 << 16, "1..65536", "location attention, learned positions: words at most"),
    NUMBER("filters", filters, 1, 1024, "1..1024", "location-sensitive attention: filters over the last weights"),
    NUMBER("filter-size", filter_size, 1, 1024, "1..1024", "and how many weights each sees"),
    WORDS("window", window, windows, "global|local-m|local-p", "which keys a query sees"),
    NUMBER("window-size", window_size, 1, 1 << 16, "1..65536", "of a local window: keys on each side"),
    WORDS("selection", selection, selections, "soft|sparsemax|entmax15|hard", "scores to weights"),
    WORDS("estimator", estimator, estimators, "straight-through|reinforce", "how hard attention learns"),
    FRACTION("temperature", temperature, 1e-6, 1e6, "1e-6..1e6", "of the straight-through estimator"),
    FRACTION("entropy-bonus", entropy_bonus, 0, 1e6, "0..1e6", "of REINFORCE"),
    WORDS("norm", norm, norms, "pre|post", "transformer: normalise before or after each part"),
    WORDS("positions", positions, positions, "sinusoidal|learned|rotary", "transformer: how it tells places"),
    WORDS("feed-forward", feed_forward, feed_forwards, "relu|gelu|gated", "transformer: inside a feed-forward part"),
    NUMBER("feed-forward-width", feed_forward_width, 0, 4 * WIDEST, "0..65536", "and its width; 0: 4 hidden"),
    WORDS("fusion", fusion, fusions, "shallow|deep", "lstmn: attention beside the decoder's cell or inside it"),
    NUMBER("span", span, 0, 1 << 16, "0..65536", "lstmn: words a cell looks back to; 0: all"),
    FRACTION("dropout", dropout, 0, 0.999, "0..0.999", "on embeddings, between layers and before the output"),
    FRACTION("attention-dropout", attention_dropout, 0, 0.999, "0..0.999", "on the weights inside a transformer"),
    SWITCH("dropout-along-time", dropout_along_time, "one dropout mask a sentence, not one a word"),
    SWITCH("tie-embeddings", tie_embeddings, "the output matrix is the target's embedding table"),
    SWITCH("shared-vocab", shared_vocab, "one vocabulary and one embedding table for both sides"),
    NUMBER("source-vocab", source_vocab, 4, MOST_WORDS, "4..10000000", "words of the source, special ones included"),
    NUMBER("target-vocab", target_vocab, 4, MOST_WORDS, "4..10000000", "words of the target"),
};

enum { FIELDS = sizeof fields / sizeof *fields };

const attend_config_field *attend_config_field_at(int i)
{
    return i >= 0 && i < FIELDS ? &fields[i].said : NULL;
}

static const field *field_of(const char *name)
{
    const char *names[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        names[i] = fields[i].said.name;
        if (strcmp(names[i], name) == 0) return &fields[i];
    }
    const char *near = attend_closest_word(name, names, FIELDS);
    attend_fail(ATTEND_BAD_USAGE, "a model has no '%s'%s%s%s", name, near ? "; did you mean '" : "", near ? near : "",
                near ? "'?" : "");
    return NULL;
}

/* ---- reading ---- */

static int refuse(const field *f, const char *value)
{
    return attend_fail(ATTEND_BAD_USAGE, "%s '%s' is not one of %s", f->said.name, value, f->said.values);
}

static int refuse_word(const field *f, const char *value, const char *const *words, size_t count)
{
    const char *near = attend_closest_word(value, words, count);
    if (!near) return refuse(f, value);
    return attend_fail(ATTEND_BAD_USAGE, "%s '%s' is not one of %s; did you mean '%s'?", f->said.name, value,
                       f->said.values, near);
}

/* A member of the struct that is none of its enum. */
static int refuse_number(const field *f, int number)
{
    return attend_fail(ATTEND_BAD_USAGE, "%s number %d is not one of %s", f->said.name, number, f->said.values);
}

static size_t word_count(const field *f)
{
    size_t count = 0;
    while (f->words[count]) count++;
    return count;
}

static int set_number(const field *f, void *to, const char *value)
{
    double x;
    if (!attend_number_read(value, &x) || !(x >= f->least && x <= f->most) || (f->kind == WHOLE && x != floor(x)))
        return refuse(f, value);
    if (f->kind == WHOLE)
        *(int *)to = (int)x;
    else
        *(double *)to = x;
    return ATTEND_OK;
}

static int set_switch(const field *f, void *to, const char *value)
{
    static const char *const words[] = { "yes", "no" };
    if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0) return refuse_word(f, value, words, 2);
    *(bool *)to = value[0] == 'y';
    return ATTEND_OK;
}

static int set_word(const field *f, void *to, const char *value)
{
    for (int number = 0; f->words[number]; number++)
        if (strcmp(f->words[number], value) == 0) {
            memcpy(to, &number, sizeof number); /* enums of the public headers are as wide as an int; tested */
            return ATTEND_OK;
        }
    return refuse_word(f, value, f->words, word_count(f));
}

static int set_score(const field *f, void *to, const char *value)
{
    enum { MOST = 32 };
    const char *names[MOST] = { "none" };
    size_t count = 1;
    for (; attend_scores[count - 1] && count < MOST; count++) names[count] = attend_scores[count - 1]->name;
    const attend_score *score = attend_score_find(value);
    if (!score && strcmp(value, "none") != 0) return refuse_word(f, value, names, count);
    *(const attend_score **)to = score;
    return ATTEND_OK;
}

int attend_config_set(attend_config *config, const char *name, const char *value)
{
    const field *f = field_of(name);
    if (!f) return ATTEND_BAD_USAGE;
    void *to = (char *)config + f->offset;
    switch (f->kind) {
    case WHOLE:
    case REAL:
        return set_number(f, to, value);
    case YES_NO:
        return set_switch(f, to, value);
    case WORD:
        return set_word(f, to, value);
    case SCORE:
        return set_score(f, to, value);
    }
    return ATTEND_BAD_USAGE;
}

/* ---- writing ---- */

int attend_config_get(const attend_config *config, const char *name, char *text, size_t size)
{
    const field *f = field_of(name);
    if (!f) return ATTEND_BAD_USAGE;
    const void *from = (const char *)config + f->offset;
    const attend_score *score;
    int number, length = -1;
    switch (f->kind) {
    case WHOLE:
        length = snprintf(text, size, "%d", *(const int *)from);
        break;
    case REAL:
        length = attend_number_write(text, size, *(const double *)from);
        break;
    case YES_NO:
        length = snprintf(text, size, "%s", *(const bool *)from ? "yes" : "no");
        break;
    case WORD:
        memcpy(&number, from, sizeof number);
        if (number < 0 || (size_t)number >= word_count(f)) return refuse_number(f, number);
        length = snprintf(text, size, "%s", f->words[number]);
        break;
    case SCORE:
        memcpy(&score, from, sizeof score);
        length = snprintf(text, size, "%s", score ? score->name : "none");
        break;
    }
    if (length < 0 || (size_t)length >= size)
        return attend_fail(ATTEND_BAD_USAGE, "attend_config_get: %zu bytes are too few for '%s'", size, name);
    return ATTEND_OK;
}

/* ---- what makes sense together ---- */

static int numbers_fit(const attend_config *c)
{
    for (int i = 0; i < FIELDS; i++) {
        const field *f = &fields[i];
        const void *at = (const char *)c + f->offset;
        double x = 0;
        int number;
        if (f->kind == WHOLE) x = *(const int *)at;
        if (f->kind == REAL) x = *(const double *)at;
        if ((f->kind == WHOLE || f->kind == REAL) && !(x >= f->least && x <= f->most))
            return attend_fail(ATTEND_BAD_USAGE, "%s %g is not in %s", f->said.name, x, f->said.values);
        if (f->kind != WORD) continue;
        memcpy(&number, at, sizeof number);
        if (number < 0 || (size_t)number >= word_count(f)) return refuse_number(f, number);
    }
    return ATTEND_OK;
}

/* The first combination that makes no sense, in words; NULL: none. */
static const char *recurrent_nonsense(const attend_config *c)
{
    const bool attention = c->attention != NULL, local = c->window != ATTEND_WINDOW_GLOBAL;
    const bool translates = c->task == ATTEND_TASK_TRANSLATION;
    if (translates && c->architecture == ATTEND_ARCHITECTURE_RNN && c->start == ATTEND_START_COPY && c->bidirectional)
        return "start 'copy' takes the encoder's last state as it is, but an encoder in both directions has two: "
               "choose "
               "'map', or bidirectional 'no'";
    if (c->architecture == ATTEND_ARCHITECTURE_RNN && c->decoder_layers != c->layers)
        return "a decoder of architecture 'rnn' has as many layers as its encoder: leave decoder-layers out";
    if (!attention && c->input_feeding)
        return "input-feeding feeds what attention made back into the decoder: choose an attention, or leave it out";
    if (attention && c->input_feeding && c->context != ATTEND_CONTEXT_AFTER)
        return "input-feeding belongs to context 'after' (Luong); with 'before' the context enters the next step "
               "anyway";
    if (attention && c->context == ATTEND_CONTEXT_AFTER && c->readout == ATTEND_READOUT_DEEP)
        return "readout 'deep' belongs to context 'before' (Bahdanau); with 'after', tanh(Wc [c; s]) is the readout";
    if (!attention && (local || c->selection != ATTEND_SELECT_SOFT))
        return "a window or a selection needs an attention";
    if (local && c->window == ATTEND_WINDOW_LOCAL_P && c->selection == ATTEND_SELECT_HARD)
        return "selection 'hard' takes one word, and the bell of window 'local-p' would scale it: choose one of the "
               "two";
    if (attention && c->attention->wants_previous && c->heads > 1)
        return "this attention looks at the last weights of one head: heads must be 1";
    if (c->architecture == ATTEND_ARCHITECTURE_LSTMN && translates && !attention)
        return "an lstmn sees the source by attention alone: choose an attention";
    const bool fused = c->architecture == ATTEND_ARCHITECTURE_LSTMN && translates && c->fusion == ATTEND_FUSION_DEEP;
    if (fused && (local || c->selection != ATTEND_SELECT_SOFT || c->heads > 1))
        return "an lstmn with fusion 'deep' looks by cells of its own: a window, a selection or heads belong to fusion "
               "'shallow'";
    if (c->architecture == ATTEND_ARCHITECTURE_LSTMN && c->input_feeding)
        return "input-feeding belongs to architecture 'rnn': an lstmn remembers by looking back";
    const bool own_width =
        c->readout == ATTEND_READOUT_DEEP || (attention && c->context == ATTEND_CONTEXT_AFTER && !fused);
    if (c->attention_dropout > 0)
        return "attention-dropout belongs to architecture 'transformer': leave it out, and choose dropout";
    if (c->tie_embeddings && !own_width && c->hidden != c->embedding)
        return "tie-embeddings needs hidden and embedding to be equal where words are predicted from the state itself";
    return NULL;
}

static const char *transformer_nonsense(const attend_config *c)
{
    if (c->embedding != c->hidden)
        return "a transformer's words are as wide as its rows: leave embedding out, or make it hidden";
    if (c->positions == ATTEND_POSITIONS_ROTARY && c->hidden / c->heads % 2 != 0)
        return "rotary positions turn pairs of numbers: hidden / heads must be even";
    if (c->window != ATTEND_WINDOW_GLOBAL || c->selection != ATTEND_SELECT_SOFT || c->input_feeding)
        return "a window, a selection or input-feeding belongs to architecture 'rnn' or 'lstmn'";
    if (c->dropout_along_time)
        return "dropout-along-time belongs to architecture 'rnn' or 'lstmn': a transformer has no time that it goes "
               "along";
    return NULL;
}

/* What the other words leave no choice about. */
static void settle(attend_config *c)
{
    const bool transformer = c->architecture == ATTEND_ARCHITECTURE_TRANSFORMER;
    if (c->heads == 0) c->heads = 1;
    if (c->attention_width == 0) c->attention_width = c->hidden;
    if (c->embedding == 0) c->embedding = transformer ? c->hidden : 256;
    if (c->decoder_layers == 0) c->decoder_layers = c->layers;
    if (c->feed_forward_width == 0) c->feed_forward_width = 4 * c->hidden;
    if (transformer) c->attention = &attend_score_scaled_dot;
    if (c->architecture == ATTEND_ARCHITECTURE_LSTMN) {
        c->cell = ATTEND_CELL_LSTM;
        c->bidirectional = false;
        c->context = ATTEND_CONTEXT_AFTER;
        c->readout = ATTEND_READOUT_PLAIN;
        if (c->fusion == ATTEND_FUSION_DEEP) c->attention = &attend_score_additive;
    }
    if (c->task == ATTEND_TASK_LANGUAGE_MODEL) {
        if (!transformer) c->attention = NULL;
        c->shared_vocab = true;
    }
}

int attend_config_check(attend_config *c)
{
    if (c->task == ATTEND_TASK_LANGUAGE_MODEL) c->source_vocab = c->target_vocab; /* there is no other side */
    int status = numbers_fit(c);
    if (status != ATTEND_OK) return status;
    settle(c);
    const bool transformer = c->architecture == ATTEND_ARCHITECTURE_TRANSFORMER;
    const char *why = transformer ? transformer_nonsense(c) : recurrent_nonsense(c);
    if (!why && c->shared_vocab && c->source_vocab != c->target_vocab)
        why = "shared-vocab means one vocabulary, but source-vocab and target-vocab differ";
    if (why) return attend_fail(ATTEND_BAD_USAGE, "%s", why);
    if (!c->attention) return ATTEND_OK;
    const bool inner = c->attention == &attend_score_additive || c->attention == &attend_score_projected ||
                       c->attention == &attend_score_location_sensitive;
    if (c->hidden % c->heads != 0 || (inner && c->attention_width % c->heads != 0))
        return attend_fail(ATTEND_BAD_USAGE, "%d heads cannot share hidden %d%s evenly", c->heads, c->hidden,
                           inner && c->attention_width % c->heads != 0 ? " and the attention-width" : "");
    return ATTEND_OK;
}

/* ---- how much there may be of it ---- */

int attend_config_max_tokens(const attend_config *c, bool target)
{
    const bool learned = c->architecture == ATTEND_ARCHITECTURE_TRANSFORMER && c->positions == ATTEND_POSITIONS_LEARNED;
    return learned || (!target && c->attention == &attend_score_location) ? c->longest : INT_MAX;
}

/* ---- who looks at whom ---- */

int attend_config_attention_layers(const attend_config *c, attend_attention_kind look)
{
    const bool translates = c->task == ATTEND_TASK_TRANSLATION,
               transformer = c->architecture == ATTEND_ARCHITECTURE_TRANSFORMER;
    const bool lstmn = c->architecture == ATTEND_ARCHITECTURE_LSTMN;
    const int decoder = c->decoder_layers > 0 ? c->decoder_layers : c->layers; /* 0, if nobody has checked it yet */
    switch (look) {
    case ATTEND_ATTENTION_CROSS:
        if (!translates) return 0;
        if (transformer || (lstmn && c->fusion == ATTEND_FUSION_DEEP)) return decoder;
        return c->attention ? 1 : 0;
    case ATTEND_ATTENTION_ENCODER:
        return translates && (transformer || lstmn) ? c->layers : 0;
    case ATTEND_ATTENTION_DECODER:
        return transformer || lstmn ? decoder : 0;
    }
    return 0;
}

int attend_config_attention_heads(const attend_config *c, attend_attention_kind look)
{
    if (attend_config_attention_layers(c, look) == 0) return 0;
    const bool lstmn = c->architecture == ATTEND_ARCHITECTURE_LSTMN;
    if (lstmn && (look != ATTEND_ATTENTION_CROSS || c->fusion == ATTEND_FUSION_DEEP)) return 1;
    return c->heads > 0 ? c->heads : 1;
}
