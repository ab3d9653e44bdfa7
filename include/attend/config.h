/* config.h: the configuration of a model.
 *
 * Purpose    One plain struct, and a table that describes its fields (attend_config_field_at): name, type, values,
 *            default, the architectures a field applies to, and a line of help. Command lines, configuration files,
 *            model files and help texts all use that table.
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

typedef struct attend_config {
    attend_task task;
    attend_architecture architecture;
    attend_cell_kind cell;
    attend_activation activation;
    int layers;         /* of the encoder, and of the decoder unless decoder_layers is set */
    int decoder_layers; /* Transformer and LSTMN; 0: the same as layers */
    int hidden;         /* width of a cell (of each direction of the encoder), or of a Transformer layer */
    int embedding;      /* width of a token embedding; 0: 256, or hidden for a Transformer, which requires that */
    bool bidirectional;
    attend_start start;

    const attend_score *attention; /* NULL: none */
    attend_context_position context;
    bool input_feeding; /* the previous tanh(Wc [c; s]) is an input of the next step: Luong et al. 2015 */
    attend_readout readout;
    int heads;                /* of the attention; 0 means 1 */
    int attention_width;      /* inner width of additive and projected scores; 0 means hidden */
    int max_positions;        /* of location attention (source) and of learned positions (both sides) */
    int filters, filter_size; /* location-sensitive */
    attend_window window;
    int window_size;
    attend_selection selection;
    attend_estimator estimator;
    double temperature, entropy_bonus; /* of hard attention */

    attend_norm norm;
    attend_positions positions;
    attend_feed_forward feed_forward;
    int feed_forward_width; /* 0 means 4 * hidden */
    attend_fusion fusion;
    int span; /* LSTMN: previous tokens that a cell attends to; 0: all */

    double dropout;                 /* on embeddings, between layers and before the output */
    double attention_dropout;       /* Transformer: on attention weights */
    bool dropout_along_time;        /* one mask per sentence instead of one per token: Gal, Ghahramani 2016 */
    bool tie_embeddings;            /* the output matrix is the target's embedding table */
    bool shared_vocab;              /* one vocabulary and one embedding table for both sides */
    int source_vocab, target_vocab; /* tokens, special ones included */
} attend_config;

#define ATTEND_CONFIG_INIT                                                                                             \
    {                                                                                                                  \
        ATTEND_TASK_TRANSLATION, ATTEND_ARCHITECTURE_RNN, ATTEND_CELL_GRU, ATTEND_TANH, 1, 0, 256, 0, true,            \
            ATTEND_START_MAP, &attend_score_additive, ATTEND_CONTEXT_BEFORE, false, ATTEND_READOUT_DEEP, 0, 0, 128, 8, \
            15, ATTEND_WINDOW_GLOBAL, 5, ATTEND_SELECT_SOFT, ATTEND_STRAIGHT_THROUGH, 1.0, 0.0, ATTEND_NORM_PRE,       \
            ATTEND_POSITIONS_SINUSOIDAL, ATTEND_FEED_FORWARD_RELU, 0, ATTEND_FUSION_SHALLOW, 0, 0.2, 0.0, false,       \
            false, false, 0, 0                                                                                         \
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
    const char *values;        /* "yes|no", "1..8", "none|dot|additive" */
    const char *default_value; /* as text; that of ATTEND_CONFIG_INIT */
    unsigned translation;      /* architectures where it has an effect, by task: bit 1 << attend_architecture */
    unsigned language_model;
    const char *help;
} attend_config_field;

/* The i-th field, in the order of the struct; NULL after the last. */
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
/* Whether a field has an effect on training only, such as dropout: it does not change what a model computes, so that
 * fine-tuning may change it. */
bool attend_config_field_is_training_only(const attend_config_field *field);
/* Checks fields that a user set explicitly: given[i] for the i-th field. ATTEND_BAD_USAGE if one of them has no effect
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

/* The number of layers with attention of this kind, and of heads in each; 0: the model has no such attention. */
int attend_config_attention_layers(const attend_config *config, attend_attention_kind kind);
int attend_config_attention_heads(const attend_config *config, attend_attention_kind kind);

#ifdef __cplusplus
}
#endif
#endif
