/* config.h: what a model is, in the words a user meets.
 *
 * Purpose    One plain struct. The same words name its fields on the command line, in a configuration file and in a model file; one
 *            table (attend_config_field_at) has them all, with what they may be and a line of help.
 * Defaults   ATTEND_CONFIG_INIT is a sensible model but for the vocabularies, which must be given. Fields left at 0 where that
 *            makes no sense (attention_width, heads) are filled by attend_config_check. */
#ifndef ATTEND_CONFIG_H
#define ATTEND_CONFIG_H

#include <attend/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTEND_MAX_LAYERS = 8 };

typedef enum attend_task {
    ATTEND_TASK_TRANSLATION,   /* a source to a target */
    ATTEND_TASK_LANGUAGE_MODEL /* targets alone: sources have no words */
} attend_task;

typedef enum attend_architecture {
    ATTEND_ARCHITECTURE_RNN,         /* cells and one attention: Bahdanau et al. 2015, Luong et al. 2015 */
    ATTEND_ARCHITECTURE_TRANSFORMER, /* Vaswani et al. 2017 */
    ATTEND_ARCHITECTURE_LSTMN        /* cells that attend to their own past: Cheng, Dong, Lapata 2016 */
} attend_architecture;

/* ---- of the Transformer ---- */

typedef enum attend_norm {
    ATTEND_NORM_PRE, /* x + f(norm(x)), and a norm at the end */
    ATTEND_NORM_POST /* norm(x + f(x)), as published */
} attend_norm;

typedef enum attend_positions {
    ATTEND_POSITIONS_SINUSOIDAL,
    ATTEND_POSITIONS_LEARNED, /* of `longest` words at most */
    ATTEND_POSITIONS_ROTARY   /* Su et al. 2021 */
} attend_positions;

typedef enum attend_feed_forward {
    ATTEND_FEED_FORWARD_RELU,
    ATTEND_FEED_FORWARD_GELU,
    ATTEND_FEED_FORWARD_GATED /* silu(W x) * (V x): Shazeer 2020 */
} attend_feed_forward;

/* ---- of the LSTMN ---- */

typedef enum attend_fusion {
    ATTEND_FUSION_SHALLOW, /* an attention of its own looks at the encoder */
    ATTEND_FUSION_DEEP     /* the cell takes in the encoder's memory */
} attend_fusion;

/* ---- of recurrent networks ---- */

/* Where the context enters the decoder; docs/models.md has the equations. */
typedef enum attend_context_position {
    ATTEND_CONTEXT_BEFORE, /* s_t = f(s_{t-1}, [y_{t-1}; c_t]), c_t from s_{t-1}: Bahdanau et al. 2015 */
    ATTEND_CONTEXT_AFTER   /* s_t = f(s_{t-1}, y_{t-1}), c_t from s_t, then tanh(Wc [c_t; s_t]): Luong et al. 2015 */
} attend_context_position;

/* What the words are predicted from. */
typedef enum attend_readout {
    ATTEND_READOUT_PLAIN, /* the decoder's state (or Luong's tanh(Wc [c_t; s_t])) */
    ATTEND_READOUT_DEEP   /* tanh(W [s_t; c_t; y_{t-1}] + b): Bahdanau et al. 2015, with tanh in the place of maxout */
} attend_readout;

/* Where the decoder starts. */
typedef enum attend_start {
    ATTEND_START_MAP, /* s_0 = tanh(W h + b), h the encoder's last states of this layer, both directions side by side */
    ATTEND_START_COPY /* s_0 = h, for an encoder in one direction */
} attend_start;

typedef struct attend_config {
    attend_task task;
    attend_architecture architecture;
    attend_cell_kind cell;
    attend_activation activation;
    int layers;         /* of the encoder, and of the decoder too unless .. */
    int decoder_layers; /* .. this says otherwise; 0: as many. Transformer and LSTMN */
    int hidden;         /* of a cell; of one direction of the encoder; of every row of a Transformer */
    int embedding;      /* of a word; 0: 256, and hidden for a Transformer, which knows no other */
    bool bidirectional;
    attend_start start;

    const attend_score *attention; /* NULL: none */
    attend_context_position context;
    bool input_feeding; /* the last tanh(Wc [c; s]) enters the next step: Luong et al. 2015 */
    attend_readout readout;
    int heads;                /* of the attention; 0: 1 */
    int attention_width;      /* inner width of additive and projected scores; 0: hidden */
    int longest;              /* location: source words at most; learned positions: words of either side */
    int filters, filter_size; /* location-sensitive */
    attend_window window;
    int window_size;
    attend_selection selection;
    attend_estimator estimator;
    double temperature, entropy_bonus; /* of hard attention */

    attend_norm norm;
    attend_positions positions;
    attend_feed_forward feed_forward;
    int feed_forward_width; /* 0: 4 hidden */
    attend_fusion fusion;
    int span; /* words that a cell of an LSTMN looks back to; 0: all */

    double dropout;                 /* on embeddings, between layers and before the output */
    double attention_dropout;       /* on the weights inside a Transformer */
    bool dropout_along_time;        /* one mask a sentence instead of one a word: Gal, Ghahramani 2016 */
    bool tie_embeddings;            /* the output matrix is the target's embedding table */
    bool shared_vocab;              /* one vocabulary and one embedding table for both sides */
    int source_vocab, target_vocab; /* words, the special ones included */
} attend_config;

#define ATTEND_CONFIG_INIT                                                                                             \
    {                                                                                                                  \
        ATTEND_TASK_TRANSLATION, ATTEND_ARCHITECTURE_RNN, ATTEND_CELL_GRU, ATTEND_TANH, 1, 0, 256, 0, true,            \
            ATTEND_START_MAP, &attend_score_additive, ATTEND_CONTEXT_BEFORE, false, ATTEND_READOUT_DEEP, 0, 0, 128, 8, \
            15, ATTEND_WINDOW_GLOBAL, 5, ATTEND_SELECT_SOFT, ATTEND_STRAIGHT_THROUGH, 1.0, 0.0, ATTEND_NORM_PRE,       \
            ATTEND_POSITIONS_SINUSOIDAL, ATTEND_FEED_FORWARD_RELU, 0, ATTEND_FUSION_SHALLOW, 0, 0.2, 0.0, false,       \
            false, false, 0, 0                                                                                         \
    }

/* A field by its word. */
typedef struct attend_config_field {
    const char *name;   /* "input-feeding" */
    const char *values; /* "yes|no", "1..8", "none|dot|.." */
    const char *help;
} attend_config_field;

/* The i-th, in the order of the struct; NULL behind the last. */
const attend_config_field *attend_config_field_at(int i);

/* Sets a field from text; a wrong word is answered with the nearest right one. ATTEND_BAD_USAGE. */
int attend_config_set(attend_config *config, const char *name, const char *value);
/* Writes a field as text; ATTEND_BAD_USAGE if there is no such field or `size` is too small (64 is enough). */
int attend_config_get(const attend_config *config, const char *name, char *text, size_t size);

/* Fills what was left open, and refuses with the reason what makes no sense together. */
int attend_config_check(attend_config *config);

/* Words that a side may have, ATTEND_END of a source and ATTEND_BEGIN of a target included: INT_MAX unless `longest` says so. */
int attend_config_max_tokens(const attend_config *config, bool target);

/* Who looks at whom. */
typedef enum attend_attention_kind {
    ATTEND_ATTENTION_CROSS,   /* target words at source words */
    ATTEND_ATTENTION_ENCODER, /* source words at source words: Transformer, LSTMN */
    ATTEND_ATTENTION_DECODER /* target words at the words before them (the first is ATTEND_BEGIN): Transformer, LSTMN */
} attend_attention_kind;

/* How many layers of a checked configuration look so, and how many heads each has; 0: none looks so. */
int attend_config_attention_layers(const attend_config *config, attend_attention_kind look);
int attend_config_attention_heads(const attend_config *config, attend_attention_kind look);

#ifdef __cplusplus
}
#endif
#endif
