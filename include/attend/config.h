/* config.h: the configuration of a model.
 *
 * Purpose    One plain struct, its defaults, and a table that describes its fields (attend_config_field_at): name,
 *            type, values, the architectures a field applies to, and a line of help. Command lines, configuration
 *            files, model files and help texts all use that table. All three come from one list, ATTEND_CONFIG_FIELDS.
 * Defaults   ATTEND_CONFIG_INIT is a sensible model except for the vocabulary sizes, which must be set.
 *            attend_config_check sets fields for which 0 means "chosen by the library" (heads, attention_width,
 *            embedding and others).
 * Ownership  The struct owns nothing; fields and their texts are constant.
 * Threads    All functions may be called from any thread. */
#ifndef ATTEND_CONFIG_H
#define ATTEND_CONFIG_H

#include <attend/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTEND_MAX_LAYERS = 8 };

typedef enum attend_task {
    ATTEND_TASK_TRANSLATION,   /* a source to a target */
    ATTEND_TASK_LANGUAGE_MODEL /* targets only; sources have no tokens */
} attend_task;

typedef enum attend_architecture {
    ATTEND_ARCHITECTURE_RNN,         /* recurrent cells and one attention: Bahdanau et al. 2015, Luong et al. 2015 */
    ATTEND_ARCHITECTURE_TRANSFORMER, /* Vaswani et al. 2017 */
    ATTEND_ARCHITECTURE_LSTMN        /* cells that attend to earlier states: Cheng, Dong, Lapata 2016 */
} attend_architecture;

/* ---- Transformer ---- */

typedef enum attend_norm {
    ATTEND_NORM_PRE, /* x + f(norm(x)), and a norm after the last layer */
    ATTEND_NORM_POST /* norm(x + f(x)), as published */
} attend_norm;

typedef enum attend_positions {
    ATTEND_POSITIONS_SINUSOIDAL,
    ATTEND_POSITIONS_LEARNED, /* at most max_positions */
    ATTEND_POSITIONS_ROTARY   /* Su et al. 2021 */
} attend_positions;

typedef enum attend_feed_forward {
    ATTEND_FEED_FORWARD_RELU,
    ATTEND_FEED_FORWARD_GELU,
    ATTEND_FEED_FORWARD_GATED /* silu(W x) * (V x): Shazeer 2020 */
} attend_feed_forward;

/* ---- LSTMN ---- */

typedef enum attend_fusion {
    ATTEND_FUSION_SHALLOW, /* a separate attention reads the encoder */
    ATTEND_FUSION_DEEP     /* the cell itself reads the encoder's memory */
} attend_fusion;

/* ---- recurrent networks ---- */

/* Where the context enters the decoder; docs/models.md has the equations. */
typedef enum attend_context_position {
    ATTEND_CONTEXT_BEFORE, /* s_t = f(s_{t-1}, [y_{t-1}; c_t]), c_t from s_{t-1}: Bahdanau et al. 2015 */
    ATTEND_CONTEXT_AFTER   /* s_t = f(s_{t-1}, y_{t-1}), c_t from s_t, then tanh(Wc [c_t; s_t]): Luong et al. 2015 */
} attend_context_position;

/* The vector that the output layer reads. */
typedef enum attend_readout {
    ATTEND_READOUT_PLAIN, /* the decoder's state (or Luong's tanh(Wc [c_t; s_t])) */
    ATTEND_READOUT_DEEP   /* tanh(W [s_t; c_t; y_{t-1}] + b): Bahdanau et al. 2015, with tanh instead of maxout */
} attend_readout;

/* The initial state of the decoder. */
typedef enum attend_start {
    ATTEND_START_MAP, /* s_0 = tanh(W h + b), h: final encoder state of this layer, both directions concatenated */
    ATTEND_START_COPY /* s_0 = h, for a unidirectional encoder */
} attend_start;

/* ---- the list of fields ---- */

/* The fields of a configuration, one line each. A line declares the member of attend_config, its default in
 * ATTEND_CONFIG_INIT and its entry in the table of fields, from which options, help texts, checks, `attend info` and
 * model files are made (docs/add-a-field.md).
 *
 *     FIELD(type, member, name, values, default, since, effect, translation, language_model, elsewhere, help)
 *     RENAMED(the same columns, old name)
 *
 * values           INTEGER(minimum, maximum), REAL(minimum, maximum), SWITCH, CHOICE(names in the order of the enum);
 *                  ARCHITECTURE and SCORE: the names of attend_architecture and of attend_scores
 * since            the version that introduced the field; "0.0": it is in every model file. A file that lacks a later
 *                  field gets the default, which must therefore be what models did before
 * effect           MODEL; or TRAINING, if the field does not change what a model computes, so that fine-tuning may
 *                  change it
 * translation, language_model
 *                  the architectures where the field has an effect, by task: RNN, TRANSFORMER, LSTMN, RECURRENT (RNN
 *                  and LSTMN), ALL, NONE
 * elsewhere        what happens to another value than the default where the field has no effect: IGNORED; or REFUSED,
 *                  if the value turns something on that the model would then lack */
#define ATTEND_CONFIG_FIELDS(FIELD, RENAMED)                                                                           \
    FIELD(attend_task, task, "task", CHOICE("translation|language-model"), ATTEND_TASK_TRANSLATION, "0.1", MODEL, ALL, \
          ALL, IGNORED, "translation from a source to a target, or a language model of lines of text")                 \
    FIELD(attend_architecture, architecture, "architecture", ARCHITECTURE, ATTEND_ARCHITECTURE_RNN, "0.1", MODEL, ALL, \
          ALL, IGNORED, "kind of network")                                                                             \
    FIELD(attend_cell_kind, cell, "cell", CHOICE("simple|gru|gru-reset-before|lstm"), ATTEND_CELL_GRU, "0.0", MODEL,   \
          RNN, RNN, IGNORED, "recurrent cell")                                                                         \
    FIELD(attend_activation, activation, "activation", CHOICE("tanh|relu"), ATTEND_TANH, "0.0", MODEL, RNN, RNN,       \
          IGNORED, "activation of the cell; gates are always sigmoid")                                                 \
    FIELD(int, layers, "layers", INTEGER(1, 8), 1, "0.0", MODEL, ALL, ALL, IGNORED, "layers of encoder and decoder")   \
    FIELD(int, decoder_layers, "decoder-layers", INTEGER(0, 8), 0, "0.1", MODEL, TRANSFORMER | LSTMN,                  \
          TRANSFORMER | LSTMN, REFUSED, "transformer, lstmn: layers of the decoder; 0: the same as layers")            \
    FIELD(int, hidden, "hidden", INTEGER(1, 16384), 256, "0.0", MODEL, ALL, ALL, IGNORED,                              \
          "width of a recurrent cell or a transformer layer")                                                          \
    FIELD(int, embedding, "embedding", INTEGER(0, 16384), 0, "0.0", MODEL, ALL, ALL, IGNORED,                          \
          "width of a token embedding; 0: 256 or, for a transformer, hidden")                                          \
    FIELD(bool, bidirectional, "bidirectional", SWITCH, true, "0.0", MODEL, RNN, NONE, IGNORED,                        \
          "the encoder reads in both directions")                                                                      \
    FIELD(attend_start, start, "start", CHOICE("map|copy"), ATTEND_START_MAP, "0.0", MODEL, RNN, NONE, IGNORED,        \
          "initial decoder state: tanh(W h + b) of the encoder's final state h, or h itself")                          \
    FIELD(const attend_score *, attention, "attention", SCORE, &attend_score_additive, "0.0", MODEL, RECURRENT, NONE,  \
          IGNORED, "score function of the attention")                                                                  \
    FIELD(attend_context_position, context, "context", CHOICE("before|after"), ATTEND_CONTEXT_BEFORE, "0.0", MODEL,    \
          RNN, NONE, IGNORED, "the context enters before the decoder step (Bahdanau) or after it (Luong)")             \
    FIELD(bool, input_feeding, "input-feeding", SWITCH, false, "0.0", MODEL, RNN, NONE, REFUSED,                       \
          "with context after: the attentional state is an input of the next step")                                    \
    FIELD(attend_readout, readout, "readout", CHOICE("plain|deep"), ATTEND_READOUT_DEEP, "0.0", MODEL, RNN, RNN,       \
          IGNORED, "predict from the state, or from state, context and previous token")                                \
    FIELD(int, heads, "heads", INTEGER(0, 256), 0, "0.0", MODEL, ALL, TRANSFORMER, IGNORED,                            \
          "number of attention heads; 0: one")                                                                         \
    FIELD(int, attention_width, "attention-width", INTEGER(0, 16384), 0, "0.0", MODEL, RECURRENT, LSTMN, IGNORED,      \
          "inner width of additive and projected attention; 0: hidden")                                                \
    RENAMED(int, max_positions, "max-positions", INTEGER(1, 65536), 128, "0.0", MODEL, ALL, TRANSFORMER, IGNORED,      \
            "location attention, learned positions: maximum number of positions", "longest")                           \
    FIELD(int, filters, "filters", INTEGER(1, 1024), 8, "0.0", MODEL, RECURRENT, NONE, IGNORED,                        \
          "location-sensitive attention: number of convolution filters")                                               \
    FIELD(int, filter_size, "filter-size", INTEGER(1, 1024), 15, "0.0", MODEL, RECURRENT, NONE, IGNORED,               \
          "location-sensitive attention: width of a filter, in positions")                                             \
    FIELD(attend_window, window, "window", CHOICE("global|local-m|local-p"), ATTEND_WINDOW_GLOBAL, "0.0", MODEL,       \
          RECURRENT, NONE, REFUSED, "source positions that a query attends to")                                        \
    FIELD(int, window_size, "window-size", INTEGER(1, 65536), 5, "0.0", MODEL, RECURRENT, NONE, IGNORED,               \
          "local windows: positions on each side of the centre")                                                       \
    FIELD(bool, diagonal_start, "diagonal-start", SWITCH, false, "0.2", MODEL, RECURRENT, NONE, REFUSED,               \
          "window local-p: predict the position relative to the diagonal, where it begins before training")            \
    FIELD(attend_selection, selection, "selection", CHOICE("soft|sparsemax|entmax15|hard"), ATTEND_SELECT_SOFT, "0.0", \
          MODEL, RECURRENT, NONE, REFUSED, "function from scores to weights")                                          \
    FIELD(attend_estimator, estimator, "estimator", CHOICE("straight-through|reinforce"), ATTEND_STRAIGHT_THROUGH,     \
          "0.0", TRAINING, RECURRENT, NONE, IGNORED, "gradient estimator of hard attention")                           \
    FIELD(double, temperature, "temperature", REAL(1e-6, 1e6), 1.0, "0.0", TRAINING, RECURRENT, NONE, IGNORED,         \
          "temperature of the straight-through estimator")                                                             \
    FIELD(double, entropy_bonus, "entropy-bonus", REAL(0, 1e6), 0.0, "0.0", TRAINING, RECURRENT, NONE, IGNORED,        \
          "weight of the entropy term of REINFORCE")                                                                   \
    FIELD(attend_norm, norm, "norm", CHOICE("pre|post"), ATTEND_NORM_PRE, "0.1", MODEL, TRANSFORMER, TRANSFORMER,      \
          IGNORED, "transformer: layer norm before or after each sublayer")                                            \
    FIELD(attend_positions, positions, "positions", CHOICE("sinusoidal|learned|rotary"), ATTEND_POSITIONS_SINUSOIDAL,  \
          "0.1", MODEL, TRANSFORMER, TRANSFORMER, IGNORED, "transformer: positional encoding")                         \
    FIELD(attend_feed_forward, feed_forward, "feed-forward", CHOICE("relu|gelu|gated"), ATTEND_FEED_FORWARD_RELU,      \
          "0.1", MODEL, TRANSFORMER, TRANSFORMER, IGNORED, "transformer: activation of the feed-forward sublayer")     \
    FIELD(int, feed_forward_width, "feed-forward-width", INTEGER(0, 65536), 0, "0.1", MODEL, TRANSFORMER, TRANSFORMER, \
          IGNORED, "transformer: width of the feed-forward sublayer; 0: 4 * hidden")                                   \
    FIELD(attend_fusion, fusion, "fusion", CHOICE("shallow|deep"), ATTEND_FUSION_SHALLOW, "0.1", MODEL, LSTMN, NONE,   \
          IGNORED, "lstmn: the decoder attends to the source outside its cells (shallow) or inside them (deep)")       \
    FIELD(int, span, "span", INTEGER(0, 65536), 0, "0.1", MODEL, LSTMN, LSTMN, IGNORED,                                \
          "lstmn: previous tokens that a cell attends to; 0: all")                                                     \
    FIELD(bool, alignment_head, "alignment-head", SWITCH, false, "0.2", MODEL, RNN | TRANSFORMER, NONE, REFUSED,       \
          "a cross-attention of its own for word alignment, which guided alignment trains and translation ignores")    \
    FIELD(double, dropout, "dropout", REAL(0, 0.999), 0.2, "0.0", TRAINING, ALL, ALL, IGNORED,                         \
          "dropout rate on embeddings, between layers and before the output")                                          \
    FIELD(double, attention_dropout, "attention-dropout", REAL(0, 0.999), 0.0, "0.1", TRAINING, TRANSFORMER,           \
          TRANSFORMER, REFUSED, "transformer: dropout on attention weights")                                           \
    FIELD(bool, dropout_along_time, "dropout-along-time", SWITCH, false, "0.0", TRAINING, RECURRENT, RECURRENT,        \
          REFUSED, "one dropout mask per sentence instead of one per token")                                           \
    FIELD(bool, tie_embeddings, "tie-embeddings", SWITCH, false, "0.0", MODEL, ALL, ALL, IGNORED,                      \
          "use the target embedding table as the output matrix")                                                       \
    FIELD(bool, shared_vocab, "shared-vocab", SWITCH, false, "0.0", MODEL, ALL, NONE, IGNORED,                         \
          "one vocabulary and one embedding table for both sides")                                                     \
    FIELD(int, source_vocab, "source-vocab", INTEGER(4, 10000000), 0, "0.0", MODEL, ALL, ALL, IGNORED,                 \
          "tokens of the source vocabulary, special ones included")                                                    \
    FIELD(int, target_vocab, "target-vocab", INTEGER(4, 10000000), 0, "0.0", MODEL, ALL, ALL, IGNORED,                 \
          "tokens of the target vocabulary, special ones included")

#define ATTEND_CONFIG_MEMBER(type, member, ...)                       type member;
#define ATTEND_CONFIG_DEFAULT(type, member, name, values, value, ...) value,
#define ATTEND_CONFIG_COUNT(...)                                      +1

enum { ATTEND_CONFIG_FIELD_COUNT = 0 ATTEND_CONFIG_FIELDS(ATTEND_CONFIG_COUNT, ATTEND_CONFIG_COUNT) };

/* docs/models.md has the equations of the fields and their papers. attention may be NULL: none. */
typedef struct attend_config {
    ATTEND_CONFIG_FIELDS(ATTEND_CONFIG_MEMBER, ATTEND_CONFIG_MEMBER)
} attend_config;

#define ATTEND_CONFIG_INIT                                                                                             \
    {                                                                                                                  \
        ATTEND_CONFIG_FIELDS(ATTEND_CONFIG_DEFAULT, ATTEND_CONFIG_DEFAULT)                                             \
    }

/* ---- the table of fields ---- */

typedef enum attend_field_type {
    ATTEND_FIELD_INTEGER,
    ATTEND_FIELD_REAL,
    ATTEND_FIELD_SWITCH, /* "yes" or "no"; a bool */
    ATTEND_FIELD_CHOICE, /* one of several names; an enum */
    ATTEND_FIELD_SCORE   /* the name of a score of attend_scores, or "none" */
} attend_field_type;

typedef struct attend_config_field {
    const char *name;     /* "input-feeding" */
    const char *old_name; /* the name in an earlier version, still accepted; NULL: none */
    const char *key;      /* the name in model files, after "config."; never changes */
    const char *since;    /* the version that introduced it; files of earlier versions get the default */
    attend_field_type type;
    const char *values;   /* "yes|no", "1..8", "none|dot|additive" */
    bool training_only;   /* does not change what a model computes, such as dropout: fine-tuning may change it */
    unsigned translation; /* architectures where it has an effect, by task: bit 1 << attend_architecture */
    unsigned language_model;
    bool refused_elsewhere; /* attend_config_check refuses values that have no effect; false: it ignores them */
    const char *help;
} attend_config_field;

/* The i-th field, in the order of the struct; NULL after the last. Its default is its value in ATTEND_CONFIG_INIT. */
const attend_config_field *attend_config_field_at(int i);
/* The index of a field, by its name or its old name; -1: there is none. */
int attend_config_field_find(const char *name);

/* Sets a field from text. Old names are accepted. ATTEND_BAD_USAGE: there is no such field, or it does not accept
 * the value; the message suggests the closest name. The message about a value begins with the name of the field. */
int attend_config_set(attend_config *config, const char *name, const char *value);
/* Writes a field as text. ATTEND_BAD_USAGE: there is no such field, or `size` is too small (64 suffices). */
int attend_config_get(const attend_config *config, const char *name, char *text, size_t size);

/* Whether a field has an effect for the task and the architecture of a configuration. */
bool attend_config_field_applies(const attend_config *config, const attend_config_field *field);
/* Checks fields that a user set explicitly: given[i] for the i-th of ATTEND_CONFIG_FIELD_COUNT fields. ATTEND_BAD_USAGE if one of them has no effect
 * for this task and architecture, unless its value is "no", 0 or the value that the architecture implies. The message
 * begins with the name of the field. */
int attend_config_check_given(const attend_config *config, const bool *given);

/* Sets the fields that the library chooses, and checks all others. ATTEND_BAD_USAGE: a value is out of range, or fields
 * contradict each other. */
int attend_config_check(attend_config *config);

/* ---- properties of a configuration ---- */

/* The maximum number of tokens of a side, including ATTEND_END of a source and ATTEND_BEGIN of a target; INT_MAX:
 * unlimited. */
int attend_config_max_tokens(const attend_config *config, bool target);

/* Which tokens attend to which. */
typedef enum attend_attention_kind {
    ATTEND_ATTENTION_CROSS,   /* target tokens to source tokens */
    ATTEND_ATTENTION_ENCODER, /* source tokens to source tokens: Transformer, LSTMN */
    ATTEND_ATTENTION_DECODER  /* target tokens to previous target tokens, from ATTEND_BEGIN on: Transformer, LSTMN */
} attend_attention_kind;

/* The number of layers with attention of this kind, and of heads in each; 0: the model has no such attention. The
 * alignment head is the last layer of the cross-attention. */
int attend_config_attention_layers(const attend_config *config, attend_attention_kind kind);
int attend_config_attention_heads(const attend_config *config, attend_attention_kind kind);
/* The layer of the alignment head; -1: the model has none. */
int attend_config_alignment_layer(const attend_config *config);

#ifdef __cplusplus
}
#endif
#endif
