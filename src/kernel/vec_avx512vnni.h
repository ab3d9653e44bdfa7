/* vec_avx512vnni.h: AVX-512 with VNNI: vec_avx512.h, with the instruction that multiplies four 8-bit numbers at a time. */
#ifndef ATTEND_VEC_AVX512VNNI_H
#define ATTEND_VEC_AVX512VNNI_H

#ifdef ATTEND_AVX512_EMULATION
#define VINT8(name) attend_simde512vnni_##name
#else
#define VINT8(name) attend_avx512vnni_##name
#endif
#include "kernel/vec_avx512.h"

/* clang-format off */
/* The instruction multiplies unsigned numbers with signed ones: weights are stored 128 larger. */
enum { VGROUP = 4, VUNSIGNED = 1 };
typedef int8_t vq;
static inline void vq_store(vq *p, vi a) { _mm_storeu_si128((__m128i *)p, _mm512_cvtsepi32_epi8(a)); } /* VLANES activations */
/* VLANES groups of weights */
static inline vi vi_load_weights(const int8_t *p) { return _mm512_loadu_si512(p); }
/* sum + a0 b0 + a1 b1 + a2 b2 + a3 b3, in every lane */
static inline vi vi_dot(vi sum, vi a, vi b) { return _mm512_dpbusd_epi32(sum, b, a); }
/* clang-format on */
#endif
