/* attention_math.h: exponentials of attention kernels. */
#ifndef ATTEND_DEVICE_CUDA_ATTENTION_MATH_H
#define ATTEND_DEVICE_CUDA_ATTENTION_MATH_H

#include "device/cuda/launch.h"

#if defined(ATTEND_CUDA_EMULATED) || defined(ATTEND_DOUBLE)
static __device__ __forceinline__ real cuda_exp(real x)
{
    return exp(x);
}

static __device__ __forceinline__ real cuda_divide(real a, real b)
{
    return a / b;
}
#else
/* Relative error below 2e-7 (1 + |x|). */
static __device__ __forceinline__ float cuda_exp(float x)
{
    return __expf(x);
}

/* Two units in the last place; a / inf is 0. */
static __device__ __forceinline__ float cuda_divide(float a, float b)
{
    return __fdividef(a, b);
}
#endif

/* Absolute error below 3e-7 in float: tanh x = 1 - 2 / (1 + exp 2x). */
static __device__ __forceinline__ real cuda_tanh(real x)
{
#ifdef ATTEND_DOUBLE
    return tanh(x);
#else
    return 1 - cuda_divide(2, 1 + cuda_exp(2 * x));
#endif
}

/* Whether `any` holds in a thread of the block; a barrier. `flag` is in shared memory. */
static __device__ __forceinline__ bool cuda_any_thread(bool any, int *flag)
{
#ifdef ATTEND_CUDA_EMULATED
    __syncthreads();
    if (threadIdx.x == 0) *flag = 0;
    __syncthreads();
    if (any) *flag = 1;
    __syncthreads();
    return *flag != 0;
#else
    (void)flag;
    return __syncthreads_or(any) != 0;
#endif
}

#endif
