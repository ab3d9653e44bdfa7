/* select.h: from a row of scores to a row of weights, and back.
 *
 * A row holds the scores of the n keys a query may see, -inf at those a mask hid. A row that sees nothing becomes zeros. */
#ifndef ATTEND_ATTENTION_SELECT_H
#define ATTEND_ATTENTION_SELECT_H

#include "core/rng.h"
#include "kernel/kernel.h"
#include <attend/attention.h>

/* How a call selects, the same for all its rows. */
typedef struct selector {
    attend_selection selection;
    attend_estimator estimator;
    bool training; /* hard: draw; otherwise argmax */
    double temperature, entropy_bonus;
    attend_rng random;
} selector;

/* What forward keeps of a row, apart from each other: their sum would lose digits where scores are large. */
typedef struct selected {
    real most;  /* the largest score; -inf: the row saw nothing */
    real rest;  /* 1 / sum of exp(e - most); of sparse selections the threshold, as it lies below `most` */
    int choice; /* hard: the key, counted from the row's first; -1: none */
} selected;

/* e (n) becomes p (n), up to a factor: p = *factor e. `place` numbers the row's first element among all of the call, for
 * random numbers; scratch holds n numbers. */
selected attend_attention_select(const selector *s, size_t n, real *e, uint64_t place, real *scratch, real *factor);

/* The same p again from e and what was kept: what backward works with; a piece of a row will do where selection is soft. For hard selection this is the distribution
 * that its estimator differentiates, not the one key. */
void attend_attention_select_recompute(const selector *s, size_t n, real *e, selected kept, uint64_t place);

/* dp becomes de, given p of attend_attention_select_recompute. mean: sum p dp of the row; a piece of a row will do where
 * selection is soft. advantage: REINFORCE. */
void attend_attention_select_backward(const selector *s, size_t n, const real *p, selected kept, real mean,
                                      double advantage, real *dp);

#endif
