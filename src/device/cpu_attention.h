/* cpu_attention.h: internal interface of the fused attention algorithm: the workspace of a thread, groups, and tiles.
 *
 * A group is one sequence and one key head with the query heads that share it. */
#ifndef ATTEND_DEVICE_CPU_ATTENTION_H
#define ATTEND_DEVICE_CPU_ATTENTION_H

#include "device/cpu.h"
#include "device/cpu_selection.h"

/* The keys that are visible to a query by its position: [first, last). */
typedef struct attention_range {
    int first, last;
} attention_range;

/* The index of a query head among all (B, H, Tq) of the call. */
static inline size_t attention_query_index(const device_attention *a, int b, int head, int i)
{
    return ((size_t)b * (size_t)a->source->heads + (size_t)head) * (size_t)a->max_queries + (size_t)i;
}

/* The index of a query in the positions of local-p, which all heads share. */
static inline size_t attention_position_index(const device_attention *a, int b, int i)
{
    const int *offsets = a->query_rows.offsets;
    return (offsets ? (size_t)offsets[b] : (size_t)b * (size_t)a->max_queries) + (size_t)i;
}

/* The keys that are visible to query i of sequence b by causal mask and window: 0 <= first <= last <= keys of b. */
attention_range attend_attention_key_range(const device_attention *a, int b, int i);
/* Applies cap, bias and mask in place to one row of scores e (n), whose first element is key `first`. `capped`, if
 * not NULL, receives e after the cap and before the bias. Returns whether a key is masked. */
bool attend_attention_mask_row(const device_attention *a, int b, int head, int i, int first, size_t n, real *e,
                               real *capped);

/* The memory of one thread for a tile. */
typedef struct workspace {
    /* (queries, keys). e: scores, then p; d: dp, then de; w: the weights that multiply the values; capped: e after
     * the cap */
    real *e, *d, *w, *capped;
    size_t stride;           /* of these four */
    int tile, block;         /* maximum queries and keys of a tile */
    real *row;               /* (keys) */
    real *values, *values_t; /* packed: forward V (keys, width), backward do (queries, width); V' (width, keys) */
    real *scratch;           /* scratch memory of the score */
    unsigned char *mask;     /* (keys): dropout mask */
    attention_range *ranges; /* (queries): the keys of the tile that are visible to each */
    real *factors;           /* (queries): factor by which the weights of a row must still be multiplied */
} workspace;

/* One group, on one thread. */
typedef struct group {
    const device_attention *a;
    workspace *s;
    int b, key_head;
    int queries, keys;
    const real *value; /* first row */
    bool packed;
    int values_finite, keys_finite; /* 1, 0, or -1: not checked yet */
    /* backward */
    real *const *dparameters; /* this group's part */
} group;

/* All tiles of a group (cpu_attention_forward.c, cpu_attention_backward.c). */
void attend_fused_forward(group *g);
void attend_fused_backward(group *g);

/* ---- tiles (cpu_attention_tile.c) ---- */

/* A tile of `count` queries and those of the keys [from, to) that are visible to any of them. Its first key is a
 * multiple of the panel size, for scores that cache packed keys. Sets g->s->ranges to the keys that each query attends
 * to. */
attend_tile attend_fused_tile(group *g, int head, int first, int count, int from, int to);

/* Zeroes a row of the tile outside the range of its query, so that products can run over the whole tile. */
void attend_fused_zero_outside(real *row, const attend_tile *t, attention_range r);

/* Whether all elements of `rows` rows are finite. */
bool attend_fused_rows_finite(int rows, int width, const real *x, size_t stride);
/* Whether all values of the group are finite. Only then can a value be excluded from a product by a weight of 0, since
 * 0 times NaN is NaN. Checked once. */
bool attend_fused_values_finite(group *g);
/* The same for its keys. */
bool attend_fused_keys_finite(group *g);

/* exp(-(j - center)^2 / 2 sigma^2) for the keys [first, first + n): the Gaussian window of local-p; and its centre. */
void attend_fused_gaussian(const device_attention *a, double center, int first, size_t n, real *values);
double attend_fused_gaussian_center(const device_attention *a, int b, int i, int keys);
/* Writes the dropout mask of n weights. Returns the factor of the weights that are not dropped. */
real attend_fused_dropout(const device_attention *a, int b, int head, int i, int first, size_t n, unsigned char *mask);

static inline const real *fused_value(const group *g, int key)
{
    return g->value + (size_t)key * g->a->source->value_rows.row;
}

/* The offset of the row of a query head in the context and its gradient. */
static inline size_t fused_context(const group *g, int head, int query)
{
    return attention_row(&g->a->context_rows, g->b, head, query);
}

/* The index of a row's first weight among all (B, H, Tq, Tk) of the call: the counter of its random numbers. */
static inline uint64_t fused_weight_index(const device_attention *a, int b, int head, int i)
{
    return (uint64_t)attention_query_index(a, b, head, i) * (uint64_t)a->source->max_keys;
}

#endif
