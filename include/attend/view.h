/* view.h: where a model looked, and pictures of it.
 *
 * Purpose    attend_map_new makes a model say a target, given or found, and keeps what there is to see: one of its looks (config.h), of every layer and
 *            head at every step, how probable each word was and what else it might have been. attend_view_* write maps for the terminal, as SVG, PNG,
 *            JSON or one HTML page.
 * Ownership  A map is the caller's, freed by attend_map_free; everything it points to is its own.
 * Threads    A map is read by any number of threads. Making one uses a context as attend_decoding_new does. */
#ifndef ATTEND_VIEW_H
#define ATTEND_VIEW_H

#include <attend/text.h>
#include <attend/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A piece of a sentence: what the model reads or writes at one step. */
typedef struct attend_map_piece {
    const char *
        text; /* UTF-8, as it stands in the sentence, without blanks around it ("" for a blank alone); "<s>" and "</s>" for its ends */
    int id;   /* in the vocabulary */
    int word; /* the how-manieth word of the sentence (what blanks separate) it belongs to; -1: an end, or a blank */
} attend_map_piece;

typedef struct attend_map_choice {
    const char *text;
    double probability;
} attend_map_choice;

/* MOST: pieces of a side, without its end. */
enum { ATTEND_MAP_CHOICES = 5, ATTEND_MAP_MOST = 1000 };

/* Who looks, down, and at whom, across: the target at the source; or, where a side looks at itself, that side both times. A source has "</s>" at
 * its end, and so has a target that looks at a source. A target that looks at itself is what the decoder reads: "<s>", and the target without its end.
 * An encoder says nothing: its map has neither probabilities nor choices (NULL), and what is said of the whole is NAN. The first row of an LSTMN that
 * looks at itself is 0: nothing is there yet. */
typedef struct attend_map {
    attend_attention_kind look;
    const char *source_text, *target_text;
    const attend_map_piece *source, *target;
    int source_count, target_count;
    const char *const *source_words, *const *target_words; /* what blanks separate */
    int source_word_count, target_word_count;
    int layers, heads;
    const float *weights;      /* (layers, heads, target_count, source_count); rows add up to 1. NULL: no attention */
    const double *probability; /* (target_count) of each piece of the target; NAN: "<s>" */
    const attend_map_choice *
        choices; /* (target_count, ATTEND_MAP_CHOICES) the most probable there, best first; text NULL: there are no more */
    double log_probability, score; /* of the whole; score: by which hypotheses are sorted, else log_probability */
    bool forced;                   /* the target was given, not found */
} attend_map;

/* A model with its tokenizers reads `source` (a text; a language model has none, and it is not looked at) and says `target` (a text) or, if that is
 * NULL, the given words; an encoder's map needs none. score NAN: none. ATTEND_BAD_DATA: a text that is not UTF-8, nothing to look at, more than
 * ATTEND_MAP_MOST pieces, or more than the model has places for (attend_config_max_tokens). ATTEND_BAD_USAGE: a look that the model does not have; but one
 * that translates without attention gives, for ATTEND_ATTENTION_CROSS, a map without weights. ATTEND_FAILED: the model's numbers overflow. *out is the
 * caller's, freed by attend_map_free (NULL is fine there). */
int attend_map_new(attend_map **out, attend_ctx *c, const attend_model *m, attend_attention_kind look,
                   const char *source, const char *target, const int *target_words, int target_count, double score);
void attend_map_free(attend_map *map);

/* weights (target_count, source_count) of one layer and head; -1: the mean over all. `to` has room for them. */
void attend_map_weights(const attend_map *map, int layer, int head, float *to);
/* The same between words: (target_word_count, source_word_count): weights on the pieces of a word added, rows of the pieces of a word averaged; what
 * looks at an end or at blanks is left out, so that rows add up to at most 1. */
void attend_map_word_weights(const attend_map *map, int layer, int head, float *to);

/* Who looks at whom, in the words of the command: "source", "encoder", "decoder". */
const char *attend_attention_kind_name(attend_attention_kind look);

/* What is remarkable about a map, of one layer and head, or of the mean (-1). */
typedef struct attend_map_statistics {
    double confidence; /* exp(log_probability / target_count); NAN: nothing was said */
    double entropy;    /* of a row, in bits, on average */
    int unseen;        /* source words that got less than 0.2 in all; 0 where a side looks at itself */
    bool loops;        /* three or more words, two or more times in a row, in what was said */
} attend_map_statistics;
void attend_map_describe(const attend_map *map, int layer, int head, attend_map_statistics *out);

/* The maps of one sentence: its hypotheses, best first, all of the same look. Behind each, on a page, maps of its other looks may follow; an encoder's
 * map, the same for all hypotheses, behind the first alone. */
typedef struct attend_map_list {
    const attend_map *const *maps;
    int count;
} attend_map_list;

/* Rows, or columns, of a picture. */
enum { ATTEND_VIEW_MOST = 400 };

/* How it is drawn. On a page, layer and head are of the first look: the others begin with the mean. */
typedef struct attend_view_options {
    int layer, head;   /* -1: the mean over all */
    bool pieces;       /* pieces instead of words */
    int width;         /* of the terminal, in columns; 0: 80 */
    int colours;       /* of the terminal: 0 (characters alone), 256, or 1 << 24 */
    const char *title; /* of a picture or page; NULL: none */
} attend_view_options;

#define ATTEND_VIEW_OPTIONS_INIT                                                                                       \
    {                                                                                                                  \
        -1, -1, false, 0, 0, 0                                                                                         \
    }

/* ATTEND_BAD_USAGE if the map has no layer or head of the numbers in the options. */
int attend_view_check(const attend_map *map, const attend_view_options *options);

/* Text in place of what was in `out`, to be freed with attend_string_free. Terminal, SVG and JSON (one line) show one map; HTML all sentences with all
 * their hypotheses. ATTEND_BAD_USAGE: a layer or head that is not there; of terminal, SVG and PNG: a map without attention. ATTEND_BAD_DATA: more than
 * ATTEND_VIEW_MOST rows or columns for a picture. Pictures are drawn by cairo and pango, whose memory is not attend's: if there is none, they
 * end the process. */
int attend_view_terminal(const attend_map *map, const attend_view_options *options, attend_string *out);
int attend_view_svg(const attend_map *map, const attend_view_options *options, attend_string *out);
int attend_view_json(const attend_map *map, const attend_view_options *options, attend_string *out);
int attend_view_html(const attend_map_list *sentences, int count, const attend_view_options *options,
                     attend_string *out);
/* A PNG, as a file's bytes. */
int attend_view_png(const attend_map *map, const attend_view_options *options, attend_string *out);

#ifdef __cplusplus
}
#endif
#endif
