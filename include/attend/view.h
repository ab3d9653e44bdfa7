/* view.h: attention maps, and their output for a terminal, as JSON, as a NumPy archive and as an HTML page.
 *
 * Purpose    attend_map_new runs a model on a source and a target, given or found by a search, and keeps the attention
 *            weights of one attention kind (config.h) in every layer and head, the probability of each target token and
 *            the most probable candidates. attend_view_* write maps. attend/grid.h has a map as a grid of cells for
 *            drawing; attend/picture.h, a library of its own, draws SVG, PDF and PNG.
 * Ownership  A map is the caller's, freed by attend_map_free; it owns everything it points to.
 * Threads    A map is read by any number of threads. attend_map_new uses a context as attend_decoding_new does. */
#ifndef ATTEND_VIEW_H
#define ATTEND_VIEW_H

#include <attend/json.h>
#include <attend/model.h>
#include <attend/palette.h>
#include <attend/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Words stand for the unit of attend_map_new; by default for what fits a side: words, or characters if its lines are
 * single words (attend_tokenizer_unit). */
typedef struct attend_map_token {
    const char
        *text; /* UTF-8: its part of the sentence without surrounding spaces ("" for a space alone); "<s>" or "</s>" */
    int id;    /* in the vocabulary */
    int word;  /* index of the word that contains it; -1: "<s>", "</s>" or a space alone */
    /* it is, or is a part of, a character or a word that the training data did not have; false for a target that was
     * found by a search */
    bool unknown;
} attend_map_token;

typedef struct attend_map_candidate {
    const char *text;
    double probability;
} attend_map_candidate;

/* ATTEND_MAP_MAX_TOKENS: of a side, without "</s>". */
enum { ATTEND_MAP_CANDIDATES = 5, ATTEND_MAP_MAX_TOKENS = 1000 };

/* Rows ("target") attend to columns ("source"). With self-attention, both are the same side.
 *
 *   cross      rows: the target and "</s>"; columns: the source and "</s>"
 *   encoder    rows and columns: the source and "</s>". The map has no probabilities and no candidates (NULL);
 *              log_probability and score are NAN.
 *   decoder    rows and columns: what the decoder reads, "<s>" and the target. The first row of an LSTMN is 0: it has
 *              nothing to attend to. */
typedef struct attend_map {
    attend_attention_kind kind;
    const char *source_text, *target_text;
    const attend_map_token *source, *target;
    int source_count, target_count;
    const char *const *source_words, *const *target_words;
    int source_word_count, target_word_count;
    int layers, heads;
    const float *weights;      /* (layers, heads, target_count, source_count); each row sums to 1. NULL: no attention */
    const double *probability; /* (target_count) of each target token; NAN: "<s>" */
    const attend_map_candidate
        *candidates; /* (target_count, ATTEND_MAP_CANDIDATES), most probable first; unused ones have the text NULL */
    double log_probability, score; /* of the whole target; score: what the search sorted by, else log_probability */
    bool forced;                   /* the target was given, not found by a search */
    int model; /* which of attend_view_options.models computed it; attend_map_new sets 0, the caller others */
    attend_unit source_unit, target_unit; /* what the words of a side are; not ATTEND_UNIT_AUTO */
} attend_map;

/* Computes the map of `kind` for a model with tokenizers. `unit` is what its words are; ATTEND_UNIT_AUTO: what fits each
 * side; ATTEND_UNIT_CHARACTER means tokens on a side whose tokens are longer. The target is the text `target` or, if that is NULL,
 * `target_count` token ids. A language model ignores `source`; an encoder's map ignores the target. score: of the
 * search; NAN: none. A model without attention gives a map without weights for ATTEND_ATTENTION_CROSS.
 * ATTEND_BAD_DATA: a text that is not UTF-8, empty, or has more tokens than ATTEND_MAP_MAX_TOKENS or
 * attend_config_max_tokens allow.
 * ATTEND_BAD_USAGE: an attention kind that the model does not have. ATTEND_FAILED: the model computes non-finite
 * probabilities.
 * *out is the caller's, freed by attend_map_free (which accepts NULL). */
int attend_map_new(attend_map **out, attend_ctx *c, const attend_model *m, attend_attention_kind kind, attend_unit unit,
                   const char *source, const char *target, const int *target_ids, int target_count, double score);
void attend_map_free(attend_map *map);

/* Whether a word of a side (target: of the target) has a token that is unknown. */
bool attend_map_word_is_unknown(const attend_map *map, bool target, int word);

/* The weights (target_count, source_count) of one layer and head into `to`; -1: the mean over all. */
void attend_map_weights(const attend_map *map, int layer, int head, float *to);
/* The same between words, (target_word_count, source_word_count): weights are summed over the tokens of a source word
 * and averaged over the tokens of a target word. Weights on "<s>", "</s>" and spaces are left out, so that a row sums
 * to at most 1. */
void attend_map_word_weights(const attend_map *map, int layer, int head, float *to);
/* What each row of attend_map_weights (by_token) or of attend_map_word_weights lacks to a sum of 1: the weight on "<s>",
 * "</s>" and spaces, and what a local window takes away. (target_count) or (target_word_count). A token that has
 * nothing to attend to lacks nothing. */
void attend_map_rest(const attend_map *map, int layer, int head, bool by_token, float *to);

extern const char *const attend_attention_kind_names[]; /* "cross", "encoder", "decoder", in order; then NULL */
/* One of them; NULL: there is no such kind. */
const char *attend_attention_kind_name(attend_attention_kind kind);

/* Statistics of one layer and head, or of the mean (-1). */
typedef struct attend_map_statistics {
    double confidence;  /* geometric mean of the token probabilities, exp(log_probability / target_count); NAN: none */
    double entropy;     /* of a row, in bits; mean over the rows */
    int uncovered;      /* source words that receive less than 0.2 from all rows together; 0 for self-attention */
    bool is_repetitive; /* the target has three or more words twice in a row; letters and phonemes three times */
} attend_map_statistics;
void attend_map_describe(const attend_map *map, int layer, int head, attend_map_statistics *out);

/* The maps of one sentence: its hypotheses, best first, all of the same attention kind. On a page, each may be followed
 * by maps of its other attention kinds; an encoder's map, the same for all hypotheses, follows the first only. */
typedef struct attend_map_list {
    const attend_map *const *maps;
    int count;
} attend_map_list;

/* One of the models whose maps are shown. */
typedef struct attend_view_model {
    const char *name;
    int layer, head; /* with which a page begins; -1: the mean over all */
} attend_view_model;

/* On a page, layer and head apply to the first attention kind; the others start with the mean. With `models`, those of
 * the model apply instead. */
typedef struct attend_view_options {
    int layer, head;   /* -1: the mean over all */
    bool by_token;     /* rows and columns are tokens instead of words */
    int width;         /* of the terminal, in columns; 0: 80 */
    int colours;       /* of the terminal: 0 (characters only), 256, or 1 << 24 */
    const char *title; /* NULL: none */
    attend_palette palette;
    const attend_view_model *models; /* (model_count), by attend_map.model: for captions, and for a page of several */
    int model_count;                 /* 0: unknown */
    bool all_heads;                  /* JSON also has the weights of every layer and head; a page begins with them */
} attend_view_options;

#define ATTEND_VIEW_OPTIONS_INIT                                                                                       \
    {                                                                                                                  \
        -1, -1, false, 0, 0, 0, ATTEND_PALETTE_BLUE, 0, 0, false                                                       \
    }

/* ATTEND_BAD_USAGE if the map does not have the layer or head of the options. */
int attend_view_check(const attend_map *map, const attend_view_options *options);
/* The name of the model of a map; NULL: the options do not have it. */
const char *attend_view_model_name(const attend_map *map, const attend_view_options *options);
/* Replaces `out` by the caption of a map: its model if the options name it, attention kind, layer and head, and what the
 * mark of unknown words means if there are some. */
int attend_view_caption(const attend_map *map, const attend_view_options *options, attend_string *out);

/* Replace `out` by a map as terminal text or as JSON (one line), or by all hypotheses of all sentences as an HTML page.
 * ATTEND_BAD_USAGE: a layer or head that is out of range; for the terminal: a map without attention. The options of a
 * page may be NULL. */
int attend_view_terminal(const attend_map *map, const attend_view_options *options, attend_string *out);
int attend_view_json(const attend_map *map, const attend_view_options *options, attend_string *out);
int attend_view_html(const attend_map_list *sentences, int count, const attend_view_options *options,
                     attend_string *out);
/* Writes the members of the object of attend_view_json into an object that the caller began, for example after members
 * of its own. Returns also the status of the writer. */
int attend_view_json_members(const attend_map *map, const attend_view_options *options, attend_json_writer *w);

/* Replaces `out` by a NumPy archive (.npz) of the maps of one sentence: the weights of every layer and head, the rest of
 * each row, tokens and words, probabilities (docs/show.md). The names of the arrays begin with "1/", "2/", .. if there
 * are several maps. options->models names the model. ATTEND_BAD_USAGE: no map, or a map without attention;
 * ATTEND_BAD_DATA: more than 4 GiB. */
int attend_view_npz(const attend_map_list *maps, const attend_view_options *options, attend_string *out);

#ifdef __cplusplus
}
#endif
#endif
