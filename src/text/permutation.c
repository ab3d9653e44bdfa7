#include "text/permutation.h"

attend_permutation attend_permutation_of(uint64_t n, const attend_rng *r)
{
    attend_permutation s = { .n = n, .half = 1 };
    while (n >> 2 * s.half > 0) s.half++;
    for (uint32_t i = 0; i < ATTEND_SHUFFLE_ROUNDS; i += 2) {
        uint32_t four[4];
        attend_rng_block(r, i / 2, four);
        s.keys[i] = (uint64_t)four[0] << 32 | four[1];
        s.keys[i + 1] = (uint64_t)four[2] << 32 | four[3];
    }
    return s;
}

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014). The upper bits have the better quality. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t once(const attend_permutation *s, uint64_t x)
{
    const uint64_t mask = (UINT64_C(1) << s->half) - 1;
    uint64_t left = x >> s->half, right = x & mask;
    for (int i = 0; i < ATTEND_SHUFFLE_ROUNDS; i++) {
        const uint64_t next = left ^ (mix(right + s->keys[i]) >> (64 - s->half));
        left = right;
        right = next;
    }
    return left << s->half | right;
}

uint64_t attend_permutation_at(const attend_permutation *s, uint64_t i)
{
    do i = once(s, i);
    while (i >= s->n);
    return i;
}
