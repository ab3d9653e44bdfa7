/* batches.h: groups a corpus into batches, epoch after epoch, in an order that is a function of (seed, epoch).
 *
 * Method     An epoch is a permutation of all pairs (permutation.h), divided into pools of nearly equal numbers of
 *            pairs. The pairs of a pool are sorted by length and grouped into batches, whose order is then shuffled:
 *            the sentences of a batch have similar lengths, and batches still differ from epoch to epoch.
 * Size       The size of a pair is the larger of its source tokens and its target rows (tokens and an end). A batch
 *            has at most batch_tokens; a pair that is larger is a batch by itself.
 * Position   (epoch, pool, batch in the pool) identifies the next batch. There is no other state: resuming from a
 *            saved position with the same corpus and options gives the same batches.
 * Ownership  The arrays of a batch belong to the attend_batches and are valid until the next batch. The corpus is
 *            borrowed.
 * Threads    An attend_batches is used by one thread at a time; several can share a corpus. */
#ifndef ATTEND_TEXT_BATCHES_H
#define ATTEND_TEXT_BATCHES_H

#include "text/corpus.h"

/* Encodes a text again for an epoch (BPE-dropout). Like attend_encode_fn; random numbers may depend on (epoch, pair)
 * only. */
typedef int (*attend_reencode_fn)(void *user, attend_side side, uint64_t epoch, uint64_t pair, const char *text,
                                  size_t size, attend_ids *out);

/* Sets how many tokens are left out at the beginning of the source and of the target of a pair in an epoch; fewer than it
 * has. */
typedef void (*attend_crop_fn)(const void *user, uint64_t epoch, uint64_t pair, int *source, int *target);

typedef struct attend_batches_options {
    uint64_t seed;
    int batch_tokens;
    /* maximum pairs of a pool; 0: enough for 64 batches, or an eighth of the corpus if that is less, but at least 8
     * batches */
    int pool;
    /* NULL: use the tokens of the corpus. Otherwise the corpus must keep texts; sizes are still those of its tokens */
    attend_reencode_fn encode;
    void *user;
    attend_crop_fn crop; /* NULL: whole pairs. Not with `encode`. Sizes are still those of whole pairs */
    const void *crop_user;
} attend_batches_options;

typedef struct attend_batch_position {
    uint64_t epoch, pool, batch;
} attend_batch_position;

typedef struct attend_batch {
    attend_pairs pairs;
    const uint64_t *numbers;        /* indices of the pairs in the corpus */
    attend_batch_position position; /* of this batch */
    int tokens;                     /* the sum of the pairs' sizes */
    bool last;                      /* the last batch of its epoch */
} attend_batch;

typedef struct attend_batches attend_batches;

/* ATTEND_BAD_USAGE for invalid options or an unfinished corpus; ATTEND_BAD_DATA if the corpus has no pairs;
 * ATTEND_NO_MEMORY. *out is the caller's, freed by attend_batches_free (NULL is allowed there). */
int attend_batches_new(attend_batches **out, const attend_corpus *corpus, const attend_batches_options *options);
void attend_batches_free(attend_batches *b);

/* Returns the batch at *position and advances *position; after the last batch of an epoch to the first of the next.
 * ATTEND_BAD_USAGE if the position does not exist, because it was saved with other data or options; ATTEND_IO;
 * ATTEND_NO_MEMORY. */
int attend_batches_next(attend_batches *b, attend_batch_position *position, attend_batch *batch);

/* Whether there is a batch at a position: ATTEND_BAD_USAGE if not; then *part says which part of the position has no
 * batch: 0 the epoch, 1 the pool, 2 the batch. */
int attend_batches_check(attend_batches *b, const attend_batch_position *position, int *part);

/* The same as attend_batches_next without tokens: batch->pairs has lengths only. Not with options.encode, whose lengths are known only when texts
 * are encoded. */
int attend_batches_next_lengths(attend_batches *b, attend_batch_position *position, attend_batch *batch);
/* Whether lengths can be known without tokens. */
bool attend_batches_know_lengths(const attend_batches *b);
/* Copies the tokens of a pair in an epoch to arrays of the lengths in its batch. */
int attend_batches_pair(attend_batches *b, uint64_t epoch, uint64_t number, int *source, int *target);

/* The fraction of its epoch before a position, 0 to 1. The position must come from attend_batches_next. */
double attend_batches_progress(const attend_batches *b, const attend_batch_position *p);
/* The number of pools of an epoch. */
uint64_t attend_batches_pools(const attend_batches *b);
/* The number of batches of a pool, which depends on the epoch. ATTEND_IO. */
int attend_batches_in_pool(attend_batches *b, uint64_t epoch, uint64_t pool, int *count);

#endif
