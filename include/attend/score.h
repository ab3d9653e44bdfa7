/* score.h: what a score function is, and the list of those attend has.
 *
 * Purpose    A score says how well a query and a key fit: e(q, k). Masks, windows, softmax, dropout, weights and context
 *            are the same for all of them (attention.h). A score is a struct of functions: what it does once with the keys, once
 *            with the queries, and on a tile of some queries and some keys, with the derivative beside it.
 *            docs/add-a-score.md goes through one step by step; examples/own_score.c is one.
 * Threads    The functions are called from several threads at once and keep nothing. */
#ifndef ATTEND_SCORE_H
#define ATTEND_SCORE_H

#include <attend/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How wide things are. `attention` is the inner width of scores that have one. */
typedef struct attend_widths {
    int query, key, value; /* of the rows as the model has them: all heads together */
    int heads, key_heads;
    int attention; /* additive: channels of the tanh; projected: of query and key, all heads together; 0: like query */
    int max_keys;  /* location: keys at most */
    int filters;   /* location-sensitive: convolution filters, and .. */
    int filter_size; /* .. how many weights each looks at; the middle one is the key's own, so better odd */
} attend_widths;

enum { ATTEND_SCORE_PARAMETERS = 6 };

/* A parameter that a score learns. */
typedef struct attend_score_parameter {
    const char *name; /* "wq"; NULL: there is no such parameter */
    int rank, shape[2];
} attend_score_parameter;

/* Some queries and some keys of one head of one sequence, as the score prepared them. */
typedef struct attend_tile {
    int queries, keys;
    int query_width, key_width;
    int head, heads;          /* of the query: which, and of how many */
    const attend_real *query; /* (queries, query_width), rows query_stride apart */
    size_t query_stride;
    const attend_real *key; /* (keys, key_width), rows key_stride apart */
    size_t key_stride;
    int first_query, first_key;           /* their positions in the sequence */
    double scale;                         /* attend_attention_options.scale, or the score's own default */
    const attend_real *const *parameters; /* values, in the order of attend_score.parameter */
    const int (*shapes)[2];               /* and shapes */
    const attend_real
        *previous; /* (queries, all keys) weights of the step before; NULL if the score does not want them */
    size_t previous_stride;
    int all_keys;             /* of the sequence: width of `previous` */
    const attend_real *cache; /* what cache_keys left for this head's keys, from the first key; NULL: nothing */
    attend_real *scratch;     /* scratch_size numbers, this thread's */
    attend_real *score;       /* (queries, keys), rows score_stride apart: e */
    size_t score_stride;
} attend_tile;

/* Where tile_backward adds; any may be NULL except `score`, which it reads. Strides are those of the tile. */
typedef struct attend_tile_gradients {
    const attend_real *score; /* dL/de */
    attend_real *query, *key;
    attend_real *const *parameters; /* an entry may be NULL */
    attend_real *previous;
} attend_tile_gradients;

typedef struct attend_score {
    const char *name;    /* "scaled-dot" */
    const char *formula; /* "q.k / sqrt(d)", for help texts */

    /* The i-th parameter for these widths; name NULL behind the last. NULL: the score learns nothing. */
    attend_score_parameter (*parameter)(const attend_widths *w, int i);
    /* NULL, or why tiles like this one make no sense: "query and key differ in width". Asked once, before any tile: t has widths,
     * heads, the most keys there will be, and the shapes of the parameters, which nobody else checks, but no arrays. */
    const char *(*check_tile)(const attend_tile *t);

    /* On the tape, once a source: keys (N, key) -> (N, key heads * key_width). NULL: as they are. w: the parameters. */
    attend_var *(*prepare_keys)(attend_ctx *c, attend_var *const *w, attend_var *keys);
    /* The same for values and queries. */
    attend_var *(*prepare_values)(attend_ctx *c, attend_var *const *w, attend_var *values);
    attend_var *(*prepare_queries)(attend_ctx *c, attend_var *const *w, attend_var *queries);
    /* On the tape: the context (N, heads * value_width) -> what the caller gets. NULL: as it is. */
    attend_var *(*finish)(attend_ctx *c, attend_var *const *w, attend_var *context);
    /* How wide a context the caller gets. Needed on plain arrays (attend_runner) by scores that have prepare_values or
     * finish; NULL: heads * value width. */
    int (*context_width)(const attend_widths *w);

    /* Scale where the options give none; query_width as prepared, of one head. NULL: 1. */
    double (*default_scale)(int query_width);
    bool needs_previous_weights; /* the weights of the step before */
    unsigned tile_parameters;    /* bit i set: `tile` uses parameter i and tile_backward adds to its gradient */
    unsigned
        linear_parameters; /* bit i set: attend_linear alone uses parameter i, which may therefore be kept in fewer bits */

    /* Numbers to keep for the keys of one head, and how to make them, once a source. NULL: nothing. */
    size_t (*cache_size)(int keys, int key_width);
    void (*cache_keys)(int keys, int key_width, const attend_real *key, size_t key_stride, attend_real *cache);
    /* Numbers of scratch that a tile of so many queries and keys needs (no arrays are there yet). NULL: none. */
    size_t (*scratch_size)(const attend_tile *t);

    /* e of the tile, and its derivative: always added to what is there. */
    void (*tile)(const attend_tile *t);
    void (*tile_backward)(const attend_tile *t, const attend_tile_gradients *g);
} attend_score;

extern const attend_score attend_score_dot, attend_score_scaled_dot, attend_score_bilinear, attend_score_additive,
    attend_score_projected, attend_score_location, attend_score_location_sensitive;

/* All scores, ended by NULL. Configuration, help texts, model files and tests read this list. */
extern const attend_score *const attend_scores[];
/* The score with this name, or NULL. */
const attend_score *attend_score_find(const char *name);
/* Writes the names of all scores, separated by '|', to `out` for help and error texts: "dot|scaled-dot|...". Writes at most `size` bytes
 * including the final '\0', as snprintf does, and returns the length of the whole list. `out` may be NULL if `size` is 0. */
size_t attend_score_names(char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
