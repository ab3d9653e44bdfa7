/* score_scaled_dot.c: e(q, k) = q.k / sqrt(d)      (Vaswani et al. 2017) */
#include "attention/dot_tile.h"

#include <math.h>

static double default_scale(int query_width)
{
    return query_width > 0 ? 1 / sqrt((double)query_width) : 1;
}

const attend_score attend_score_scaled_dot = {
    .name = "scaled-dot", .formula = "q.k / sqrt(d)", .default_scale = default_scale, ATTENTION_DOT_TILE
};
