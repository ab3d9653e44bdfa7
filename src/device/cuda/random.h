/* random.h: the random numbers of core/rng.h on the GPU: the same function of seed, stream, use and index. */
#ifndef ATTEND_DEVICE_CUDA_RANDOM_H
#define ATTEND_DEVICE_CUDA_RANDOM_H

#include "device/cuda/launch.h"

/* Numbers 4 block to 4 block + 3, as 32 random bits each (Philox4x32-10). */
static __device__ inline void cuda_random_block(const attend_rng &r, uint32_t block, uint32_t out[4])
{
    uint32_t x0 = block, x1 = r.use, x2 = (uint32_t)r.stream, x3 = (uint32_t)(r.stream >> 32);
    uint32_t k0 = (uint32_t)r.seed, k1 = (uint32_t)(r.seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint32_t a = 0xD2511F53u * x0, high_a = __umulhi(0xD2511F53u, x0);
        const uint32_t b = 0xCD9E8D57u * x2, high_b = __umulhi(0xCD9E8D57u, x2);
        x0 = high_b ^ x1 ^ k0;
        x1 = b;
        x2 = high_a ^ x3 ^ k1;
        x3 = a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

/* Number i, 32 random bits. */
static __device__ inline uint32_t cuda_random_bits(const attend_rng &r, uint64_t i)
{
    uint32_t four[4];
    cuda_random_block(r, (uint32_t)(i / 4), four);
    return i % 4 == 0 ? four[0] : i % 4 == 1 ? four[1] : i % 4 == 2 ? four[2] : four[3];
}

/* Number i, uniform in [0, 1). */
static __device__ inline double cuda_random_uniform(const attend_rng &r, uint64_t i)
{
    return cuda_random_bits(r, i) * (1.0 / 4294967296.0);
}

#endif
