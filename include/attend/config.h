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

/* Where the context enters the decoder; docs/models.md has the equations. */
typedef enum attend_context_place {
    ATTEND_CONTEXT_BEFORE, /* s_t = f(s_{t-1}, [y_{t-1}; c_t]), c_t from s_{t-1}: Bahdanau et al. 2015 */
    ATTEND_CONTEXT_AFTER   /* s_t = f(s_{t-1}, y_{t-1}), c_t from s_t, then tanh(Wc [c_t; s_t]): Luong et al. 2015 */
} attend_context_place;

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
    attend_cell_kind cell;
    attend_activation activation;
    int layers;    /* of the encoder and of the decoder, each */
    int hidden;    /* of a cell; of one direction of the encoder */
    int embedding; /* of a word */
    bool bidirectional;
    attend_start start;

    const attend_score *attention; /* NULL: none */
    attend_context_place context;
    bool input_feeding; /* the last tanh(Wc [c; s]) enters the next step: Luong et al. 2015 */
    attend_readout readout;
    int heads;                /* of the attention; 0: 1 */
    int attention_width;      /* inner width of additive and projected scores; 0: hidden */
    int longest;              /* location: source words at most */
    int filters, filter_size; /* location-sensitive */
    attend_window window;
    int window_size;
    attend_selection selection;
    attend_estimator estimator;
    double temperature, entropy_bonus; /* of hard attention */

    double dropout;                 /* on embeddings, between layers and before the output */
    bool dropout_along_time;        /* one mask a sentence instead of one a word: Gal, Ghahramani 2016 */
    bool tie_embeddings;            /* the output matrix is the target's embedding table */
    bool shared_vocab;              /* one vocabulary and one embedding table for both sides */
    int source_vocab, target_vocab; /* words, the special ones included */
} attend_config;

#define ATTEND_CONFIG_INIT                                                                                             \
    {                                                                                                                  \
        ATTEND_CELL_GRU, ATTEND_TANH, 1, 256, 256, true, ATTEND_START_MAP, &attend_score_additive,                     \
            ATTEND_CONTEXT_BEFORE, false, ATTEND_READOUT_DEEP, 0, 0, 128, 8, 15, ATTEND_WINDOW_GLOBAL, 5,              \
            ATTEND_SELECT_SOFT, ATTEND_STRAIGHT_THROUGH, 1.0, 0.0, 0.2, false, false, false, 0, 0                      \
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

#ifdef __cplusplus
}
#endif
#endif
