/* vec_avx512bf16.h: AVX-512 with VNNI and BF16: vec_avx512vnni.h, with the instruction that multiplies two bfloat16 numbers
 * at a time. */
#ifndef ATTEND_VEC_AVX512BF16_H
#define ATTEND_VEC_AVX512BF16_H

#ifdef ATTEND_AVX512_EMULATION
#define VBF16(name) attend_simde512bf16_##name
#else
#define VBF16(name) attend_avx512bf16_##name
#endif
#include "kernel/vec_avx512vnni.h"

/* clang-format off */
/* x rounded to bfloat16, to nearest, half to even, in the upper half of each lane; the lower half is 0. NaN stays NaN. */
static inline vi vf_round_bf16(vf x)
{
    const vi bits = _mm512_castps_si512(x), odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), vi_set1(1));
    const vi rounded = vi_add(bits, vi_add(odd, vi_set1(0x7fff))), quiet = vi_or(bits, vi_set1(0x400000));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_and_si512(_mm512_mask_mov_epi32(rounded, is_nan, quiet), vi_set1(-0x10000));
}
static inline vf vf_from_bits(vi a) { return _mm512_castsi512_ps(a); }
/* Stores the upper halves of the lanes: VLANES bfloat16 numbers. */
static inline void vi_store_upper(uint16_t *p, vi a)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(a, 16)));
}
/* Pairs of bfloat16 numbers: the upper halves of a first, then those of b, whose lower halves are 0. */
static inline vi vi_pair_upper(vi a, vi b) { return vi_or(_mm512_srli_epi32(a, 16), b); }

static inline vi vi_load(const void *p) { return _mm512_loadu_si512(p); }
/* sum + a1 b1 + a0 b0 of pairs of bfloat16 numbers, in every lane: two fused multiply-adds. Subnormal numbers are 0. */
#ifdef ATTEND_AVX512_EMULATION
static inline vf vf_dot_bf16(vf sum, vi a, vi b) { return emulated_dpbf16_ps(sum, a, b); }
#else
static inline vf vf_dot_bf16(vf sum, vi a, vi b) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }
#endif
/* clang-format on */
#endif
