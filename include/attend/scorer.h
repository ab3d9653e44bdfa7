/* scorer.h: log-probabilities and attention of given targets (forced decoding).
 *
 * Purpose    attend_scorer_run takes pairs of texts, or single texts for a language model, and produces one result
 *            per pair, in the same order: the log-probability of the target and of each of its tokens, and the
 *            attention of the model while it predicts them. attend_scorer_links turns attention between tokens into
 *            links between words.
 * Faults     A pair with an empty side, invalid UTF-8 or too many tokens has `fault` set, and so has a pair for which the
 *            model's computation overflows, or would take more memory than the limit; its numbers are zero and its
 *            arrays NULL.
 * Words      Words are those of words.h, or other units: what fits each side, unless attend_scorer_set_unit says
 *            otherwise.
 * Ownership  A scorer borrows its model. Results belong to the scorer and are valid until its next run.
 * Threads    A scorer is used by one thread at a time; it has worker threads of its own. */
#ifndef ATTEND_SCORER_H
#define ATTEND_SCORER_H

#include <attend/text.h>
#include <attend/words.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_scored_pair {
    double log_probability;                 /* of the target, its end included */
    int rows;                               /* target_count + 1: the tokens and the end */
    const attend_real *row_log_probability; /* (rows) */
    /* (rows, source_count): attention by the scorer's alignment; NULL: not requested or no attention */
    const attend_real *weights;
    bool has_null; /* a token that attends most to the source's end has no link (attend_alignment_has_null) */
    const int *source, *target; /* tokens; the source with its end, the target without */
    int source_count, target_count;
    const attend_span *source_spans, *target_spans; /* of the tokens in source_text and target_text */
    const char *source_text, *target_text;          /* in NFC; "" if not UTF-8 */
    attend_unit source_unit, target_unit;           /* what links and word weights count; never ATTEND_UNIT_AUTO */
    const char *fault;                              /* why the pair has no score; NULL: it has one */
    bool is_non_finite; /* the fault is the model's: its probabilities for the pair are not finite */
} attend_scored_pair;

typedef struct attend_scorer attend_scorer;

/* weights: compute attention. ATTEND_BAD_USAGE if threads is not 1 to 1024; ATTEND_BAD_MODEL if the model has no
 * tokenizers; ATTEND_NO_MEMORY. *out is the caller's, freed by attend_scorer_free. */
int attend_scorer_new(attend_scorer **out, const attend_model *m, int threads, bool weights);
/* NULL is allowed. */
void attend_scorer_free(attend_scorer *s);

/* Sets which maps are averaged into the weights of later runs, instead of the model's own choice. ATTEND_BAD_USAGE if
 * the model has no such map. */
int attend_scorer_set_alignment(attend_scorer *s, attend_alignment alignment);
/* Makes later runs keep the map of every layer and head, for attend_scorer_result_for; memory grows accordingly. */
void attend_scorer_keep_maps(attend_scorer *s);

/* Sets what links and word weights of later runs count on both sides; ATTEND_UNIT_AUTO, as at first: what fits each side.
 * ATTEND_BAD_USAGE if there is no such unit. */
int attend_scorer_set_unit(attend_scorer *s, attend_unit unit);

/* attend_ctx_set_compute for later runs. */
int attend_scorer_set_compute(attend_scorer *s, attend_compute_precision precision);

/* Limits the memory of later runs to about `bytes`, the model included; 0: no limit. What a pair takes is estimated
 * from its length. The limit does not change results, except that a pair which would exceed it alone is a fault.
 * ATTEND_BAD_USAGE if the model does not fit into the limit. */
int attend_scorer_set_memory(attend_scorer *s, size_t bytes);

/* Scores `count` pairs. sources must be NULL for a language model, and only then (ATTEND_BAD_USAGE).
 * ATTEND_NO_MEMORY. Faulty pairs are results, not failures. */
int attend_scorer_run(attend_scorer *s, int count, const char *const *sources, const char *const *targets);
/* The same, but keeps little memory: scores the first of the pairs, *done of them (at least one if count > 0), whose
 * results fit into 32 MiB for each thread and into half of the limit. Call it again with the others. */
int attend_scorer_run_some(attend_scorer *s, int count, const char *const *sources, const char *const *targets,
                           int *done);
/* The result of pair 0, 1, ... of the last run; NULL if out of range. */
const attend_scored_pair *attend_scorer_result(const attend_scorer *s, int pair);
/* A result whose weights are the mean of the given maps, valid until the next call. ATTEND_BAD_USAGE if maps were not
 * kept, or the pair or map does not exist; ATTEND_NO_MEMORY. */
int attend_scorer_result_for(attend_scorer *s, int pair, attend_alignment alignment, const attend_scored_pair **result);

/* Links each target word to the source word to which its tokens attend most; attention to white space and to the
 * source's end does not count, but with has_null a word that attends most to the end is not linked. Writes at most `capacity` links, at most one per target word; returns their number, 0
 * without attention. */
int attend_scorer_links(const attend_scored_pair *r, attend_word_link *links, int capacity);

/* The number of words of each side; 0 for a faulty pair. */
void attend_scorer_word_counts(const attend_scored_pair *r, int *sources, int *targets);
/* Attention between words: the mean over the tokens of a target word of the sum over the tokens of a source word.
 * Attention to white space and to the source's end is left out, so a row sums to at most 1. Writes nothing
 * without attention. */
void attend_scorer_word_weights(const attend_scored_pair *r, double *weights); /* (target words, source words) */

#ifdef __cplusplus
}
#endif
#endif
