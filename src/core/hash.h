/* hash.h: hash functions of all hash tables, with a random seed.
 *
 * The input of a table can be chosen so that its hashes collide if the hash function is known, and each lookup then
 * takes as long as a search through the whole table. Every table therefore takes attend_hash_seed when it is created
 * and hashes with it. The seed differs between processes, so that no result may depend on the order of slots: a table
 * numbers its entries in the order of their addition, or sorts them.
 *
 * Hashes that are part of a result (checksums, fingerprints) have no seed and do not belong here. */
#ifndef ATTEND_CORE_HASH_H
#define ATTEND_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The random seed of this process. Any thread may call it. */
uint64_t attend_hash_seed(void);
/* For tests: the seed of tables created from now on. */
void attend_hash_use_seed(uint64_t seed);

/* The hash of a sequence of bytes: XXH3. */
uint64_t attend_hash_bytes(const void *bytes, size_t size, uint64_t seed);

/* The hash of a number. The multiplication by an unknown odd number (Dietzfelbinger et al. 1997) moves an unknown part
 * of each difference to the upper bits; the two fixed steps, of splitmix64 (Steele,
 * Lea, Flood 2014), mix these into all bits. */
static inline uint64_t attend_hash_number(uint64_t x, uint64_t seed)
{
    x = (x ^ seed) * (seed << 1 | 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The hash of two 32-bit numbers. */
static inline uint64_t attend_hash_pair(uint32_t a, uint32_t b, uint64_t seed)
{
    return attend_hash_number((uint64_t)a << 32 | b, seed);
}

#endif
