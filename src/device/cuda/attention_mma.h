/* attention_mma.h: products of small matrices by tensor cores (compute capability 8.0), for attention over tiles in shared
 * memory. The lanes of a warp hold the fragments that the instruction mma.sync.m16n8 defines.
 *
 *     TILE_BF16   factors are rounded to bf16
 *     TILE_TF32   factors are rounded to tf32
 *     TILE_FP32   a factor is the sum of two tf32 numbers, and a product is hi hi + hi lo + lo hi: about 22 bits
 *
 * All sums are fp32. */
#ifndef ATTEND_DEVICE_CUDA_ATTENTION_MMA_H
#define ATTEND_DEVICE_CUDA_ATTENTION_MMA_H

#include "device/cuda/launch.h"

enum { TILE_BF16, TILE_TF32, TILE_FP32 };

#if defined(ATTEND_CUDA_EMULATED)
/* What the lanes of a warp pass to each other. */
struct mma_exchange {
    uint32_t a[32][4], b[32][2];
    const void *rows[32];
};
static mma_exchange mma_warp;

static inline float mma_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float mma_half(uint32_t pair, unsigned i)
{
    return mma_float((i ? pair >> 16 : pair & 0xffff) << 16);
}

/* c += A B: (16, 16) by (16, 8) in bf16, or (16, 8) by (8, 8) in tf32. */
static inline void mma_emulated(bool bf16, float c[4], const uint32_t a[4], const uint32_t b[2])
{
    const unsigned lane = cuda_emulated_lane();
    memcpy(mma_warp.a[lane], a, sizeof mma_warp.a[lane]);
    memcpy(mma_warp.b[lane], b, sizeof mma_warp.b[lane]);
    __syncwarp();
    for (unsigned e = 0; e < 4; e++) {
        const unsigned row = lane / 4 + (e >= 2 ? 8 : 0), column = 2 * (lane % 4) + e % 2;
        for (unsigned k = 0; k < (bf16 ? 16u : 8u); k++) {
            const unsigned quad = bf16 ? k % 8 / 2 : k % 4, high = bf16 ? k / 8 : k / 4;
            const uint32_t x = mma_warp.a[row % 8 * 4 + quad][(row >= 8 ? 1 : 0) + 2 * high];
            const uint32_t y = mma_warp.b[column * 4 + quad][high];
            c[e] += bf16 ? mma_half(x, k % 2) * mma_half(y, k % 2) : mma_float(x) * mma_float(y);
        }
    }
    __syncwarp();
}

static inline void mma_bf16(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    mma_emulated(true, c, a, b);
}

static inline void mma_tf32(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    mma_emulated(false, c, a, b);
}

/* Four matrices of (8, 8) bf16, whose rows the lanes address, eight lanes a matrix. */
static inline void mma_load(bool transpose, uint32_t x[4], const void *row)
{
    const unsigned lane = cuda_emulated_lane();
    mma_warp.rows[lane] = row;
    __syncwarp();
    for (unsigned i = 0; i < 4; i++) {
        uint16_t pair[2];
        for (unsigned e = 0; e < 2; e++) {
            const unsigned r = transpose ? 2 * (lane % 4) + e : lane / 4, c = transpose ? lane / 4 : 2 * (lane % 4) + e;
            pair[e] = static_cast<const uint16_t *>(mma_warp.rows[8 * i + r])[c];
        }
        x[i] = (uint32_t)pair[0] | (uint32_t)pair[1] << 16;
    }
    __syncwarp();
}

static inline uint32_t mma_round_tf32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}

static inline uint32_t mma_pack(float low, float high)
{
    return (uint32_t)cuda_bf16(low) | (uint32_t)cuda_bf16(high) << 16;
}

static inline float mma_value(uint32_t bits)
{
    return mma_float(bits);
}

static inline float mma_exp2(float x)
{
    return exp2f(x);
}

static inline void mma_copy(void *to, const void *from)
{
    memcpy(to, from, 16);
}

static inline void mma_copies_end(void)
{
}

template <int N> static void mma_wait(void)
{
}
#else
static __device__ __forceinline__ void mma_bf16(float c[4], const uint32_t a[4], const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

static __device__ __forceinline__ void mma_tf32(float c[4], const uint32_t a[4], const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

static __device__ __forceinline__ void mma_load(bool transpose, uint32_t x[4], const void *row)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
    if (transpose)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(at)
                     : "memory");
#endif
}

static __device__ __forceinline__ uint32_t mma_round_tf32(float x)
{
    uint32_t bits = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
#endif
    return bits;
}

static __device__ __forceinline__ uint32_t mma_pack(float low, float high)
{
    uint32_t pair = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
    return pair;
}

static __device__ __forceinline__ float mma_value(uint32_t bits)
{
    return __uint_as_float(bits);
}

/* 2^x with an error of two units in the last place. */
static __device__ __forceinline__ float mma_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Copies 16 bytes to shared memory without waiting. */
static __device__ __forceinline__ void mma_copy(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
#endif
}

/* Ends a group of copies; waits until at most N groups of this thread are under way. */
static __device__ __forceinline__ void mma_copies_end(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int N> static __device__ __forceinline__ void mma_wait(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}
#endif

/* A matrix in shared memory: rows of `stride` elements, which are bf16 or fp32. Strides avoid bank conflicts. */
template <int MODE> struct mma_matrix;
template <> struct mma_matrix<TILE_BF16> {
    typedef uint16_t element;
    enum { DEPTH = 16, PAD = 8 };
};
template <> struct mma_matrix<TILE_TF32> {
    typedef float element;
    enum { DEPTH = 8, PAD = 4 };
};
template <> struct mma_matrix<TILE_FP32> {
    typedef float element;
    enum { DEPTH = 8, PAD = 4 };
};

/* A fragment of A (16, DEPTH), or those of two adjacent B (DEPTH, 8). */
template <int MODE> struct mma_fragment {
    uint32_t x[4], low[4];
    __device__ __forceinline__ void set(int i, float value)
    {
        x[i] = mma_round_tf32(value);
        if (MODE == TILE_FP32) low[i] = mma_round_tf32(value - mma_value(x[i]));
    }
};

/* A = M[m.., k..] */
template <int MODE>
static __device__ __forceinline__ void mma_load_a(mma_fragment<MODE> &f, const typename mma_matrix<MODE>::element *at,
                                                  int stride)
{
    const int lane = (int)(threadIdx.x % 32);
    if (MODE == TILE_BF16) {
        const int offset = lane % 16 * stride + lane / 16 * 8;
        mma_load(false, f.x, at + offset);
        return;
    }
    const int offset = lane / 4 * stride + lane % 4;
    const float *p = reinterpret_cast<const float *>(at) + offset;
    f.set(0, p[0]), f.set(1, p[8 * (size_t)stride]), f.set(2, p[4]), f.set(3, p[8 * (size_t)stride + 4]);
}

/* B = M[n.., k..]', 16 columns */
template <int MODE>
static __device__ __forceinline__ void mma_load_b(mma_fragment<MODE> &f, const typename mma_matrix<MODE>::element *at,
                                                  int stride)
{
    const int lane = (int)(threadIdx.x % 32);
    if (MODE == TILE_BF16) {
        const int offset = (lane / 16 * 8 + lane % 8) * stride + lane / 8 % 2 * 8;
        mma_load(false, f.x, at + offset);
        return;
    }
    const int offset = lane / 4 * stride + lane % 4;
    const float *p = reinterpret_cast<const float *>(at) + offset;
    f.set(0, p[0]), f.set(1, p[4]), f.set(2, p[8 * (size_t)stride]), f.set(3, p[8 * (size_t)stride + 4]);
}

/* B = M[k.., n..], 16 columns, for an A from mma_from_sums: in tf32 the order of k is that of the sums. */
template <int MODE>
static __device__ __forceinline__ void mma_load_rows(mma_fragment<MODE> &f,
                                                     const typename mma_matrix<MODE>::element *at, int stride)
{
    const int lane = (int)(threadIdx.x % 32);
    if (MODE == TILE_BF16) {
        const int offset = lane % 16 * stride + lane / 16 * 8;
        mma_load(true, f.x, at + offset);
        return;
    }
    const int offset = lane % 4 * 2 * stride + lane / 4;
    const float *p = reinterpret_cast<const float *>(at) + offset;
    f.set(0, p[0]), f.set(1, p[stride]), f.set(2, p[8]), f.set(3, p[stride + 8]);
}

/* A from the sums of columns k..: of two products (16, 8) in bf16, of one in tf32. */
template <int MODE> static __device__ __forceinline__ void mma_from_sums(mma_fragment<MODE> &f, const float (*c)[4])
{
    if (MODE == TILE_BF16) {
        f.x[0] = mma_pack(c[0][0], c[0][1]), f.x[1] = mma_pack(c[0][2], c[0][3]);
        f.x[2] = mma_pack(c[1][0], c[1][1]), f.x[3] = mma_pack(c[1][2], c[1][3]);
        return;
    }
    f.set(0, c[0][0]), f.set(1, c[0][2]), f.set(2, c[0][1]), f.set(3, c[0][3]);
}

template <int MODE>
static __device__ __forceinline__ void mma_multiply(float c[4], const mma_fragment<MODE> &a,
                                                    const mma_fragment<MODE> &b, int which)
{
    if (MODE == TILE_BF16) {
        mma_bf16(c, a.x, b.x + 2 * which);
        return;
    }
    if (MODE == TILE_FP32) mma_tf32(c, a.low, b.x + 2 * which), mma_tf32(c, a.x, b.low + 2 * which);
    mma_tf32(c, a.x, b.x + 2 * which);
}

/* C (16, 8 N) = A B', A (16, K) and B (8 N, K) in shared memory. */
template <int MODE, int N, int K>
static __device__ __forceinline__ void mma_product(float (*c)[4], const typename mma_matrix<MODE>::element *a,
                                                   const typename mma_matrix<MODE>::element *b)
{
    const int stride = K + mma_matrix<MODE>::PAD;
    for (int n = 0; n < N; n++)
        for (int e = 0; e < 4; e++) c[n][e] = 0;
#pragma unroll
    for (int k = 0; k < K; k += mma_matrix<MODE>::DEPTH) {
        mma_fragment<MODE> x;
        mma_load_a(x, a + k, stride);
#pragma unroll
        for (int n = 0; n < N; n += 2) {
            mma_fragment<MODE> y;
            mma_load_b(y, b + n * 8 * stride + k, stride);
            mma_multiply(c[n], x, y, 0), mma_multiply(c[n + 1], x, y, 1);
        }
    }
}

/* C (16, N) += P B: P (16, K) are the sums of another product, B (K, N) is in shared memory. */
template <int MODE, int N, int K>
static __device__ __forceinline__ void mma_add_product(float (*c)[4], const float (*p)[4],
                                                       const typename mma_matrix<MODE>::element *b)
{
    const int stride = N + mma_matrix<MODE>::PAD, depth = mma_matrix<MODE>::DEPTH;
#pragma unroll
    for (int k = 0; k < K; k += depth) {
        mma_fragment<MODE> x;
        mma_from_sums(x, p + k / 8);
#pragma unroll
        for (int n = 0; n < N / 8; n += 2) {
            mma_fragment<MODE> y;
            mma_load_rows(y, b + k * stride + n * 8, stride);
            mma_multiply(c[n], x, y, 0), mma_multiply(c[n + 1], x, y, 1);
        }
    }
}

template <class T> static __device__ __forceinline__ float mma_element(T x)
{
    return sizeof(T) == 2 ? (float)cuda_bf16_value((uint16_t)x) : (float)x;
}

/* The same without the terms whose p is 0, since 0 times NaN is NaN: for tiles with masked keys that are not finite. */
template <int MODE, int N, int K>
static __device__ void mma_add_visible(float (*c)[4], const float (*p)[4], const typename mma_matrix<MODE>::element *b)
{
    const int stride = N + mma_matrix<MODE>::PAD, lane = (int)(threadIdx.x % 32);
#pragma unroll 1
    for (int k = 0; k < K; k++) {
        float mine[2] = { 0, 0 };
#pragma unroll
        for (int i = 0; i < K; i++) /* arrays of registers need constant indices */
            if (i == k) mine[0] = p[i / 8][i % 2], mine[1] = p[i / 8][2 + i % 2];
        const int from = (lane & ~3) | (k % 8 / 2);
        const float first = __shfl_sync(0xffffffffu, mine[0], from), second = __shfl_sync(0xffffffffu, mine[1], from);
#pragma unroll
        for (int n = 0; n < N / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const float weight = e < 2 ? first : second;
                if (weight != 0) c[n][e] += weight * mma_element(b[k * stride + n * 8 + 2 * (lane % 4) + e % 2]);
            }
    }
}

#endif
