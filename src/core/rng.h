/* rng.h: the private part of attend/random.h. */
#ifndef ATTEND_CORE_RNG_H
#define ATTEND_CORE_RNG_H

#include <attend/random.h>
#include <stdbool.h>
#include <stddef.h>

/* The Philox4x32-10 function. */
void attend_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Numbers 4 block to 4 block + 3 of the sequence, as 32 random bits each. */
void attend_rng_block(const attend_rng *r, uint32_t block, uint32_t out[4]);

/* Numbers i to i + n - 1 as a dropout mask: mask[j] = 0 with probability p, else 1. */
void attend_rng_dropout_mask(const attend_rng *r, uint64_t i, size_t n, double p, unsigned char *mask);

#endif
