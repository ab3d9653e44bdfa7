/* shortlist.h: which target words may come of which source words, so that decoding need not look at all of them.
 *
 * Purpose    The output layer is most of the work of decoding. Of a source sentence only few target words can come: those that were aligned with
 *            its words in the training pairs, and those that are frequent everywhere. attend_shortlist_add counts what is aligned with what;
 *            attend_shortlist_attach keeps the best of it in a model, where it is saved with it; attend_decoding_use_shortlist (model.h) uses it.
 * Effect     A word that is not on the list of its sentence has probability 0. What all of these would have had is estimated from every sixteenth word
 *            of the vocabulary, so that the others are about as probable as they are without a list. What comes out for a sentence does not
 *            depend on the others.
 * Ownership  A shortlist is the caller's; what is attached is a copy.
 * Threads    One at a time. */
#ifndef ATTEND_SHORTLIST_H
#define ATTEND_SHORTLIST_H

#include <attend/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_shortlist attend_shortlist;

/* *out is the caller's, freed by attend_shortlist_free (NULL is fine there). */
int attend_shortlist_new(attend_shortlist **out, int source_vocab, int target_vocab);
void attend_shortlist_free(attend_shortlist *s);

/* A source word was aligned with a target word. */
int attend_shortlist_add(attend_shortlist *s, int source, int target);
/* A target word was there, aligned or not. */
int attend_shortlist_count(attend_shortlist *s, int target);

/* Gives the model the `frequent` most frequent target words and, for each source word, the `per_word` it was aligned with most often. Of equal
 * counts the lower number is taken. */
int attend_shortlist_attach(const attend_shortlist *s, attend_model *m, int frequent, int per_word);
/* Whether a model has one. */
bool attend_model_has_shortlist(const attend_model *m);

#ifdef __cplusplus
}
#endif
#endif
