#include "core/rng.h"
#include "core/status.h"

void attend_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * x0, b = (uint64_t)0xCD9E8D57u * x2;
        x0 = (uint32_t)(b >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)b;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)a;
        k0 += 0x9E3779B9u; /* the golden ratio and sqrt(3) - 1, the constants of the paper */
        k1 += 0xBB67AE85u;
    }
    out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

void attend_rng_block(const attend_rng *r, uint32_t block, uint32_t out[4])
{
    const uint32_t counter[4] = { block, r->use, (uint32_t)r->stream, (uint32_t)(r->stream >> 32) };
    const uint32_t key[2] = { (uint32_t)r->seed, (uint32_t)(r->seed >> 32) };
    attend_philox(counter, key, out);
}

double attend_rng_uniform(const attend_rng *r, uint64_t i)
{
    ATTEND_REQUIRE(0, r);
    uint32_t four[4];
    attend_rng_block(r, (uint32_t)(i / 4), four);
    return four[i % 4] * 0x1p-32;
}

void attend_rng_dropout_mask(const attend_rng *r, uint64_t i, size_t n, double p, unsigned char *mask)
{
    const uint64_t dropped = (uint64_t)(p * 0x1p32); /* values below this are dropped */
    uint32_t four[4];
    for (size_t j = 0; j < n; i++, j++) {
        if (j == 0 || i % 4 == 0) attend_rng_block(r, (uint32_t)(i / 4), four);
        mask[j] = four[i % 4] >= dropped;
    }
}
