/* scores.h: the tile functions of the built-in scores (attend_score in attend/score.h), which the CPU runs on its tiles. A
 * device that cannot run functions of the host computes these scores itself: it recognises a score by its `tile`, and
 * its runs_score is false for all others. */
#ifndef ATTEND_DEVICE_SCORES_H
#define ATTEND_DEVICE_SCORES_H

#include "kernel/arguments.h"
#include <attend/tile.h>

/* The indices of the parameters that tiles read: of the additive score u, of the location-sensitive one all three. */
enum { ATTEND_ADDITIVE_U = 3, ATTEND_ADDITIVE_UF, ATTEND_ADDITIVE_F };

size_t attend_dot_cache_size(int keys, int key_width);
void attend_dot_cache(int keys, int key_width, const real *key, size_t key_stride, real *cache);
size_t attend_dot_scratch(const attend_tile *t);
void attend_dot_tile(const attend_tile *t);
void attend_dot_tile_backward(const attend_tile *t, const attend_tile_gradients *g);

size_t attend_additive_cache_size(int keys, int key_width);
void attend_additive_cache(int keys, int key_width, const real *key, size_t key_stride, real *cache);
size_t attend_additive_scratch(const attend_tile *t);
void attend_additive_tile(const attend_tile *t);
void attend_additive_tile_backward(const attend_tile *t, const attend_tile_gradients *g);

void attend_location_tile(const attend_tile *t);
void attend_location_tile_backward(const attend_tile *t, const attend_tile_gradients *g);

size_t attend_location_sensitive_scratch(const attend_tile *t);
void attend_location_sensitive_tile(const attend_tile *t);
void attend_location_sensitive_tile_backward(const attend_tile *t, const attend_tile_gradients *g);

#endif
