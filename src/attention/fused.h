/* fused.h: what the files of the fused algorithm share: one thread's memory, one group on it, tiles of queries.
 *
 * A group is one sequence and one key head with the query heads that share it. */
#ifndef ATTEND_ATTENTION_FUSED_H
#define ATTEND_ATTENTION_FUSED_H

#include "attention/attention_call.h"

/* What one thread needs for a tile. */
typedef struct workspace {
    real *e, *d, *w, *capped; /* (queries, keys): scores then p; dp then de; p as it met the values; e after the cap */
    size_t stride;            /* of these */
    int tile, block;          /* queries and keys of a tile, at most */
    real *row;                /* (keys) */
    real *values, *values_t;  /* packed: V (keys, width) forward, do (queries, width) backward; V' (width, keys) */
    real *scratch;            /* of the score */
    unsigned char *keep;      /* (keys) */
    attention_range *ranges;  /* (queries): keys of the tile that each may see */
    real *factors;            /* (queries): what a row's weights are still to be multiplied by */
} workspace;

/* One group, on one thread. */
typedef struct group {
    const attention_call *a;
    workspace *s;
    int b, key_head;
    int queries, keys;
    const real *value; /* first row */
    bool packed;
    int values_known, keys_known; /* are they all numbers? 1, 0, or -1: not looked yet */
    /* backward */
    real *dquery, *dkey, *dvalue, *dbias, *dposition; /* whole arrays, or NULL */
    real *const *dparameters;
} group;

/* All tiles of a group (fused_forward.c, fused_backward.c). */
void attend_fused_forward(group *g);
void attend_fused_backward(group *g);

/* ---- tiles (fused_tile.c) ---- */

/* Some queries and, of the keys [from, to), all that any of them may see; from a whole panel on, for scores that keep packed keys.
 * g->s->ranges says what each may see. */
attend_tile attend_fused_tile(group *g, int head, int first, int count, int from, int to);

/* Rows of the tile are zero outside what their query may see, so that products can run over all of it. */
void attend_fused_zero_outside(real *row, const attend_tile *t, attention_range r);

/* Whether no number of `rows` rows is NaN or infinite. */
bool attend_fused_rows_finite(int rows, int width, const real *x, size_t stride);
/* Whether all of the group's values are numbers: then a weight of 0 hides any of them in a product. Looked at once. */
bool attend_fused_values_finite(group *g);
/* The same of its keys. */
bool attend_fused_keys_finite(group *g);

/* w_j = p_j exp(-(j - pos)^2 / 2 sigma^2): the bell of local-p over keys [first, first + n), and where it stands. */
void attend_fused_gaussian(const attention_call *a, double at, int first, size_t n, real *values);
double attend_fused_gaussian_center(const attention_call *a, int b, int i, int keys);
/* Which weights dropout keeps, and by what it multiplies them. */
real attend_fused_dropout(const attention_call *a, int b, int head, int i, int first, size_t n, unsigned char *keep);

static inline const real *fused_value(const group *g, int key)
{
    return g->value + (size_t)key * g->a->source->value_rows.row;
}

/* Of the context, or its gradient. */
static inline real *fused_context(const group *g, int head, int query, real *whole)
{
    return whole + attention_row(&g->a->context_rows, g->b, head, query);
}

/* Number of a row's first weight among all of the call, for random numbers. */
static inline uint64_t fused_place(const attention_call *a, int b, int head, int i)
{
    return (uint64_t)attention_query_index(a, b, head, i) * (uint64_t)a->source->max_keys;
}

#endif
