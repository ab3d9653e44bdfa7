/* select.h: the selection function (softmax, sparsemax, ...) from a row of scores to a row of weights, and its
 * derivative.
 *
 * A row holds the scores of the n keys in the range of a query, -inf for masked keys. If all are masked,
 * the weights are zero. */
#ifndef ATTEND_ATTENTION_SELECT_H
#define ATTEND_ATTENTION_SELECT_H

#include "core/rng.h"
#include "kernel/kernel.h"
#include <attend/attention.h>

/* The selection of a call, the same for all rows. */
typedef struct selector {
    attend_selection selection;
    attend_estimator estimator;
    bool training; /* hard selection: sample; false: argmax */
    double temperature, entropy_bonus;
    attend_rng random;
} selector;

/* What forward stores of a row for backward. Maximum and normaliser are separate numbers, since log-sum-exp would
 * lose digits where scores are large. */
typedef struct selected {
    real max;        /* the maximum score; -inf: no key is visible */
    real normalizer; /* 1 / sum of exp(e - max); sparse selections: the threshold, relative to `max` */
    int choice;      /* hard selection: index of the key in the row; -1: none */
} selected;

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
