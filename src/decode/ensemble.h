/* ensemble.h: the models of a search: one, or several that decode the same hypotheses and whose probabilities are
 * averaged.
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
    attend_real *row;            /* (vocabulary) the mean; NULL for one model */
    int attending;               /* models with cross-attention */
    int keep;                    /* a step returns only this many best tokens per hypothesis; 0: all. One model only */
} attend_ensemble;

/* Starts decoding `count` sources. {0} is empty; attend_ensemble_free is needed after a failure too. ATTEND_BAD_USAGE
 * if the models' tasks or vocabulary sizes differ, ATTEND_NO_MEMORY. */
int attend_ensemble_new(attend_ensemble *e, attend_ctx *const *contexts, const attend_model *const *models,
                        int model_count, int count, const int *source, const int *lengths);
void attend_ensemble_free(attend_ensemble *e);

/* Keeps only the `max` best tokens of each hypothesis, and only those on the shortlist if requested, before the first
 * step: see attend_decoding_set_top_k and attend_decoding_use_shortlist. No effect on several models or a large
 * `max`. */
int attend_ensemble_keep_best(attend_ensemble *e, int max, bool shortlist);

/* See attend_decoding_step. */
int attend_ensemble_step(attend_ensemble *e, const int *counts, const int *parents, const int *tokens);

/* The best tokens of a hypothesis after the last step, if only those are kept: see attend_decoding_top_k. */
const attend_real *attend_ensemble_best(const attend_ensemble *e, int hypothesis, int *count, const int **tokens);
/* log p of ATTEND_END. */
attend_real attend_ensemble_end(const attend_ensemble *e, int hypothesis);
/* If all tokens are kept: log p of every token (vocabulary), valid until the next call; and of one token. */
const attend_real *attend_ensemble_log_probabilities(const attend_ensemble *e, int hypothesis);
attend_real attend_ensemble_token(const attend_ensemble *e, int hypothesis, int token);
/* Adds the attention to `length` source tokens, averaged over heads and models, to `sums`: the share of the models
 * whose alignment is shifted, or of those whose alignment is not. Adds nothing if no model has cross-attention. */
void attend_ensemble_weights(const attend_ensemble *e, int hypothesis, int length, bool shifted, attend_real *sums);
/* ATTEND_OK, or why weights could not be read since the last step. */
int attend_ensemble_status(const attend_ensemble *e);
/* Before the first step: attend_ensemble_weights will not be called. */
void attend_ensemble_omit_weights(attend_ensemble *e);

#endif
