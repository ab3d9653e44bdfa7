/* scorer.h: given pairs of texts, how probable is the target, and where does each of its words look? Given lines, how probable is each?
 *
 * Purpose    attend_scorer_run takes pairs and gives as many results, in their order: log-probabilities of targets and of their words, and the
 *            attention of a model that is made to say them. attend_scorer_links merges pieces of words to words.
 * Lines      A pair with an empty side or one that is not UTF-8 has `fault` set and nothing else. A language model scores targets alone.
 * Ownership  A scorer borrows its model. Results belong to the scorer and are valid until its next run.
 * Threads    A scorer is used by one thread at a time; it has its own. */
#ifndef ATTEND_SCORER_H
#define ATTEND_SCORER_H

#include <attend/metric.h>
#include <attend/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_scored_pair {
    double log_probability;                 /* of the whole target, its end included */
    int rows;                               /* words and the end */
    const attend_real *row_log_probability; /* (rows) */
    const attend_real
        *weights; /* (rows, source_count), by attend_model_alignment; NULL: not asked for, or no attention */
    const int *source, *target; /* words by number; the source with its end, the target without */
    int source_count, target_count;
    const attend_span *source_spans, *target_spans; /* in the texts in normal form C, which are .. */
    const char *source_text, *target_text;          /* .. these */
    const char *fault;                              /* NULL: none */
} attend_scored_pair;

typedef struct attend_scorer attend_scorer;

/* weights: attention is wanted. *out is the caller's, freed by attend_scorer_free (NULL is fine there). */
int attend_scorer_new(attend_scorer **out, const attend_model *m, int threads, bool weights);
void attend_scorer_free(attend_scorer *s);

/* From the next run on weights are the mean of these maps, whatever the model says. ATTEND_BAD_USAGE if it has none of them. */
int attend_scorer_set_alignment(attend_scorer *s, attend_alignment alignment);
/* From the next run on every map of a pair is kept beside, which takes as many times the memory; for attend_scorer_result_for. */
void attend_scorer_keep_maps(attend_scorer *s);

/* sources: NULL for a language model, and only for one. */
int attend_scorer_run(attend_scorer *s, int count, const char *const *sources, const char *const *targets);
const attend_scored_pair *attend_scorer_result(const attend_scorer *s, int pair);
/* The same with the mean of these maps as its weights; valid until the next call. Maps must have been kept. */
int attend_scorer_result_for(attend_scorer *s, int pair, attend_alignment alignment, const attend_scored_pair **result);

/* Words, as blanks separate them, of both sides: of each target word the source word that its pieces look at most. `links` has room for as many as the
 * target has words; returns how many there are. What looks at blanks or at the source's end does not count. */
int attend_scorer_links(const attend_scored_pair *scored, attend_word_link *links, int room);

/* How many words, as blanks separate them, the sides have; 0 and 0 of a faulty pair. */
void attend_scorer_word_counts(const attend_scored_pair *scored, int *sources, int *targets);
/* Attention between words: of a target word the mean of its pieces, to a source word the sum over its pieces. What goes to blanks and to the
 * source's end is left out, so a row adds up to 1 at most. Nothing is written if there is no attention. */
void attend_scorer_word_weights(const attend_scored_pair *scored, double *weights); /* (targets, sources) */

#ifdef __cplusplus
}
#endif
#endif
