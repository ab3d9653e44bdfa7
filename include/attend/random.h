/* random.h: counter-based random numbers.
 *
 * Purpose    Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): ten rounds of multiplication turn a 128-bit counter and
 *            a 64-bit key into four 32-bit numbers.
 * Threads    There is no state: a number depends only on (seed, stream, use, index), so results do not depend on the
 *            order of calls or on the number of threads. */
#ifndef ATTEND_RANDOM_H
#define ATTEND_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One sequence of random numbers. */
typedef struct attend_rng {
    uint64_t seed;   /* chosen by the user */
    uint64_t stream; /* for example one per shard and update */
    uint32_t use;    /* for example one per operation */
} attend_rng;

/* Number i of the sequence, uniform in [0, 1), with 32 random bits. */
double attend_rng_uniform(const attend_rng *r, uint64_t i);

#ifdef __cplusplus
}
#endif
#endif
