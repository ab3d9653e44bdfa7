/* aligner.h: word alignments without a neural model: a statistical aligner that is estimated from sentence pairs.
 *
 * Purpose    IBM Model 1 and a hidden Markov model in both directions, trained by agreement (Liang, Taskar, Klein 2006). Add
 *            pairs, train, and align the same pairs or others. docs/alignment.md has the method and its error rates.
 * Units      Words (words.h), or characters where most lines of a side are a single word.
 * Faults     A pair with an empty side, invalid UTF-8 or more than ATTEND_ALIGNER_MAX_WORDS words has `fault` set and no
 *            links; it is not used in training.
 * Ownership  Results belong to the aligner and are valid until the next call that changes it.
 * Threads    An aligner is used by one thread at a time; it has worker threads of its own. Their number does not change
 *            any result. */
#ifndef ATTEND_ALIGNER_H
#define ATTEND_ALIGNER_H

#include <attend/string.h>
#include <attend/words.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The longest side of a pair that is aligned. */
#define ATTEND_ALIGNER_MAX_WORDS 500

typedef struct attend_aligner_options {
    attend_unit
        unit;    /* of both sides; auto: decided for each side by the first call of attend_aligner_add; not piece */
    int threads; /* 1 to 1024 */
    int model1_iterations, hmm_iterations; /* 0 to 1000, at least one altogether */
    double threshold;                      /* above 0, at most 1: the links of ATTEND_ALIGNED_AGREED */
    size_t memory;                         /* limit of the pairs and translation probabilities, in bytes; 0: no limit */
    /* called before each iteration of training and at its end; NULL: nothing */
    void (*progress)(void *user, int done, int iterations);
    void *user;
    /* asked now and then, on any thread, whether to end the training, which then returns ATTEND_FAILED; NULL: never */
    bool (*stop)(void *user);
} attend_aligner_options;

/* 5 iterations of each model, threshold 0.5, automatic units, no limit of memory. */
attend_aligner_options attend_aligner_defaults(void);

typedef enum attend_aligned {
    ATTEND_ALIGNED_FORWARD, /* for each target word, its most probable source word, unless it has none */
    ATTEND_ALIGNED_REVERSE, /* for each source word, its most probable target word */
    ATTEND_ALIGNED_AGREED /* links whose posteriors in both directions have a geometric mean of at least `threshold` */
} attend_aligned;

typedef struct attend_aligned_pair {
    const attend_word_link *links[3]; /* by attend_aligned */
    int counts[3];
    const char *fault; /* why the pair has no links; NULL: it is aligned */
} attend_aligned_pair;

typedef struct attend_aligner attend_aligner;

/* *out is the caller's, freed by attend_aligner_free. ATTEND_BAD_USAGE: an option is out of range; ATTEND_NO_MEMORY. */
int attend_aligner_new(attend_aligner **out, const attend_aligner_options *options);
/* NULL is allowed. */
void attend_aligner_free(attend_aligner *a);

/* Adds pairs to train on. ATTEND_BAD_USAGE after training; ATTEND_NO_MEMORY. */
int attend_aligner_add(attend_aligner *a, int count, const char *const *sources, const char *const *targets);
/* The number of pairs added. */
size_t attend_aligner_pairs(const attend_aligner *a);
/* Trains on the pairs. ATTEND_BAD_DATA if none of them can be used; ATTEND_BAD_USAGE if it is trained already;
 * ATTEND_NO_MEMORY. */
int attend_aligner_train(attend_aligner *a);

/* Aligns the pairs [first, first + count) of those added. ATTEND_BAD_USAGE before training or if out of range. */
int attend_aligner_align_added(attend_aligner *a, size_t first, int count);
/* Aligns other pairs. ATTEND_BAD_USAGE before training; ATTEND_NO_MEMORY. */
int attend_aligner_align(attend_aligner *a, int count, const char *const *sources, const char *const *targets);
/* The result of pair 0, 1, ... of the last call that aligned; NULL if out of range. */
const attend_aligned_pair *attend_aligner_result(const attend_aligner *a, int pair);

/* Appends the dictionary of a trained aligner to `out`: a line for each source word, in the order of the pairs, with the
 * word, a TAB and its translation, the target word of the highest geometric mean of the probabilities of each given the
 * other. Words for which it is below `min` have no line. For attend_dictionary_read (translator.h). ATTEND_BAD_USAGE
 * before training; ATTEND_NO_MEMORY. */
int attend_aligner_dictionary(const attend_aligner *a, double min, attend_string *out);

/* Writes a trained aligner to a file, which is replaced atomically, and reads one; `options` as for attend_aligner_new,
 * except that units are those of the file. ATTEND_BAD_USAGE before training; ATTEND_IO; ATTEND_BAD_MODEL: the file is not
 * an aligner or is damaged; ATTEND_NO_MEMORY. */
int attend_aligner_save(const attend_aligner *a, const char *path);
int attend_aligner_load(attend_aligner **out, const char *path, const attend_aligner_options *options);
/* ATTEND_OK if a file is an aligner, of any version; ATTEND_BAD_MODEL: it is something else. Reads its header only and
 * does not verify the checksum. ATTEND_IO, ATTEND_NO_MEMORY. */
int attend_aligner_check_file(const char *path);

#ifdef __cplusplus
}
#endif
#endif
