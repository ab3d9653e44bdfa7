/* vector_additive.c: u . tanh(a + b) with the vector primitives of a vec_*.h header, and its derivative.
 *
 * With x = e^2a e^2b and r = 1 / (1 + x):  tanh(a + b) = 1 - 2 r = x r - r,  and  1 - tanh^2 = 4 r (x r). A prepared
 * row contains e^2x, so a pair of rows needs only products and a division. In forward two vectors share the division, 1
 * / y0 = y1 / (y0 y1), with x limited to a range where tanh is 1 already, so that y0 y1 is finite; in backward, which
 * has more products, this gains nothing. */
#include "kernel/vector_math.h"

#include "kernel/tables.h"

#define MAX_ARGUMENT 20.0f /* of |x| in a prepared row: e^2a e^2b is between e^-80 and e^80, which are normal floats */
#define MAX_EXP      0x1p60f /* of e^2a e^2b where two vectors share a division */

enum {
    STEP = 2 * VLANES, /* channels at a time: two vectors */
    KEYS = 4,          /* of a block in forward */
    BACK_KEYS =
        8 /* of a block in backward: few enough that a column of their gradients stays in the first-level cache */
};

/* ---- prepared rows ---- */

bool VNAME(additive_row)(size_t n, const real *x, real *prepared)
{
    vmask bad = vmask_none();
    for (size_t i = 0; i < n; i += STEP) {
        vf v[2];
        for (size_t k = 0; k < 2; k++) {
            const size_t from = i + k * VLANES, left = from < n ? n - from : 0;
            v[k] = vf_get(x + (left ? from : 0), left < VLANES ? left : VLANES);
            vf less = vf_or(v[k], vf_set1(-0.0f)); /* -|x| */
            bad = vmask_or(bad, vmask_or(vf_greater(vf_set1(-MAX_ARGUMENT), less), vf_unordered(less, less)));
        }
        for (size_t k = 0; k < 2; k++) vf_store(prepared + i + k * VLANES, vf_exp(vf_add(v[k], v[k])));
    }
    return !vmask_any(bad);
}

/* e^2a e^2b, and one more. */
VINLINE vf product(vf a, vf b)
{
    return vf_min(vf_mul(a, b), vf_set1(MAX_EXP));
}

VINLINE vf one_more(vf x)
{
    return vf_add(x, vf_set1(1.0f));
}

/* ---- forward: e = sum u - 2 sum u r ---- */

/* One query and `keys` keys. Each key has its own sum, which does not depend on the number of keys. */
VINLINE void forward_block(const size_t keys, const additive_block *t, size_t width, real all_u, const real *query,
                           const real *key, real *e)
{
    vf sum[KEYS];
    for (size_t j = 0; j < keys; j++) sum[j] = vf_zero();
    for (size_t c = 0; c < width; c += STEP) {
        const vf a0 = vf_load(query + c), a1 = vf_load(query + c + VLANES);
        const vf u0 = vf_load(t->u + c), u1 = vf_load(t->u + c + VLANES);
        for (size_t j = 0; j < keys; j++) {
            const real *b = key + j * t->stride + c;
            vf y0 = one_more(product(a0, vf_load(b))), y1 = one_more(product(a1, vf_load(b + VLANES)));
            sum[j] = vf_add(sum[j], vf_div(vf_fma(u0, y1, vf_mul(u1, y0)), vf_mul(y0, y1)));
        }
    }
    for (size_t j = 0; j < keys; j++) e[j] = all_u - 2.0f * vf_sum(sum[j]);
}

void VNAME(additive)(const additive_block *block, real *e, size_t e_stride)
{
    const additive_block t = *block;
    const size_t width = (t.width + STEP - 1) / STEP * STEP;
    const real all_u = VNAME(sum)(width, t.u);
    size_t j = 0;
    for (; j + KEYS <= t.keys; j += KEYS)
        for (size_t i = 0; i < t.queries; i++)
            forward_block(KEYS, &t, width, all_u, t.query + i * t.stride, t.key + j * t.stride, e + i * e_stride + j);
    for (; j < t.keys; j++)
        for (size_t i = 0; i < t.queries; i++)
            forward_block(1, &t, width, all_u, t.query + i * t.stride, t.key + j * t.stride, e + i * e_stride + j);
}

/* ---- backward: da, db += 4 u de r (x r),  du += de (x r - r) ---- */

/* All queries and a few keys, on the channels [c, c + n0 + n1): two vectors, or what is left of a row. */
VINLINE void backward_channels(const size_t n0, const size_t n1, size_t c, const additive_block *t,
                               const additive_gradients *g)
{
    const vf one = vf_set1(1.0f), four = vf_set1(4.0f);
    const vf u0 = vf_mul(four, vf_load(t->u + c)), u1 = vf_mul(four, vf_load(t->u + c + VLANES));
    real discarded[STEP] = { 0 }; /* receives db if the caller does not need it */
    real *const dkeys = g->key ? g->key + c : discarded;
    const size_t dkey_stride = g->key ? g->key_stride : 0;
    vf s0 = vf_zero(), s1 = vf_zero();
    for (size_t i = 0; i < t->queries; i++) {
        const real *a = t->query + i * t->stride + c, *b = t->key + c, *score = g->score + i * g->score_stride;
        const vf a0 = vf_load(a), a1 = vf_load(a + VLANES);
        vf d0 = vf_zero(), d1 = vf_zero();
        real *dkey = dkeys;
        for (size_t j = 0; j < t->keys; j++, b += t->stride, dkey += dkey_stride) {
            const vf de = vf_set1(score[j]);
            vf x0 = vf_mul(a0, vf_load(b)), x1 = vf_mul(a1, vf_load(b + VLANES));
            vf r0 = vf_div(one, vf_add(one, x0)), r1 = vf_div(one, vf_add(one, x1));
            vf p0 = vf_mul(de, r0), p1 = vf_mul(de, r1);
            vf q0 = vf_mul(p0, x0), q1 = vf_mul(p1, x1);
            vf w0 = vf_mul(q0, r0), w1 = vf_mul(q1, r1);
            s0 = vf_add(s0, vf_sub(q0, p0));
            s1 = vf_add(s1, vf_sub(q1, p1));
            d0 = vf_add(d0, w0);
            d1 = vf_add(d1, w1);
            vf_put(dkey, vf_fma(u0, w0, vf_get(dkey, n0)), n0);
            if (n1) vf_put(dkey + VLANES, vf_fma(u1, w1, vf_get(dkey + VLANES, n1)), n1);
        }
        if (g->query) {
            real *dquery = g->query + i * g->query_stride + c;
            vf_put(dquery, vf_fma(u0, d0, vf_get(dquery, n0)), n0);
            if (n1) vf_put(dquery + VLANES, vf_fma(u1, d1, vf_get(dquery + VLANES, n1)), n1);
        }
    }
    if (g->u) {
        vf_put(g->u + c, vf_add(s0, vf_get(g->u + c, n0)), n0);
        if (n1) vf_put(g->u + c + VLANES, vf_add(s1, vf_get(g->u + c + VLANES, n1)), n1);
    }
}

void VNAME(additive_backward)(const additive_block *all, const additive_gradients *gradients)
{
    additive_block t = *all;
    additive_gradients g = *gradients;
    const size_t whole = t.width / STEP * STEP, rest = t.width - whole;
    for (size_t left = all->keys; left > 0; left -= t.keys) {
        t.keys = left < BACK_KEYS ? left : BACK_KEYS;
        for (size_t c = 0; c < whole; c += STEP) backward_channels(VLANES, VLANES, c, &t, &g);
        if (rest > VLANES)
            backward_channels(VLANES, rest - VLANES, whole, &t, &g);
        else if (rest > 0)
            backward_channels(rest, 0, whole, &t, &g);
        t.key += t.keys * t.stride;
        g.score += t.keys;
        if (g.key) g.key += t.keys * g.key_stride;
    }
}
