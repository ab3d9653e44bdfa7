/* additive_pairs.h: u . tanh(a_i + b_j) and its derivative for rows of any numbers.
 *
 * Rows are prepared once (additive_row in kernel.h) and used in many pairs. A row that cannot be prepared, because a
 * number in it is too large or NaN, is paired by computing tanh directly. Which method a pair uses depends only on its
 * two rows, so its score does not depend on the other rows. */
#ifndef ATTEND_ADDITIVE_PAIRS_H
#define ATTEND_ADDITIVE_PAIRS_H

#include "kernel/kernel.h"

/* The size of `u` and of the scratch for rows of `width` numbers. */
size_t attend_additive_padded(size_t width);
/* The size of a prepared row, including a flag: whether the row could be prepared. */
size_t attend_additive_row_size(size_t width);
/* Prepares rows.   x (rows, width), `stride` apart; prepared (rows, attend_additive_row_size(width)) */
void attend_additive_prepare(size_t rows, size_t width, const real *x, size_t stride, real *prepared);

typedef struct additive_pairs {
    size_t queries, keys, width;
    const real *query, *key; /* a (queries, width), b (keys, width) */
    size_t query_stride, key_stride;
    const real *prepared_query, *prepared_key; /* the same, prepared */
    const real *u;                             /* (width), padded with zeros to attend_additive_padded */
    real *scratch;                             /* attend_additive_padded numbers */
} additive_pairs;

/* e_ij, as `additive` in kernel.h. */
void attend_additive_scores(const additive_pairs *p, real *e, size_t e_stride);
/* As additive_backward in kernel.h. */
void attend_additive_scores_backward(const additive_pairs *p, const additive_gradients *g);

#endif
