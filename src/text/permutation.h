/* permutation.h: a random permutation of [0, n) in constant memory.
 *
 * A Feistel network (Luby and Rackoff 1988) permutes the numbers of 2h bits, the smallest such domain that contains
 * [0, n). A result outside [0, n) is permuted again until it is inside (cycle walking, Black and Rogaway 2002), fewer
 * than four times on average. The keys are Philox numbers, so the permutation is a function of (seed, stream, use). */
#ifndef ATTEND_TEXT_PERMUTATION_H
#define ATTEND_TEXT_PERMUTATION_H

#include "core/rng.h"

enum { ATTEND_SHUFFLE_ROUNDS = 8 };

typedef struct attend_permutation {
    uint64_t n;
    int half; /* h: bits of a half */
    uint64_t keys[ATTEND_SHUFFLE_ROUNDS];
} attend_permutation;

/* A permutation of [0, n), n < 2^62. */
attend_permutation attend_permutation_of(uint64_t n, const attend_rng *r);
/* The image of i < n. */
uint64_t attend_permutation_at(const attend_permutation *s, uint64_t i);

#endif
