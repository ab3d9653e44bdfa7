/* alignment_model.h: a statistical word aligner on numbered words: IBM Model 1, then a hidden Markov model, in both
 * directions at once, trained by agreement (Liang, Taskar, Klein 2006).
 *
 * Purpose    The E step multiplies the posteriors of a link in both directions; what only one direction believes counts
 *            little. Both directions are estimated from the same products, and agree in the end where either alone has
 *            many errors.
 * Threads    Training uses a number of threads, and its result does not depend on it. A trained model can be read by many
 *            threads, each with a space of its own. */
#ifndef ATTEND_ALIGN_ALIGNMENT_MODEL_H
#define ATTEND_ALIGN_ALIGNMENT_MODEL_H

#include "align/hmm.h"
#include "align/lexicon.h"
#include <attend/words.h>

/* Words of longer sentences are not aligned: the work grows with the cube of the length. */
enum { ALIGNMENT_MAX_WORDS = 500 };

/* Defaults: iterations of each model, and the threshold of links. Tuned on English-French parliament debates
 * (docs/alignment.md). */
enum { ATTEND_ALIGNER_ITERATIONS = 5 };
#define ATTEND_ALIGNER_THRESHOLD 0.5

/* Sentence pairs, one after another. Words are numbered from 1; 0 is an unknown word. Pairs with an empty or too long side
 * are left out of training. */
typedef struct alignment_pairs {
    size_t count;
    const int *words[2];     /* of all sources, of all targets */
    const size_t *starts[2]; /* (count) of the first word of each pair */
    const int *lengths[2];   /* (count) */
} alignment_pairs;

typedef struct alignment_model {
    attend_lexicon lexicon;
    double jumps[2][HMM_JUMPS]; /* relative frequencies, by direction */
    bool uses_hmm;              /* false: IBM Model 1 */
} alignment_model;

typedef struct alignment_training {
    int threads;
    int model1_iterations, hmm_iterations;
    double max_bytes; /* INFINITY: no limit */
    /* called before each iteration and at the end, with the number of iterations done; NULL: nothing */
    void (*progress)(void *user, int done, int iterations);
    void *user;
    bool (*stop)(void *user); /* asked on any thread; NULL: never */
} alignment_training;

/* *m is the caller's, also after a failure: attend_alignment_model_free. ATTEND_NO_MEMORY; ATTEND_BAD_DATA if there is no
 * pair to learn from. */
int attend_alignment_model_train(alignment_model *m, const alignment_pairs *pairs, const alignment_training *how);
void attend_alignment_model_free(alignment_model *m);

/* Whether both sides have 1 to ALIGNMENT_MAX_WORDS words. */
static inline bool attend_alignment_can_align(int sources, int targets)
{
    return sources > 0 && sources <= ALIGNMENT_MAX_WORDS && targets > 0 && targets <= ALIGNMENT_MAX_WORDS;
}

/* Scratch memory and the posteriors of a pair. {0} is empty. */
typedef struct alignment_space {
    hmm_space hmm;
    int *entries;          /* (targets + 1, sources + 1): of the lexicon; the last row and column are the NULL words */
    double *probabilities; /* of one direction */
    double *posteriors[2]; /* (targets, sources + 1) and (sources, targets + 1) */
    size_t capacity;
} alignment_space;

void attend_alignment_space_free(alignment_space *s);
/* Computes s->posteriors of a pair whose sides have 1 to ALIGNMENT_MAX_WORDS words. ATTEND_NO_MEMORY. */
int attend_alignment_posteriors(const alignment_model *m, alignment_space *s, const int *source, int sources,
                                const int *target, int targets);

/* Links by posteriors, in the order of the target, then of the source. */

/* All links whose posteriors in both directions have a geometric mean of at least `threshold`, at most `capacity`. Returns
 * their number; links may be NULL to count them. */
int attend_alignment_agreed(const alignment_space *s, int sources, int targets, double threshold,
                            attend_word_link *links, int capacity);
/* By direction 0, the most probable source word of each target word, unless NULL is more probable; by direction 1, the most
 * probable target word of each source word. At most one for each word; returns their number. */
int attend_alignment_directed(const alignment_space *s, int direction, int sources, int targets,
                              attend_word_link *links);

#endif
