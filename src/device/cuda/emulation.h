/* emulation.h: enough of CUDA C++ to run the kernels of this directory on the CPU, so that they are tested where there is no
 * GPU. The blocks of a grid run one after another; the threads of a block are coroutines, which change at barriers and at
 * exchanges of a warp. A barrier that some threads do not reach ends the process with a message, and shared memory is
 * filled with NaN before each block. */
#ifndef ATTEND_DEVICE_CUDA_EMULATION_H
#define ATTEND_DEVICE_CUDA_EMULATION_H

#include <functional>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__      static
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    dim3(size_t a = 1, size_t b = 1, size_t c = 1) : x((unsigned)a), y((unsigned)b), z((unsigned)c)
    {
    }
};

extern dim3 cuda_emulated_grid, cuda_emulated_block, cuda_emulated_block_index, cuda_emulated_thread_index;
#define gridDim   cuda_emulated_grid
#define blockDim  cuda_emulated_block
#define blockIdx  cuda_emulated_block_index
#define threadIdx cuda_emulated_thread_index

/* runtime.cu */
void cuda_fail(const char *what, const char *why);

void cuda_emulate(dim3 grid, dim3 block, size_t shared, const char *name, const std::function<void()> &kernel);
void *cuda_emulated_shared(void);
void cuda_emulated_barrier(bool of_warp);
/* The value that lane `from` of the warp passes. */
uint64_t cuda_emulated_exchange(uint64_t value, unsigned from);
unsigned cuda_emulated_lane(void);

#define CUDA_LAUNCH(kernel, grid, block, shared, ...)                                                                  \
    do {                                                                                                               \
        if (cuda_is_well()) cuda_emulate((grid), (block), (shared), #kernel, [&] { kernel(__VA_ARGS__); });            \
    } while (0)
#define CUDA_SHARED(type, name) type *const name = static_cast<type *>(cuda_emulated_shared())

static inline void __syncthreads(void)
{
    cuda_emulated_barrier(false);
}

static inline void __syncwarp(unsigned = 0xffffffffu)
{
    cuda_emulated_barrier(true);
}

template <class T> static T __shfl_sync(unsigned, T x, unsigned from)
{
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    bits = cuda_emulated_exchange(bits, from % 32);
    memcpy(&x, &bits, sizeof x);
    return x;
}

template <class T> static T __shfl_xor_sync(unsigned mask, T x, unsigned d)
{
    return __shfl_sync(mask, x, cuda_emulated_lane() ^ d);
}

template <class T> static T __shfl_down_sync(unsigned mask, T x, unsigned d)
{
    const unsigned from = cuda_emulated_lane() + d;
    return __shfl_sync(mask, x, from < 32 ? from : cuda_emulated_lane());
}

template <class T> static T __shfl_up_sync(unsigned mask, T x, unsigned d)
{
    const unsigned lane = cuda_emulated_lane();
    return __shfl_sync(mask, x, lane >= d ? lane - d : lane);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    unsigned all = 0;
    for (unsigned i = 0; i < 32; i++) all |= (unsigned)(__shfl_sync(mask, predicate, i) != 0) << i;
    return all;
}

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

/* c plus the dot product of four signed bytes */
static inline int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 32; i += 8) c += (int)(int8_t)(a >> i) * (int)(int8_t)(b >> i);
    return c;
}

#endif
