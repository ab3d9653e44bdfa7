/* tile.h: what the tile functions of a score function (score.h) read and write. */
#ifndef ATTEND_TILE_H
#define ATTEND_TILE_H

#include <attend/real.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Some queries and some keys of one head of one sequence, after prepare_queries and prepare_keys. */
typedef struct attend_tile {
    int queries, keys;
    int query_width, key_width;
    int head, heads;          /* index of the query head, number of query heads */
    const attend_real *query; /* (queries, query_width), rows query_stride apart */
    size_t query_stride;
    const attend_real *key; /* (keys, key_width), rows key_stride apart */
    size_t key_stride;
    int first_query, first_key;           /* positions of the tile's first query and key in the sequence */
    double scale;                         /* attend_attention_options.scale, or the score's default */
    const attend_real *const *parameters; /* values, in the order of attend_score.parameter */
    const int (*shapes)[2];               /* their shapes */
    const attend_real *previous;          /* (queries, all_keys): weights of the previous step; NULL if not needed */
    size_t previous_stride;
    int all_keys;             /* number of keys of the sequence */
    const attend_real *cache; /* output of cache_keys for this head, from the sequence's first key; NULL: not cached */
    attend_real *scratch;     /* scratch_size elements, private to this thread */
    attend_real *score;       /* (queries, keys), rows score_stride apart: e */
    size_t score_stride;
} attend_tile;

/* The gradients of a tile. tile_backward reads `score` and adds to the others, each of which may be NULL. Strides are
 * those of the tile. */
typedef struct attend_tile_gradients {
    const attend_real *score; /* dL/de */
    attend_real *query, *key;
    attend_real *const *parameters; /* an entry may be NULL */
    attend_real *previous;
} attend_tile_gradients;

#ifdef __cplusplus
}
#endif
#endif
