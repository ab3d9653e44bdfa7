/* score.h: the interface of a score function, and the list of built-in scores.
 *
 * Purpose    A score rates how well a query matches a key: e(q, k). Masks, windows, softmax, dropout, weights and
 *            context are common to all scores (attention.h). A score is a struct of functions: a mapping of the keys,
 *            a mapping of the queries, and the score of a tile (some queries and some keys) with its derivative.
 *            docs/add-a-score.md explains each step; examples/own_score.c is a complete score.
 * Ownership  A score is constant; sources and models borrow it and never free it.
 * Threads    The functions are called from several threads at once and have no state. */
#ifndef ATTEND_SCORE_H
#define ATTEND_SCORE_H

#include <attend/op.h>
#include <attend/tile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sizes that determine the shapes of a score's parameters. */
typedef struct attend_widths {
    int query, key, value; /* widths of the model's rows: all heads together */
    int heads, key_heads;
    int attention;   /* width of the tanh layer (additive), or of all heads of query and key (projected); 0: as query */
    int max_keys;    /* location: maximum number of keys */
    int filters;     /* location-sensitive: number of convolution filters */
    int filter_size; /* location-sensitive: width of a filter, centred on the key if odd */
} attend_widths;

enum { ATTEND_SCORE_PARAMETERS = 6 };

/* A trainable parameter of a score. */
typedef struct attend_score_parameter {
    const char *name; /* "wq"; NULL: there is no such parameter */
    int rank, shape[2];
} attend_score_parameter;

typedef struct attend_score {
    const char *name;    /* "scaled-dot" */
    const char *formula; /* "q.k / sqrt(d)", for help texts */

    /* The i-th parameter for these widths; its name is NULL after the last one. NULL: the score has no parameters. */
    attend_score_parameter (*parameter)(const attend_widths *w, int i);
    /* Returns NULL, or the reason why the score cannot process such tiles: "query and key differ in width". Called
     * once, before any tile. t has the widths, the heads, the maximum number of keys and the shapes of the
     * parameters, but no arrays. The shapes are not checked elsewhere. */
    const char *(*check_tile)(const attend_tile *t);

    /* Mappings of rows on the tape, given the parameters w. NULL: rows are used unchanged. Once for each source: keys
     * (N, key) -> (N, key_heads * key_width), values (N, value) -> (N, key_heads * value_width). */
    attend_var *(*prepare_keys)(attend_ctx *c, attend_var *const *w, attend_var *keys);
    attend_var *(*prepare_values)(attend_ctx *c, attend_var *const *w, attend_var *values);
    /* Once for each call: queries (N, query) -> (N, heads * query_width). */
    attend_var *(*prepare_queries)(attend_ctx *c, attend_var *const *w, attend_var *queries);
    /* Once for each call: context (N, heads * value_width) -> the context that the caller receives. */
    attend_var *(*finish)(attend_ctx *c, attend_var *const *w, attend_var *context);
    /* The width of the context that the caller receives. attend_runner requires it of scores with prepare_values or
     * finish. NULL: heads * value_width. */
    int (*context_width)(const attend_widths *w);

    /* The scale if the options have none. query_width: of one head, after prepare_queries. NULL: 1. */
    double (*default_scale)(int query_width);
    bool needs_previous_weights; /* the tile reads `previous` */
    bool has_inner_width;        /* a parameter has attend_widths.attention rows, which the heads share evenly */
    bool has_max_keys;           /* a sequence has at most attend_widths.max_keys keys */
    /* Heads with which it trains well; 0: one. Dot products of wide vectors grow quickly under Adam, so that the softmax
     * saturates within a few updates; those of several heads are shorter (docs/demo.md). */
    int usual_heads;
    unsigned tile_parameters;   /* bit i: `tile` reads parameter i and tile_backward adds to its gradient */
    unsigned linear_parameters; /* bit i: only attend_linear reads parameter i, which may therefore be quantised */

    /* A cache for the keys of one head, computed once for each source: its size in elements, and its content. NULL:
     * no cache. */
    size_t (*cache_size)(int keys, int key_width);
    void (*cache_keys)(int keys, int key_width, const attend_real *key, size_t key_stride, attend_real *cache);
    /* Elements of scratch memory for a tile of this size; t has no arrays. NULL: none. */
    size_t (*scratch_size)(const attend_tile *t);

    /* Writes e of the tile to t->score. */
    void (*tile)(const attend_tile *t);
    /* Adds the gradients of the tile to the arrays of g. */
    void (*tile_backward)(const attend_tile *t, const attend_tile_gradients *g);
} attend_score;

extern const attend_score attend_score_dot, attend_score_scaled_dot, attend_score_bilinear, attend_score_additive,
    attend_score_projected, attend_score_location, attend_score_location_sensitive;

/* All built-in scores, ended by NULL. Configuration, help texts, model files and tests read this list. */
extern const attend_score *const attend_scores[];

/* Makes a score function of your own known to this process under its name, as if it were built in: in configurations,
 * training and model files. The score is borrowed until the process ends. Registering it again has no effect. At most
 * ATTEND_MAX_OWN_SCORES are accepted. Any thread may call it at any time. ATTEND_BAD_USAGE: another score has this name;
 * the name is not 1 to 40 letters, digits, '-', '_' or '.', or is "none"; the score lacks formula, tile or
 * tile_backward, has only one of cache_size and cache_keys, or one of its parameters has no valid name or rank. */
int attend_score_register(const attend_score *score);
enum { ATTEND_MAX_OWN_SCORES = 32 };

/* What messages about a score function that is neither built in nor registered end with. */
#define ATTEND_SCORE_IS_MISSING "load the score plug-in that defines it"

/* The score with this name, built in or registered; NULL: there is none. */
const attend_score *attend_score_find(const char *name);
/* Writes the names of all scores, separated by '|', to `out` for help and error texts: "dot|scaled-dot|...", those that
 * are built in first. Writes at most `size` bytes including the final '\0', as snprintf does, and returns the length of
 * the whole list. `out` may be NULL if `size` is 0. */
size_t attend_score_names(char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
