/* cpu_selection.h: the selection function (softmax, sparsemax, ...) from a row of scores to a row of weights, and its
 * derivative.
 *
 * A row holds the scores of the n keys in the range of a query, -inf for masked keys. If all are masked,
 * the weights are zero. */
#ifndef ATTEND_DEVICE_CPU_SELECTION_H
#define ATTEND_DEVICE_CPU_SELECTION_H

#include "device/attention.h"

/* Turns e (n) into the weights in place, up to a factor: p = *factor e. `index` is the index of the row's first
 * element among all of the call, for random numbers; scratch has n elements. */
selected attend_attention_select(const selector *s, size_t n, real *e, uint64_t index, real *scratch, real *factor);

/* Recomputes p from e and the stored state, for backward. With soft selection e may be part of a row. With hard
 * selection p is the distribution that the estimator differentiates, not the one-hot choice. */
void attend_attention_select_recompute(const selector *s, size_t n, real *e, selected row, uint64_t index);

/* Turns dp into de in place. p is the result of attend_attention_select_recompute, mean is sum p dp over the whole
 * row, advantage is for REINFORCE. With soft selection the arrays may be part of a row. */
void attend_attention_select_backward(const selector *s, size_t n, const real *p, selected row, real mean,
                                      double advantage, real *dp);

#endif
