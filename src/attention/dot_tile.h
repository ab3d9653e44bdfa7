/* dot_tile.h: e = scale q.k on a tile, shared by the scores dot, scaled-dot, bilinear and projected. */
#ifndef ATTEND_ATTENTION_DOT_TILE_H
#define ATTEND_ATTENTION_DOT_TILE_H

#include <attend/score.h>

const char *attend_attention_dot_check(const attend_tile *t);
size_t attend_attention_dot_cache_size(int keys, int key_width);
void attend_attention_dot_cache(int keys, int key_width, const attend_real *key, size_t key_stride, attend_real *cache);
size_t attend_attention_dot_scratch(const attend_tile *t);
void attend_attention_dot_tile(const attend_tile *t);
void attend_attention_dot_tile_backward(const attend_tile *t, const attend_tile_gradients *g);

/* The members of attend_score that these scores share. */
#define ATTENTION_DOT_TILE                                                                                             \
    .check_tile = attend_attention_dot_check, .cache_size = attend_attention_dot_cache_size,                           \
    .cache_keys = attend_attention_dot_cache, .scratch_size = attend_attention_dot_scratch,                            \
    .tile = attend_attention_dot_tile, .tile_backward = attend_attention_dot_tile_backward

#endif
