/* ensemble.h: the models of a search: one, or several that decode the same hypotheses and are averaged.
 *
 *     log p(w) = log(1/M sum_m p_m(w)) */
#ifndef ATTEND_DECODE_ENSEMBLE_H
#define ATTEND_DECODE_ENSEMBLE_H

#include <attend/model.h>

typedef struct attend_ensemble {
    const attend_model *const *models;
    int count, vocabulary;
    attend_decoding **decodings; /* (count) */
    const attend_real **log_p;   /* (count) of the last step, (hypotheses, vocabulary) each */
    attend_real *row;            /* (vocabulary) the mean, if there are several */
    int attending;               /* models with attention to sources */
    int keep; /* of a model alone: so many of the best words are all that a step leaves; 0: all words */
} attend_ensemble;

/* Zero is empty; attend_ensemble_free after a failure too. */
int attend_ensemble_new(attend_ensemble *v, attend_ctx *const *contexts, const attend_model *const *models,
                        int model_count, int count, const int *source, const int *lengths);
void attend_ensemble_free(attend_ensemble *v);

/* For a model alone, before the first step: see attend_decoding_set_top_k and attend_decoding_use_shortlist. */
int attend_ensemble_keep_best(attend_ensemble *v, int most, bool shortlist);

/* See attend_decoding_step. */
int attend_ensemble_step(attend_ensemble *v, const int *counts, const int *parents, const int *words);

/* Of the last step, if the best alone are kept: see attend_decoding_top_k. */
const attend_real *attend_ensemble_best(const attend_ensemble *v, int hypothesis, int *count, const int **words);
/* log p of the end, in any case. */
attend_real attend_ensemble_end(const attend_ensemble *v, int hypothesis);
/* Unless they are: log p of every word (vocabulary), valid until the next row is asked for; and of one. */
const attend_real *attend_ensemble_log_probabilities(const attend_ensemble *v, int hypothesis);
attend_real attend_ensemble_token(const attend_ensemble *v, int hypothesis, int word);
/* Attention over `length` source words, heads and models averaged, added to `sums`, which are zero if it is alone; nothing if no model has any. */
void attend_ensemble_weights(const attend_ensemble *v, int hypothesis, int length, attend_real *sums);

#endif
