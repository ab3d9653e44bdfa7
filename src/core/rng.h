/* rng.h: random numbers that are a function of where they are used, not of who asked first.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): ten rounds of multiplication turn a 128-bit counter and a
 * 64-bit key into four 32-bit numbers. There is no state, so every thread gets the same numbers. */
#ifndef ATTEND_CORE_RNG_H
#define ATTEND_CORE_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One use of random numbers: `seed` is the user's, `stream` the shard and update, `use` the operation. */
typedef struct attend_rng {
    uint64_t seed, stream;
    uint32_t use;
} attend_rng;

void attend_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* The four numbers of block `block` of this use. */
void attend_rng_block(const attend_rng *r, uint32_t block, uint32_t out[4]);
/* Number i of this use, in [0, 1), with 32 random bits. */
double attend_rng_uniform(const attend_rng *r, uint64_t i);
/* keep[j] = 1 with probability 1 - p, else 0, for numbers i, i + 1, ... of this use. */
void attend_rng_keep(const attend_rng *r, uint64_t i, size_t n, double p, unsigned char *keep);

#endif
