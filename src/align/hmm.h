/* hmm.h: posteriors of word alignments in one direction: of each word of the sentence that is produced, which word of the
 * given sentence it comes from. By a hidden Markov model (Vogel, Ney, Tillmann 1996), whose transitions depend on the
 * distance between the positions of successive words, or by IBM Model 1 (Brown et al. 1993), in which all positions are
 * equally probable.
 *
 * NULL       Words without a counterpart come from the NULL word with a fixed probability. The next word then jumps from the
 *            position before the NULL word (Och, Ney 2003). */
#ifndef ATTEND_ALIGN_HMM_H
#define ATTEND_ALIGN_HMM_H

#include <stdbool.h>
#include <stddef.h>

enum {
    HMM_WINDOW = 5,                /* longer jumps, in either direction, are one class */
    HMM_JUMPS = 2 * HMM_WINDOW + 3 /* classes: -6 and less, -5, ..., 5, 6 and more */
};

/* Scratch memory for pairs of up to `capacity` words a side. {0} is empty. */
typedef struct hmm_space {
    double *transitions;        /* (from + 1, from): row 0 is the beginning, row k + 1 follows position k */
    double *from_transitions;   /* (from, from): the rows 1 and later, transposed */
    double *expected;           /* (from, from): expected transitions without their probability */
    double *forward, *backward; /* (to, 2 from): the positions, and NULL after each position */
    double *row, *scale;
    size_t capacity;
} hmm_space;

int attend_hmm_reserve(hmm_space *s, size_t words);
void attend_hmm_free(hmm_space *s);

/* posteriors and probabilities: (to, from + 1), the last column of each row is the NULL word. probabilities: of each word
 * that is produced given each word, greater than 0. */
void attend_model1_posteriors(int from, int to, const double *probabilities, double *posteriors);
/* jumps: the relative frequency of each class. counts, if not NULL: (HMM_JUMPS) expected jumps are added. */
void attend_hmm_posteriors(hmm_space *s, const double *jumps, int from, int to, const double *probabilities,
                           double *posteriors, double *counts);

#endif
