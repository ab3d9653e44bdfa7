/* vec_avx512.h: the vector primitives of vector_*.c in AVX-512F: sixteen floats. */
#ifndef ATTEND_VEC_AVX512_H
#define ATTEND_VEC_AVX512_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef ATTEND_AVX512_EMULATION /* a header that emulates AVX-512 on machines that do not have it; for tests */
#include ATTEND_AVX512_EMULATION
#define VNAME(name) attend_simde512_##name
#define VTABLE_NAME "simde512"
#else
#include <immintrin.h>
#define VNAME(name) attend_avx512_##name
#define VTABLE_NAME "avx512"
#endif

#define ATTEND_VECTOR_ROWS 12
enum { VLANES = 16, VPACKED_ROWS = ATTEND_VECTOR_ROWS }; /* 12 rows x 2 vectors of sums leave 8 of 32 registers */

/* clang-format off */
typedef __m512 vf;
typedef __mmask16 vmask;

static inline vf vf_zero(void) { return _mm512_setzero_ps(); }
static inline vf vf_set1(float a) { return _mm512_set1_ps(a); }
static inline vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void vf_store(float *p, vf a) { _mm512_storeu_ps(p, a); }

/* The first n < VLANES lanes; the others load as 0 and are not stored. */
static inline __mmask16 vec_first(size_t n) { return (__mmask16)((1u << n) - 1u); }
static inline vf vf_load_first(const float *p, size_t n) { return _mm512_maskz_loadu_ps(vec_first(n), p); }
static inline void vf_store_first(float *p, vf a, size_t n) { _mm512_mask_storeu_ps(p, vec_first(n), a); }

static inline vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
static inline vf vf_sqrt(vf a) { return _mm512_sqrt_ps(a); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }   /* a b + c */
static inline vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); } /* c - a b */
/* If the second is NaN, so is the result. */
static inline vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
static inline vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }

/* A number that is multiplied with vectors. */
typedef vf vnumber;
static inline vnumber vnumber_load(const float *p) { return vf_set1(*p); }
static inline vf vf_fma_number(vnumber a, vf b, vf c) { return vf_fma(a, b, c); } /* a b + c */

/* Sums and maxima over the lanes, always in the same tree: halves of sixteen, of eight, of four, of two. */
static inline __m256 vec_high(vf a) { return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1)); }
static inline float vf_sum(vf a)
{
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), vec_high(a));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
static inline float vf_max_lane(vf a)
{
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(a), vec_high(a));
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/* The first n <= VLANES lanes of a, the others of b. */
static inline vf vf_first_or(vf a, size_t n, vf b) { return _mm512_mask_blend_ps(vec_first(n), b, a); }

static inline vmask vf_greater(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline vmask vf_unordered(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); } /* either is NaN */
static inline vmask vmask_none(void) { return 0; }
static inline vmask vmask_or(vmask a, vmask b) { return (vmask)(a | b); }
static inline int vmask_any(vmask a) { return a != 0; }
static inline vf vf_keep(vmask m, vf a) { return _mm512_maskz_mov_ps(m, a); } /* a where m, else 0 */
/* a where x is negative, else b; where x is -0 or NaN, either. */
static inline vf vf_if_negative(vf x, vf a, vf b)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), b, a);
}

static inline vf vec_bits(__m512i a) { return _mm512_castsi512_ps(a); }
static inline __m512i vec_int(vf a) { return _mm512_castps_si512(a); }
static inline vf vf_sign(vf a) /* only the sign bit */
{
    return vec_bits(_mm512_and_si512(vec_int(a), vec_int(_mm512_set1_ps(-0.0f))));
}
static inline vf vf_or(vf a, vf b) { return vec_bits(_mm512_or_si512(vec_int(a), vec_int(b))); } /* the bits of both */
/* a1, a0, a3, a2, ... */
static inline vf vf_swap_pairs(vf a) { return vec_bits(_mm512_shuffle_epi32(vec_int(a), 0xB1)); }

/* Adding VROUND to |n| < 2^22 rounds n to an integer in the low bits of the sum, from which a power of two is made
 * without a conversion. */
#define VROUND        12582912.0f /* 1.5 2^23 */
#define VROUND_POWER2 (VROUND + 127.0f)
#define VROUND_SCALE  (VROUND + 254.0f)
/* 2^n for t = VROUND_POWER2 + n, -127 < n < 128 */
static inline vf vf_power2(vf t) { return vec_bits(_mm512_slli_epi32(vec_int(t), 23)); }
/* a 2^n for t = VROUND_SCALE + n, -253 < n < 255, rounded once */
static inline vf vf_scale(vf a, vf t) { return _mm512_scalef_ps(a, _mm512_sub_ps(t, _mm512_set1_ps(VROUND_SCALE))); }

/* bfloat16 to float */
static inline vf vf_load_bf16(const uint16_t *p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16));
}

/* Integers: 2 VLANES of 16 bits, or VLANES of 32. */
typedef __m512i vi;
static inline vi vi_zero(void) { return _mm512_setzero_si512(); }
static inline vi vi_set1(int32_t a) { return _mm512_set1_epi32(a); }
static inline vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
static inline vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
static inline void vi_store(void *p, vi a) { _mm512_storeu_si512(p, a); }
/* first, 0, first + 2, 0, first + 4, 0, ... */
static inline vi vi_even_from(uint32_t first)
{
    return _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14));
}
/* Unsigned lanes 0, 2, ...: their 64-bit products, and the upper halves of such products. */
static inline vi vi_multiply_even(vi a, vi b) { return _mm512_mul_epu32(a, b); }
static inline vi vi_upper(vi a) { return _mm512_srli_epi64(a, 32); }
/* a0, b0, a2, b2, ... */
static inline vi vi_join_even(vi a, vi b) { return _mm512_mask_mov_epi32(a, 0xAAAA, _mm512_slli_epi64(b, 32)); }
/* `then` where a >= b, both unsigned, else 0 */
static inline vi vi_at_least(vi a, vi b, vi then)
{
    return _mm512_maskz_mov_epi32(_mm512_cmpeq_epi32_mask(_mm512_max_epu32(a, b), a), then);
}
/* The lanes whose byte, of VLANES bytes, is not 0. */
static inline vmask vf_where(const unsigned char *p)
{
    const __m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm512_cmpgt_epi32_mask(x, _mm512_setzero_si512());
}
static inline vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); } /* of 32 bits */
static inline vi vi_load_group(const void *p) /* four bytes, in every lane */
{
    int32_t group;
    memcpy(&group, p, sizeof group);
    return vi_set1(group);
}
static inline vf vf_from_int(vi a) { return _mm512_cvtepi32_ps(a); }
static inline vi vf_to_int(vf a) { return _mm512_cvtps_epi32(a); } /* rounds, half to even */

/* Products of 8-bit numbers: activations of 16 bits, two of which are multiplied with two weights at a time. */
#ifndef VINT8
#define VINT8(name) VNAME(name)
enum { VGROUP = 2, VUNSIGNED = 0 };
typedef int16_t vq;
static inline void vq_store(vq *p, vi a) /* VLANES activations */
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtsepi32_epi16(a));
}
/* VLANES groups of weights */
static inline vi vi_load_weights(const int8_t *p) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)p)); }
/* sum + a0 b0 + a1 b1, in every lane */
static inline vi vi_dot(vi sum, vi a, vi b) { return vi_add(sum, _mm512_madd_epi16(a, b)); }
#endif

/* Doubles: half as many lanes. */
typedef __m512d vd;
static inline vd vd_zero(void) { return _mm512_setzero_pd(); }
static inline vd vd_low(vf a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
static inline vd vd_high(vf a) { return _mm512_cvtps_pd(vec_high(a)); }
static inline vd vd_add(vd a, vd b) { return _mm512_add_pd(a, b); }
static inline vd vd_fma(vd a, vd b, vd c) { return _mm512_fmadd_pd(a, b, c); }
static inline double vd_sum(vd a)
{
    __m256d h = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    __m128d s = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}

/* clang-format on */
#endif
