/* shortlist.h: lexical shortlists: the target tokens that may follow from each source token, so that decoding computes
 * only part of the output layer.
 *
 * Purpose    The output layer is most of the work of decoding. Only few target tokens are plausible for a source
 *            sentence: those that were aligned with its tokens in the training pairs, and those that are frequent
 *            everywhere. attend_shortlist_add counts alignments; attend_shortlist_attach stores the best in a model,
 *            which is saved with them; attend_decoding_use_shortlist (model.h) uses them.
 * Effect     A token that is not on the list of its sentence has probability 0. The probability mass of those tokens is
 *            estimated from every 16th token of the vocabulary, so that the tokens on the list get about the
 *            probability they would have without it. The list of a sentence does not depend on the rest of the batch.
 * Ownership  The caller owns a shortlist; attaching copies it.
 * Threads    One thread at a time. */
#ifndef ATTEND_SHORTLIST_H
#define ATTEND_SHORTLIST_H

#include <attend/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_shortlist attend_shortlist;

/* An empty shortlist for vocabularies of these sizes. */
int attend_shortlist_new(attend_shortlist **out, int source_vocab, int target_vocab);
/* NULL is allowed. */
void attend_shortlist_free(attend_shortlist *s);

/* Counts an alignment of a source token with a target token. ATTEND_BAD_USAGE: a token is out of range. */
int attend_shortlist_add(attend_shortlist *s, int source, int target);
/* Counts an occurrence of a target token, aligned or not. */
int attend_shortlist_count(attend_shortlist *s, int target);

/* The memory that the counts take. */
size_t attend_shortlist_bytes(const attend_shortlist *s);

/* Attaches to the model the `frequent` most frequent target tokens and, for each source token, the `per_token` target
 * tokens it was aligned with most often. The lower token wins among equal counts. */
int attend_shortlist_attach(const attend_shortlist *s, attend_model *m, int frequent, int per_token);
/* Whether a model has a shortlist. */
bool attend_model_has_shortlist(const attend_model *m);

#ifdef __cplusplus
}
#endif
#endif
