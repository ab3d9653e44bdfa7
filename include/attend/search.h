/* search.h: the best translations of some sources, by a model: greedy or beam search.
 *
 *     score = log p / ((5 + n) / 6)^length_penalty + coverage_penalty sum_j log(min(sum_i w_ij, 1))       (Wu et al. 2016)
 * n counts the target's words and its end; a source word that nothing looked at counts as looked at by 1e-10.
 *
 * Purpose    All sources run together; one that is done leaves the batch at once. What comes out for a source does not depend on the others.
 * Ends       A source is done when no hypothesis that still runs can become better than those that came back; so a wide enough beam finds
 *            the best target there is within the length limit. A target that reaches the limit ends there, without an end of its own.
 * Ownership  *out is the caller's, freed by attend_found_free (NULL is fine there). */
#ifndef ATTEND_SEARCH_H
#define ATTEND_SEARCH_H

#include <attend/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_search_options {
    int beam;                /* hypotheses of a source that run at a time; 1: greedy */
    int n_best;              /* translations of a source that come back, at most `beam` */
    double length_penalty;   /* 0: none; favours long targets the more the larger */
    double coverage_penalty; /* 0: none; favours targets that looked at every source word */
    double length_ratio;     /* a target has at most length_ratio * source words + length_extra words */
    int length_extra;
    bool weights; /* attention comes back too */
} attend_search_options;

#define ATTEND_SEARCH_OPTIONS_INIT                                                                                     \
    {                                                                                                                  \
        5, 1, 1.0, 0.0, 2.0, 10, false                                                                                 \
    }

typedef struct attend_translation {
    const int *words; /* without begin and end; ATTEND_UNKNOWN may be among them */
    int count;
    bool ended;                              /* false: the length limit ended it */
    double score;                            /* by which they are sorted */
    double log_probability;                  /* of the words and the end */
    const attend_real *word_log_probability; /* (count + 1), of each word and of the end */
    const attend_real *
        weights; /* (count + 1, source words), heads averaged: where each word, and the end, looked; NULL: not asked for, or none */
} attend_translation;

typedef struct attend_found attend_found;

/* Uses the context as attend_decoding_new does: it is reset, and recording is off afterwards. ATTEND_FAILED if the model's numbers overflow so
 * that no word has a probability. */
int attend_search(attend_found **out, attend_ctx *c, const attend_model *m, const attend_search_options *options,
                  int count, const int *source, const int *lengths);
void attend_found_free(attend_found *f);

int attend_found_count(const attend_found *f, int source); /* translations of a source: at least 1 */
const attend_translation *attend_found_at(const attend_found *f, int source, int rank);

#ifdef __cplusplus
}
#endif
#endif
