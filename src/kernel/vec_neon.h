/* vec_neon.h: the vector primitives of vector_*.c in NEON (Advanced SIMD of aarch64): four floats. */
#ifndef ATTEND_VEC_NEON_H
#define ATTEND_VEC_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VNAME(name) attend_neon_##name
#define VTABLE_NAME "neon"

#define ATTEND_VECTOR_ROWS 12
enum { VLANES = 4, VPACKED_ROWS = ATTEND_VECTOR_ROWS }; /* 12 rows x 2 vectors of sums leave 8 of 32 registers */

/* clang-format off */
typedef float32x4_t vf;
typedef uint32x4_t vmask; /* all bits of a lane, or none */

static inline vf vf_zero(void) { return vdupq_n_f32(0.0f); }
static inline vf vf_set1(float a) { return vdupq_n_f32(a); }
static inline vf vf_load(const float *p) { return vld1q_f32(p); }
static inline void vf_store(float *p, vf a) { vst1q_f32(p, a); }

/* The first n < VLANES lanes; the others load as 0 and are not stored. */
static inline vf vf_load_first(const float *p, size_t n)
{
    const vf zero = vf_zero();
    if (n < 2) return n ? vld1q_lane_f32(p, zero, 0) : zero;
    const vf two = vcombine_f32(vld1_f32(p), vdup_n_f32(0.0f));
    return n == 2 ? two : vld1q_lane_f32(p + 2, two, 2);
}
static inline void vf_store_first(float *p, vf a, size_t n)
{
    if (n >= 2) vst1_f32(p, vget_low_f32(a));
    if (n == 1) vst1q_lane_f32(p, a, 0);
    if (n == 3) vst1q_lane_f32(p + 2, a, 2);
}

static inline vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
static inline vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
static inline vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
static inline vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
static inline vf vf_sqrt(vf a) { return vsqrtq_f32(a); }
static inline vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }  /* a b + c */
static inline vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); } /* c - a b */
/* If the second is NaN, so is the result. */
static inline vf vf_min(vf a, vf b) { return vminq_f32(a, b); }
static inline vf vf_max(vf a, vf b) { return vmaxq_f32(a, b); }

/* A number that is multiplied with vectors. The multiply-add takes it from one lane of a register; a copy in all lanes
 * would cost an instruction. */
typedef float vnumber;
static inline vnumber vnumber_load(const float *p)
{
    vnumber a = *p;
    __asm__("" : "+w"(a)); /* else gcc copies it to all lanes */
    return a;
}
static inline vf vf_fma_number(vnumber a, vf b, vf c) { return vfmaq_n_f32(c, b, a); } /* a b + c */

/* Sums and maxima over the lanes, always in the same tree: halves of four, of two. */
static inline float vf_sum(vf a)
{
    const float32x2_t s = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(vpadd_f32(s, s), 0);
}
static inline float vf_max_lane(vf a) { return vmaxvq_f32(a); }

/* The first n <= VLANES lanes of a, the others of b. */
static inline vf vf_first_or(vf a, size_t n, vf b)
{
    static const uint32_t lanes[4] = { 0, 1, 2, 3 };
    return vbslq_f32(vcgtq_u32(vdupq_n_u32((uint32_t)n), vld1q_u32(lanes)), a, b);
}

static inline vmask vf_greater(vf a, vf b) { return vcgtq_f32(a, b); }
static inline vmask vf_unordered(vf a, vf b) { return vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b))); } /* either is NaN */
static inline vmask vmask_none(void) { return vdupq_n_u32(0); }
static inline vmask vmask_or(vmask a, vmask b) { return vorrq_u32(a, b); }
static inline int vmask_any(vmask a) { return vmaxvq_u32(a) != 0; }

static inline vf vec_bits(uint32x4_t a) { return vreinterpretq_f32_u32(a); }
static inline uint32x4_t vec_int(vf a) { return vreinterpretq_u32_f32(a); }
static inline vf vf_keep(vmask m, vf a) { return vec_bits(vandq_u32(m, vec_int(a))); } /* a where m, else 0 */
/* a where x is negative, else b; where x is -0 or NaN, either. */
static inline vf vf_if_negative(vf x, vf a, vf b) { return vbslq_f32(vcltzq_f32(x), a, b); }

static inline vf vf_sign(vf a) { return vec_bits(vandq_u32(vec_int(a), vdupq_n_u32(0x80000000u))); } /* only the sign bit */
static inline vf vf_or(vf a, vf b) { return vec_bits(vorrq_u32(vec_int(a), vec_int(b))); } /* the bits of both */
static inline vf vf_swap_pairs(vf a) { return vrev64q_f32(a); } /* a1, a0, a3, a2 */

/* Adding VROUND to |n| < 2^22 rounds n to an integer in the low bits of the sum, from which a power of two is made
 * without a conversion. */
#define VROUND        12582912.0f /* 1.5 2^23 */
#define VROUND_POWER2 (VROUND + 127.0f)
#define VROUND_SCALE  (VROUND + 254.0f)
/* 2^n for t = VROUND_POWER2 + n, -127 < n < 128 */
static inline vf vf_power2(vf t) { return vec_bits(vshlq_n_u32(vec_int(t), 23)); }
/* a 2^n for t = VROUND_SCALE + n, -253 < n < 255, rounded once: two powers of about n / 2 each, so the first
 * product is exact for a near 1. */
static inline vf vf_scale(vf a, vf t)
{
    const uint32x4_t n = vec_int(t), half = vshrq_n_u32(n, 1), rest = vsubq_u32(n, half);
    a = vmulq_f32(a, vec_bits(vshlq_n_u32(half, 23)));
    return vmulq_f32(a, vec_bits(vshlq_n_u32(rest, 23)));
}

/* bfloat16 to float */
static inline vf vf_load_bf16(const uint16_t *p) { return vec_bits(vshll_n_u16(vld1_u16(p), 16)); }

/* Integers: VLANES of 32 bits. */
typedef int32x4_t vi;
static inline vi vi_zero(void) { return vdupq_n_s32(0); }
static inline vi vi_set1(int32_t a) { return vdupq_n_s32(a); }
static inline vi vi_xor(vi a, vi b) { return veorq_s32(a, b); }
static inline vi vi_or(vi a, vi b) { return vorrq_s32(a, b); }
static inline void vi_store(void *p, vi a) { vst1q_u8(p, vreinterpretq_u8_s32(a)); } /* p need not be aligned */
/* first, 0, first + 2, 0 */
static inline vi vi_even_from(uint32_t first)
{
    return vreinterpretq_s32_u64(vcombine_u64(vcreate_u64(first), vcreate_u64((uint64_t)first + 2)));
}
/* Unsigned lanes 0, 2: their 64-bit products, and the upper halves of such products. */
static inline vi vi_multiply_even(vi a, vi b)
{
    const uint32x2_t x = vmovn_u64(vreinterpretq_u64_s32(a)), y = vmovn_u64(vreinterpretq_u64_s32(b));
    return vreinterpretq_s32_u64(vmull_u32(x, y));
}
static inline vi vi_upper(vi a) { return vreinterpretq_s32_u64(vshrq_n_u64(vreinterpretq_u64_s32(a), 32)); }
/* a0, b0, a2, b2 */
static inline vi vi_join_even(vi a, vi b) { return vtrn1q_s32(a, b); }
/* `then` where a >= b, both unsigned, else 0 */
static inline vi vi_at_least(vi a, vi b, vi then)
{
    return vandq_s32(vreinterpretq_s32_u32(vcgeq_u32(vreinterpretq_u32_s32(a), vreinterpretq_u32_s32(b))), then);
}
/* The lanes whose byte, of VLANES bytes, is not 0. */
static inline vmask vf_where(const unsigned char *p)
{
    uint32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    const uint32x4_t x = vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes))));
    return vtstq_u32(x, x);
}
static inline vi vi_add(vi a, vi b) { return vaddq_s32(a, b); } /* of 32 bits */
static inline vf vf_from_int(vi a) { return vcvtq_f32_s32(a); }
static inline vi vf_to_int(vf a) { return vcvtnq_s32_f32(a); } /* rounds, half to even */

/* Products of 8-bit numbers: four activations are multiplied with four weights at a time. */
enum { VGROUP = 4, VUNSIGNED = 0 };
typedef int8_t vq;
static inline void vq_store(vq *p, vi a) /* VLANES activations */
{
    const int16x4_t half = vqmovn_s32(a);
    const uint32_t bytes = vget_lane_u32(vreinterpret_u32_s8(vqmovn_s16(vcombine_s16(half, half))), 0);
    memcpy(p, &bytes, sizeof bytes);
}
/* A group of activations, in every lane. As a float, because gcc would load an integer into a general register. */
static inline vi vi_load_group(const vq *p)
{
    float group;
    memcpy(&group, p, sizeof group);
    return vreinterpretq_s32_f32(vdupq_n_f32(group));
}
/* VLANES groups of weights */
static inline vi vi_load_weights(const int8_t *p) { return vreinterpretq_s32_s8(vld1q_s8(p)); }
/* sum + a0 b0 + a1 b1 + a2 b2 + a3 b3, in every lane */
#ifndef VINT8
#define VINT8(name) VNAME(name)
static inline vi vi_dot(vi sum, vi a, vi b)
{
    const int8x16_t x = vreinterpretq_s8_s32(a), y = vreinterpretq_s8_s32(b);
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(y)), high = vmull_high_s8(x, y);
    return vpadalq_s16(sum, vpaddq_s16(low, high)); /* two products, of numbers up to 127 and 128, fit in 16 bits */
}
#endif

/* Doubles: half as many lanes. */
typedef float64x2_t vd;
static inline vd vd_zero(void) { return vdupq_n_f64(0.0); }
static inline vd vd_low(vf a) { return vcvt_f64_f32(vget_low_f32(a)); }
static inline vd vd_high(vf a) { return vcvt_high_f64_f32(a); }
static inline vd vd_add(vd a, vd b) { return vaddq_f64(a, b); }
static inline vd vd_fma(vd a, vd b, vd c) { return vfmaq_f64(c, a, b); }
static inline double vd_sum(vd a) { return vaddvq_f64(a); }

/* clang-format on */
#endif
