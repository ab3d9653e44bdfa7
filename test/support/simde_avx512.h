/* simde_avx512.h: AVX-512 emulated by SIMDe with AVX2, to test vec_avx512.h on machines without it. This file
 * replaces what SIMDe 0.7.4 lacks or rounds differently from the instruction. */
#ifndef ATTEND_TEST_SIMDE_AVX512_H
#define ATTEND_TEST_SIMDE_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

static inline __m512 emulated_maskz_loadu_ps(__mmask16 mask, const float *p)
{
    float lanes[16] = { 0 };
    for (size_t i = 0; i < 16; i++)
        if (mask >> i & 1) lanes[i] = p[i];
    return _mm512_loadu_ps(lanes);
}

static inline void emulated_mask_storeu_ps(float *p, __mmask16 mask, __m512 a)
{
    float lanes[16];
    _mm512_storeu_ps(lanes, a);
    for (size_t i = 0; i < 16; i++)
        if (mask >> i & 1) p[i] = lanes[i];
}

static inline __m512d emulated_cvtps_pd(__m256 a)
{
    double lanes[8];
    _mm256_storeu_pd(lanes, _mm256_cvtps_pd(_mm256_castps256_ps128(a)));
    _mm256_storeu_pd(lanes + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)));
    return _mm512_loadu_pd(lanes);
}

/* The version of SIMDe flushes subnormal numbers and rounds twice. */
static inline __m512 emulated_scalef_ps(__m512 a, __m512 b)
{
    float x[16], n[16];
    _mm512_storeu_ps(x, a);
    _mm512_storeu_ps(n, b);
    for (size_t i = 0; i < 16; i++) x[i] = isnan(n[i]) ? n[i] : ldexpf(x[i], (int)floorf(n[i]));
    return _mm512_loadu_ps(x);
}

static inline __m512i emulated_madd_epi16(__m512i a, __m512i b)
{
    int16_t x[32], y[32];
    int32_t sums[16];
    _mm512_storeu_si512(x, a);
    _mm512_storeu_si512(y, b);
    for (size_t i = 0; i < 16; i++) sums[i] = x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
    return _mm512_loadu_si512(sums);
}

static inline __m512i emulated_cvtepu16_epi32(__m256i a)
{
    uint16_t x[16];
    uint32_t y[16];
    _mm256_storeu_si256((__m256i *)x, a);
    for (size_t i = 0; i < 16; i++) y[i] = x[i];
    return _mm512_loadu_si512(y);
}

static inline __m256i emulated_cvtepi32_epi16(__m512i a)
{
    uint32_t x[16];
    uint16_t y[16];
    _mm512_storeu_si512(x, a);
    for (size_t i = 0; i < 16; i++) y[i] = (uint16_t)x[i];
    return _mm256_loadu_si256((const __m256i *)y);
}

static inline __m512 emulated_cvtepi32_ps(__m512i a)
{
    int32_t x[16];
    float y[16];
    _mm512_storeu_si512(x, a);
    for (size_t i = 0; i < 16; i++) y[i] = (float)x[i];
    return _mm512_loadu_ps(y);
}

static inline __m512i emulated_cvtps_epi32(__m512 a)
{
    float x[16];
    int32_t y[16];
    _mm512_storeu_ps(x, a);
    for (size_t i = 0; i < 16; i++) y[i] = (int32_t)rintf(x[i]);
    return _mm512_loadu_si512(y);
}

static inline __m512i emulated_cvtepu8_epi32(__m128i a)
{
    uint8_t x[16];
    uint32_t y[16];
    _mm_storeu_si128((__m128i *)x, a);
    for (size_t i = 0; i < 16; i++) y[i] = x[i];
    return _mm512_loadu_si512(y);
}

static inline __m512i emulated_shuffle_epi32(__m512i a, int order)
{
    uint32_t x[16], y[16];
    _mm512_storeu_si512(x, a);
    for (size_t i = 0; i < 16; i++) y[i] = x[i / 4 * 4 + ((unsigned)order >> (2 * (i % 4)) & 3)];
    return _mm512_loadu_si512(y);
}

static inline float emulated_flush(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static inline float emulated_bf16(uint32_t upper)
{
    float x;
    upper &= 0xffff0000;
    memcpy(&x, &upper, sizeof x);
    return emulated_flush(x);
}

/* The odd numbers of the pairs first, then the even ones, each by a fused multiply-add. */
static inline __m512 emulated_dpbf16_ps(__m512 sum, __m512i a, __m512i b)
{
    float sums[16];
    uint32_t x[16], y[16];
    _mm512_storeu_ps(sums, sum);
    _mm512_storeu_si512(x, a);
    _mm512_storeu_si512(y, b);
    for (size_t i = 0; i < 16; i++) {
        const float odd = emulated_flush(fmaf(emulated_bf16(x[i]), emulated_bf16(y[i]), emulated_flush(sums[i])));
        sums[i] = emulated_flush(fmaf(emulated_bf16(x[i] << 16), emulated_bf16(y[i] << 16), odd));
    }
    return _mm512_loadu_ps(sums);
}

#undef _mm512_cvtepu8_epi32
#define _mm512_cvtepu8_epi32 emulated_cvtepu8_epi32
#undef _mm512_shuffle_epi32
#define _mm512_shuffle_epi32 emulated_shuffle_epi32
#undef _mm512_cvtepu16_epi32
#define _mm512_cvtepu16_epi32 emulated_cvtepu16_epi32
#undef _mm512_cvtepi32_epi16
#define _mm512_cvtepi32_epi16 emulated_cvtepi32_epi16
#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps emulated_cvtepi32_ps
#undef _mm512_cvtps_epi32
#define _mm512_cvtps_epi32 emulated_cvtps_epi32
#undef _mm512_madd_epi16
#define _mm512_madd_epi16 emulated_madd_epi16
#undef _mm512_maskz_loadu_ps
#define _mm512_maskz_loadu_ps emulated_maskz_loadu_ps
#undef _mm512_mask_storeu_ps
#define _mm512_mask_storeu_ps emulated_mask_storeu_ps
#undef _mm512_cvtps_pd
#define _mm512_cvtps_pd emulated_cvtps_pd
#undef _mm512_scalef_ps
#define _mm512_scalef_ps emulated_scalef_ps

#endif
