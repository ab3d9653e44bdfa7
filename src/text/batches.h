/* batches.h: a corpus in batches, epoch after epoch, in an order that is a function of (seed, epoch).
 *
 * How        An epoch is a permutation of all pairs (permutation.h), cut into pools of nearly the same number of pairs. Inside a pool pairs are sorted by
 *            length and cut into batches, whose order is then shuffled: sentences of a batch are about equally long, and yet batches
 *            differ from epoch to epoch.
 * Size       A pair counts as the longer of its source's numbers and its target's rows (numbers and an end). A batch holds pairs of at
 *            most batch_tokens together; a pair that is longer than that makes a batch of its own.
 * Position   (epoch, pool, batch in the pool) says which batch comes next, and nothing else is remembered: with the same corpus and
 *            options, going on from a saved position gives the very batches that would have come.
 * Ownership  A batch's arrays belong to the attend_batches and are valid until the next batch. The corpus is borrowed.
 * Threads    An attend_batches belongs to one thread at a time; several may share a corpus. */
#ifndef ATTEND_TEXT_BATCHES_H
#define ATTEND_TEXT_BATCHES_H

#include "text/corpus.h"

/* Encodes a text anew for an epoch (BPE-dropout): as attend_encode_fn, and (epoch, pair) is what randomness may depend on. */
typedef int (*attend_reencode_fn)(void *user, attend_side side, uint64_t epoch, uint64_t pair, const char *text,
                                  size_t size, attend_ids *out);

typedef struct attend_batches_options {
    uint64_t seed;
    int batch_tokens;
    int pool; /* pairs of a pool at most; 0: as many as make 64 batches or 8 pools, but at least 8 batches */
    attend_reencode_fn
        encode; /* NULL: numbers as they are in the corpus. Else the corpus keeps texts; sizes go by the stored numbers */
    void *user;
} attend_batches_options;

typedef struct attend_batch_position {
    uint64_t epoch, pool, batch;
} attend_batch_position;

typedef struct attend_batch {
    attend_pairs pairs;
    const uint64_t *numbers;        /* of these pairs in the corpus */
    attend_batch_position position; /* this batch's */
    int tokens;                     /* as `Size` counts them */
    bool last;                      /* of its epoch */
} attend_batch;

typedef struct attend_batches attend_batches;

/* ATTEND_BAD_DATA if the corpus has no pairs. *out is the caller's, freed by attend_batches_free (NULL is fine there). */
int attend_batches_new(attend_batches **out, const attend_corpus *corpus, const attend_batches_options *options);
void attend_batches_free(attend_batches *b);

/* The batch at *position, which then moves to the one behind it: behind the last of an epoch {0} of the next. A position that does not
 * exist (saved with other data or options) is ATTEND_BAD_USAGE. */
int attend_batches_next(attend_batches *b, attend_batch_position *position, attend_batch *batch);

/* How much of its epoch lies before a position that attend_batches_next has moved: from 0 to 1. */
double attend_batches_progress(const attend_batches *b, const attend_batch_position *p);
uint64_t attend_batches_pools(const attend_batches *b); /* of an epoch */

#endif
