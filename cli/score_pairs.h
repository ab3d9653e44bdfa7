/* score_pairs.h: scores all pairs of some files by forced decoding. */
#ifndef ATTEND_CLI_SCORE_PAIRS_H
#define ATTEND_CLI_SCORE_PAIRS_H

#include "options.h"

#include <attend/scorer.h>

/* Receives the result of pair `index`, counted from 0. A status other than ATTEND_OK ends the scoring. */
typedef int (*scored_pair_visitor)(void *user, const attend_scored_pair *r, unsigned long long index);

typedef struct score_options {
    long long threads;
    long long memory; /* see memory_option.h */
    int compute;      /* attend_compute_precision */
    bool weights;     /* the results have attention weights */
    bool answers;     /* `visit` prints the results, which are flushed before the reader waits for a pair */
} score_options;

/* Scores the pairs, or the lines of a language model, and passes each result to `visit`, in order. Returns ATTEND_OK, a
 * failure of the library, or the status of `visit`. */
int score_pairs(const attend_model *m, const pairs_list *input, const score_options *o, scored_pair_visitor visit,
                void *user);
/* shared_scores.c: the same on the ranks of a job. Rank 0 reads and visits; its results have no tokens of the source, no
 * spans of it and no weights. */
int score_pairs_shared(const attend_model *m, const pairs_list *input, const score_options *o,
                       scored_pair_visitor visit, void *user);

#endif
