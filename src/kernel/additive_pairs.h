/* additive_pairs.h: u . tanh(a_i + b_j) and its derivative for rows that may hold anything.
 *
 * Rows are made ready once (kernel.h) and meet many others. A row that cannot be, since something in it is large or no number,
 * meets every row of the other side by tanh itself: which way a pair goes depends on its two rows alone, so its score is the
 * same whoever else is there. */
#ifndef ATTEND_ADDITIVE_PAIRS_H
#define ATTEND_ADDITIVE_PAIRS_H

#include "kernel/kernel.h"

/* Numbers of `u` and of the scratch for rows of `width`. */
size_t attend_additive_padded(size_t width);
/* Numbers of a ready row and, behind it, whether it is one. */
size_t attend_additive_row_size(size_t width);
/* Makes rows ready.   x (rows, width), `stride` apart; ready (rows, attend_additive_row_size(width)) */
void attend_additive_ready(size_t rows, size_t width, const real *x, size_t stride, real *ready);

typedef struct additive_pairs {
    size_t queries, keys, width;
    const real *query, *key; /* a (queries, width), b (keys, width) */
    size_t query_stride, key_stride;
    const real *ready_query, *ready_key; /* the same made ready */
    const real *u;                       /* (width), and 0 up to attend_additive_padded */
    real *scratch;                       /* attend_additive_padded numbers */
} additive_pairs;

/* e_ij, as kernel.h's `additive` */
void attend_additive_scores(const additive_pairs *p, real *e, size_t e_stride);
/* as kernel.h's additive_backward */
void attend_additive_scores_backward(const additive_pairs *p, const additive_gradients *g);

#endif
