/* vector_math.h: exp, tanh, sigmoid and the normal distribution of a vector, and helpers shared by vector_*.c.
 *
 * The first three come from  e^x = 2^n e^r,  n = round(x log2 e),  r = x - n ln2,  |r| <= ln2 / 2,  and one polynomial,
 * e^r = 1 + r + r^2 q(r). On every float, including subnormal ones, the error of exp is below 1 ulp, of tanh
 * below 2, of sigmoid below 2.1 (test_elementary --every-float). tools/fit_elementary.py prints the constants. */
#ifndef ATTEND_VECTOR_MATH_H
#define ATTEND_VECTOR_MATH_H

#include ATTEND_VECTOR_HEADER
#include "kernel/kernel.h"

/* Bodies written once for whole vectors and for tails, or for each activation, must be inlined to specialise. */
#define VINLINE static inline __attribute__((always_inline))

/* `count` numbers: a vector, or a tail of fewer. */
VINLINE vf vf_get(const real *p, size_t count)
{
    return count == VLANES ? vf_load(p) : vf_load_first(p, count);
}

VINLINE void vf_put(real *p, vf a, size_t count)
{
    if (count == VLANES)
        vf_store(p, a);
    else
        vf_store_first(p, a, count);
}

#define VLN2_HIGH 0x1.62e43p-1f
#define VLN2_LOW  -0x1.05c61p-29f
#define VLOG2_E   0x1.715476p+0f
#define VQ0       0x1.fffffcp-2f
#define VQ1       0x1.555492p-3f
#define VQ2       0x1.5558acp-5f
#define VQ3       0x1.123974p-7f
#define VQ4       0x1.6a504ap-10f

/* x - n ln2. The first step is exact: n ln2_high is computed inside the fused operation, and the difference is
 * representable. */
VINLINE vf vf_reduce(vf x, vf n)
{
    return vf_fnma(n, vf_set1(VLN2_LOW), vf_fnma(n, vf_set1(VLN2_HIGH), x));
}

/* c e^r for |r| <= ln2 / 2; c is a constant. */
VINLINE vf vf_exp_small(vf r, float c)
{
    vf p = vf_set1(c * VQ4);
    p = vf_fma(p, r, vf_set1(c * VQ3));
    p = vf_fma(p, r, vf_set1(c * VQ2));
    p = vf_fma(p, r, vf_set1(c * VQ1));
    p = vf_fma(p, r, vf_set1(c * VQ0));
    p = vf_fma(p, r, vf_set1(c));
    return vf_fma(p, r, vf_set1(c));
}

/* Outside these bounds the result is 0 or inf, as it is at the bounds. */
VINLINE vf vf_exp(vf x)
{
    x = vf_min(vf_set1(89.0f), vf_max(vf_set1(-104.5f), x));
    vf t = vf_fma(x, vf_set1(VLOG2_E), vf_set1(VROUND_SCALE));
    vf r = vf_reduce(x, vf_sub(t, vf_set1(VROUND_SCALE)));
    return vf_scale(vf_exp_small(r, 1.0f), t);
}

/* e^x of `count` vectors at once, for x <= 88; used by softmax, where x <= 0. 1.4 times as fast as successive calls of
 * vf_exp: 2^n is a single power, and each step is done for all vectors before the next, which hides latency. Below
 * -87.7 the result is 0. */
VINLINE void vf_exp_below(const int count, vf *x)
{
    vf t[4], p[4];
    for (int i = 0; i < count; i++) x[i] = vf_max(vf_set1(-88.0f), x[i]); /* n = -127: a power of 0 */
    for (int i = 0; i < count; i++) t[i] = vf_fma(x[i], vf_set1(VLOG2_E), vf_set1(VROUND_POWER2));
    for (int i = 0; i < count; i++) x[i] = vf_reduce(x[i], vf_sub(t[i], vf_set1(VROUND_POWER2)));
    for (int i = 0; i < count; i++) p[i] = vf_fma(vf_set1(VQ4), x[i], vf_set1(VQ3));
    for (int i = 0; i < count; i++) p[i] = vf_fma(p[i], x[i], vf_set1(VQ2));
    for (int i = 0; i < count; i++) p[i] = vf_fma(p[i], x[i], vf_set1(VQ1));
    for (int i = 0; i < count; i++) p[i] = vf_fma(p[i], x[i], vf_set1(VQ0));
    for (int i = 0; i < count; i++) p[i] = vf_fma(p[i], x[i], vf_set1(1.0f));
    for (int i = 0; i < count; i++) p[i] = vf_fma(p[i], x[i], vf_set1(1.0f));
    for (int i = 0; i < count; i++) x[i] = vf_mul(p[i], vf_power2(t[i]));
}

/* With e = e^-|x|: 1 / (1 + e), or e / (1 + e) where x < 0: no overflow, and accurate down to subnormal results. e may
 * be subnormal but its scale 2^n may not, so 2^(n + 30) is used first and 2^-30 afterwards. Numerator and denominator
 * have a factor of 3/4, because 1 + e would often be just above 1, where floats are relatively coarsest. */
VINLINE vf vf_sigmoid(vf x)
{
    const vf unit = vf_set1(0.75f);
    vf a = vf_max(vf_set1(-104.5f), vf_or(x, vf_set1(-0.0f))); /* -|x| */
    vf t = vf_fma(a, vf_set1(VLOG2_E), vf_set1(VROUND_POWER2 + 30.0f));
    vf r = vf_reduce(a, vf_sub(t, vf_set1(VROUND_POWER2 + 30.0f)));
    vf e = vf_mul(vf_exp_small(r, 0.75f), vf_power2(t));
    e = vf_mul(e, vf_set1(0x1p-30f));
    return vf_div(vf_if_negative(x, e, unit), vf_add(unit, e));
}

/* With N = (1 - e^-2|x|) / 2 and D = (1 + e^-2|x|) / 2: N / D, and the sign of x. For -2|x| = n ln2 + 2u and
 * P = expm1(2u) / 2,  N = (1 - 2^n) / 2 - 2^n P  and  D = (1 + 2^n) / 2 + 2^n P: each is rounded once, and there is no
 * cancellation for small x, where n = 0 and N = -P. P uses the polynomial above with
 * powers of two moved into its coefficients. */
VINLINE vf vf_tanh(vf x)
{
    vf a = vf_max(vf_set1(-12.0f), vf_or(x, vf_set1(-0.0f))); /* -|x|; the result is 1 from 9.02 */
    vf t = vf_fma(a, vf_set1(2.0f * VLOG2_E), vf_set1(VROUND_POWER2));
    vf n = vf_sub(t, vf_set1(VROUND_POWER2));
    vf u = vf_fnma(n, vf_set1(0.5f * VLN2_LOW), vf_fnma(n, vf_set1(0.5f * VLN2_HIGH), a));
    vf q = vf_set1(32.0f * VQ4);
    q = vf_fma(q, u, vf_set1(16.0f * VQ3));
    q = vf_fma(q, u, vf_set1(8.0f * VQ2));
    q = vf_fma(q, u, vf_set1(4.0f * VQ1));
    q = vf_fma(q, u, vf_set1(2.0f * VQ0));
    vf p = vf_fma(q, vf_mul(u, u), u);
    vf s = vf_power2(t), half = vf_set1(0.5f);
    vf numerator = vf_fnma(p, s, vf_fnma(s, half, half)), denominator = vf_fma(p, s, vf_fma(s, half, half));
    return vf_or(vf_div(numerator, denominator), vf_sign(x));
}

#define VTAIL0 0x1.1df1d4p-3f
#define VTAIL1 0x1.1e6fd8p-3f
#define VTAIL2 0x1.ead6d4p-4f
#define VTAIL3 0x1.b024acp-4f
#define VTAIL4 -0x1.7a705p-6f
#define VTAIL5 0x1.45f2d4p-3f
#define VTAIL6 -0x1.05d4dcp-2f
#define VTAIL7 0x1.26d518p-3f
#define VTAIL8 -0x1.dd7ccp-6f

/* P(-a) for a = |x|, P the normal distribution. Also returns a, limited to 14, where the tail is 0 in float, and bell =
 * e^(-a a / 2). */
VINLINE vf vf_normal_tail(vf x, vf *a, vf *bell)
{
    *a = vf_min(vf_set1(14.0f), vf_max(x, vf_sub(vf_zero(), x)));
    *bell = vf_mul(vf_mul(*a, *a), vf_set1(-0.5f));
    vf_exp_below(1, bell);
    const vf t = vf_div(vf_set1(1.0f), vf_fma(*a, vf_set1(0.35f), vf_set1(1.0f)));
    vf r = vf_fma(vf_set1(VTAIL8), t, vf_set1(VTAIL7));
    r = vf_fma(r, t, vf_set1(VTAIL6));
    r = vf_fma(r, t, vf_set1(VTAIL5));
    r = vf_fma(r, t, vf_set1(VTAIL4));
    r = vf_fma(r, t, vf_set1(VTAIL3));
    r = vf_fma(r, t, vf_set1(VTAIL2));
    r = vf_fma(r, t, vf_set1(VTAIL1));
    r = vf_fma(r, t, vf_set1(VTAIL0));
    return vf_mul(*bell, vf_mul(r, t));
}

#endif
