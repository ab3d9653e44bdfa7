/* dot_tile.h: e = scale q.k on a tile, shared by the scores dot, scaled-dot, bilinear and projected. */
#ifndef ATTEND_ATTENTION_DOT_TILE_H
#define ATTEND_ATTENTION_DOT_TILE_H

#include "device/scores.h"
#include <attend/score.h>

const char *attend_attention_dot_check(const attend_tile *t);

/* The members of attend_score that these scores share. */
#define ATTENTION_DOT_TILE                                                                                             \
    .check_tile = attend_attention_dot_check, .cache_size = attend_dot_cache_size, .cache_keys = attend_dot_cache,     \
    .scratch_size = attend_dot_scratch, .tile = attend_dot_tile, .tile_backward = attend_dot_tile_backward

#endif
