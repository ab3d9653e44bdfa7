/* attention_tile_parts.h: what the kernels of fused dot attention share (attention_tiles.cu, attention_flash.cu). */
#ifndef ATTEND_DEVICE_CUDA_ATTENTION_TILE_PARTS_H
#define ATTEND_DEVICE_CUDA_ATTENTION_TILE_PARTS_H

#include "device/cuda/attention_math.h"
#include "device/cuda/attention_mma.h"
#include "device/cuda/attention_view.h"

enum { WARP_ROWS = 16 };

/* ---- tiles in shared memory ---- */

struct four {
    float x[4];
};

static __device__ __forceinline__ four load_four(const float *p)
{
    four f;
#ifdef ATTEND_CUDA_EMULATED
    memcpy(f.x, p, sizeof f.x);
#else
    const float4 v = *reinterpret_cast<const float4 *>(p);
    f.x[0] = v.x, f.x[1] = v.y, f.x[2] = v.z, f.x[3] = v.w;
#endif
    return f;
}

static __device__ __forceinline__ void store_four(uint16_t *to, const four &f)
{
    uint32_t *p = reinterpret_cast<uint32_t *>(to);
    p[0] = mma_pack(f.x[0], f.x[1]), p[1] = mma_pack(f.x[2], f.x[3]);
}

static __device__ __forceinline__ void store_four(float *to, const four &f)
{
#ifdef ATTEND_CUDA_EMULATED
    memcpy(to, f.x, sizeof f.x);
#else
    *reinterpret_cast<float4 *>(to) = make_float4(f.x[0], f.x[1], f.x[2], f.x[3]);
#endif
}

/* Copies `rows` rows, of which `valid` exist, of `width` numbers to rows of D, STRIDE apart, with zeros around them. Returns
 * whether a number is not finite. */
template <int MODE, int D, int STRIDE = D + mma_matrix<MODE>::PAD>
static __device__ bool load_tile(int rows, int valid, int width, bool aligned, const float *from, size_t row_stride,
                                 typename mma_matrix<MODE>::element *to)
{
    bool strange = false;
    for (int x = (int)threadIdx.x; x < rows * (D / 4); x += (int)blockDim.x) {
        const int row = x / (D / 4), c = x % (D / 4) * 4;
        const float *p = from + (size_t)row * row_stride + c;
        four f = { { 0, 0, 0, 0 } };
        if (row < valid && aligned && c < width) {
            f = load_four(p);
        } else if (row < valid && c < width) {
            for (int i = 0; i < 4; i++)
                if (c + i < width) f.x[i] = p[i];
        }
        /* 0 unless one of them is inf or NaN */
        strange = strange || (f.x[0] - f.x[0]) + (f.x[1] - f.x[1]) + (f.x[2] - f.x[2]) + (f.x[3] - f.x[3]) != 0;
        store_four(to + row * STRIDE + c, f);
    }
    return strange;
}

static __device__ __forceinline__ float quad_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

static __device__ __forceinline__ float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

/* ---- backward ---- */

/* What backward knows of a query. */
struct tile_row {
    float max, normalizer, mean;
    cuda_range range;
};

/* p, and ds / scale, of one pair. */
static __device__ __forceinline__ void pair_gradient(const cuda_attention &t, const tile_row &r, int j, float factor,
                                                     float *p, float *d)
{
    const bool is_visible = j >= r.range.first && j < r.range.last && r.max != -INFINITY;
    const float w = is_visible ? cuda_exp(*p * (float)t.a.scale - r.max) * r.normalizer : 0;
    *d = w != 0 ? w * ((factor != 0 ? *d * factor : 0) - r.mean) : 0;
    *p = factor != 0 ? w * factor : 0;
}

static __device__ tile_row row_of(const cuda_attention &t, const cuda_sequence &s, size_t row0, int i,
                                  const real *means)
{
    tile_row r = { -INFINITY, 0, 0, { 0, 0 } };
    if (i >= s.queries) return r;
    const selected state = t.a.selected[row0 + (size_t)i];
    r.max = state.max, r.normalizer = state.normalizer, r.mean = means[row0 + (size_t)i];
    r.range = cuda_key_range(t, s, i);
    return r;
}

#endif
