/* vector_activations.c: relu, GELU, SwiGLU and their derivatives, and dropout, with the vector primitives of a vec_*.h
 * header. */
#include "kernel/vector_math.h"

#include "kernel/tables.h"
#include <string.h>

/* ---- relu ---- */

VINLINE void relu_at(size_t count, const real *x, real *y)
{
    vf_put(y, vf_max(vf_zero(), vf_get(x, count)), count);
}

void VNAME(relu)(size_t n, const real *x, real *y)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) relu_at(VLANES, x + i, y + i);
    if (i < n) relu_at(n - i, x + i, y + i);
}

VINLINE void relu_backward_at(size_t count, const real *dy, const real *y, real *dx)
{
    const vf d = vf_keep(vf_greater(vf_get(y, count), vf_zero()), vf_get(dy, count));
    vf_put(dx, vf_add(vf_get(dx, count), d), count);
}

void VNAME(relu_backward)(size_t n, const real *dy, const real *y, real *dx)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) relu_backward_at(VLANES, dy + i, y + i, dx + i);
    if (i < n) relu_backward_at(n - i, dy + i, y + i, dx + i);
}

/* ---- GELU:  x P(x) = max(x, 0) - |x| P(-|x|),  P the normal distribution ---- */

VINLINE void gelu_at(size_t count, const real *x, real *y)
{
    const vf xv = vf_get(x, count);
    vf bell, size, tail = vf_normal_tail(xv, &size, &bell);
    vf_put(y, vf_fnma(size, tail, vf_max(vf_zero(), xv)), count);
}

void VNAME(gelu)(size_t n, const real *x, real *y)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) gelu_at(VLANES, x + i, y + i);
    if (i < n) gelu_at(n - i, x + i, y + i);
}

/* dx += dy (P(x) + x p(x)) */
VINLINE void gelu_backward_at(size_t count, const real *dy, const real *x, real *dx)
{
    const vf xv = vf_get(x, count);
    vf bell, size, tail = vf_normal_tail(xv, &size, &bell);
    const vf share = vf_if_negative(xv, tail, vf_sub(vf_set1(1.0f), tail));
    const vf slope = vf_fma(vf_or(size, vf_sign(xv)), vf_mul(bell, vf_set1(0.39894228f)), share); /* 1 / sqrt(2 pi) */
    vf_put(dx, vf_fma(vf_get(dy, count), slope, vf_get(dx, count)), count);
}

void VNAME(gelu_backward)(size_t n, const real *dy, const real *x, real *dx)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) gelu_backward_at(VLANES, dy + i, x + i, dx + i);
    if (i < n) gelu_backward_at(n - i, dy + i, x + i, dx + i);
}

/* ---- SwiGLU:  a s(a) b,  s the logistic function ---- */

VINLINE void swiglu_at(size_t count, const real *a, const real *b, real *y)
{
    const vf av = vf_get(a, count);
    vf_put(y, vf_mul(vf_mul(av, vf_sigmoid(av)), vf_get(b, count)), count);
}

void VNAME(swiglu)(size_t n, const real *a, const real *b, real *y)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) swiglu_at(VLANES, a + i, b + i, y + i);
    if (i < n) swiglu_at(n - i, a + i, b + i, y + i);
}

/* da += dy b s (1 + a (1 - s)),  db += dy a s */
VINLINE void swiglu_backward_at(size_t count, const real *dy, const real *a, const real *b, real *da, real *db)
{
    const vf av = vf_get(a, count), dv = vf_get(dy, count), s = vf_sigmoid(av), as = vf_mul(av, s);
    const vf slope = vf_fnma(as, s, vf_add(as, s)); /* s + a s - a s s */
    vf_put(da, vf_fma(vf_mul(dv, vf_get(b, count)), slope, vf_get(da, count)), count);
    vf_put(db, vf_fma(dv, as, vf_get(db, count)), count);
}

void VNAME(swiglu_backward)(size_t n, const real *dy, const real *a, const real *b, real *da, real *db)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) swiglu_backward_at(VLANES, dy + i, a + i, b + i, da + i, db + i);
    if (i < n) swiglu_backward_at(n - i, dy + i, a + i, b + i, da + i, db + i);
}

/* ---- dropout ---- */

VINLINE vf masked_at(size_t count, const unsigned char *mask, vf scale, const real *x)
{
    unsigned char tail[VLANES];
    if (count < VLANES) {
        memset(tail, 0, sizeof tail);
        memcpy(tail, mask, count);
        mask = tail;
    }
    return vf_keep(vf_where(mask), vf_mul(scale, vf_get(x, count)));
}

void VNAME(apply_dropout)(size_t n, const unsigned char *mask, real scale, const real *x, real *y)
{
    const vf s = vf_set1(scale);
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) vf_store(y + i, masked_at(VLANES, mask + i, s, x + i));
    if (i < n) vf_store_first(y + i, masked_at(n - i, mask + i, s, x + i), n - i);
}

void VNAME(apply_dropout_add)(size_t n, const unsigned char *mask, real scale, const real *x, real *y)
{
    const vf s = vf_set1(scale);
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) vf_store(y + i, vf_add(vf_load(y + i), masked_at(VLANES, mask + i, s, x + i)));
    if (i < n) vf_store_first(y + i, vf_add(vf_load_first(y + i, n - i), masked_at(n - i, mask + i, s, x + i)), n - i);
}

/* Philox (core/rng.c) of VLANES / 2 blocks, first, first + 2, ...: the four numbers of each in the even lanes of x. Odd
 * lanes do not affect even ones: products use only even lanes, and all other operations are bitwise. */
VINLINE void philox_even(const attend_rng *r, uint32_t first, vi x[4])
{
    const vi a = vi_set1((int32_t)0xD2511F53u), b = vi_set1((int32_t)0xCD9E8D57u);
    uint32_t k0 = (uint32_t)r->seed, k1 = (uint32_t)(r->seed >> 32);
    x[0] = vi_even_from(first);
    x[1] = vi_set1((int32_t)r->use);
    x[2] = vi_set1((int32_t)(uint32_t)r->stream);
    x[3] = vi_set1((int32_t)(uint32_t)(r->stream >> 32));
    for (int round = 0; round < 10; round++) {
        const vi p = vi_multiply_even(a, x[0]), q = vi_multiply_even(b, x[2]);
        x[0] = vi_xor(vi_xor(vi_upper(q), x[1]), vi_set1((int32_t)k0));
        x[1] = q;
        x[2] = vi_xor(vi_xor(vi_upper(p), x[3]), vi_set1((int32_t)k1));
        x[3] = p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* The mask of VLANES blocks, four bytes each. */
VINLINE void mask_blocks(const attend_rng *r, uint32_t first, vi dropped, unsigned char *mask)
{
    vi x[4], y[4], kept = vi_zero();
    philox_even(r, first, x);
    philox_even(r, first + 1, y);
    for (int w = 0; w < 4; w++)
        kept = vi_or(kept, vi_at_least(vi_join_even(x[w], y[w]), dropped, vi_set1(1 << (8 * w))));
    vi_store(mask, kept);
}

void VNAME(dropout_mask)(const attend_rng *r, uint64_t i, size_t n, double p, unsigned char *mask)
{
    const vi dropped = vi_set1((int32_t)(uint32_t)(uint64_t)(p * 0x1p32)); /* values below this are dropped; p < 1 */
    unsigned char buffer[4 * VLANES];
    while (n > 0) {
        const size_t skip = (size_t)(i % 4), whole = 4 * VLANES - skip, count = n < whole ? n : whole;
        const bool all = count == 4 * VLANES;
        mask_blocks(r, (uint32_t)(i / 4), dropped, all ? mask : buffer);
        if (!all) memcpy(mask, buffer + skip, count);
        i += count, n -= count, mask += count;
    }
}
