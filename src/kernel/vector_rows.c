/* vector_rows.c: the row functions of kernel.h with the vector primitives of a vec_*.h header.
 *
 * A tail of fewer than VLANES numbers uses the same operations as a whole vector, so the result of an element does not
 * depend on its position in the row. Sums use several accumulators; their order depends only on n. */
#include "kernel/vector_math.h"

#include "kernel/tables.h"
#include <math.h>
#include <string.h>

/* y = f(x), two vectors at a time to keep the pipelines full. */
VINLINE void map(size_t n, const real *x, real *y, vf (*f)(vf))
{
    size_t i = 0;
    for (; i + 2 * VLANES <= n; i += 2 * VLANES) {
        vf a = f(vf_load(x + i)), b = f(vf_load(x + i + VLANES));
        vf_store(y + i, a);
        vf_store(y + i + VLANES, b);
    }
    if (i + VLANES <= n) {
        vf_store(y + i, f(vf_load(x + i)));
        i += VLANES;
    }
    if (i < n) vf_store_first(y + i, f(vf_load_first(x + i, n - i)), n - i);
}

void VNAME(exp)(size_t n, const real *x, real *y)
{
    map(n, x, y, vf_exp);
}

void VNAME(tanh)(size_t n, const real *x, real *y)
{
    map(n, x, y, vf_tanh);
}

void VNAME(sigmoid)(size_t n, const real *x, real *y)
{
    map(n, x, y, vf_sigmoid);
}

real VNAME(max)(size_t n, const real *x)
{
    const vf lowest = vf_set1(-INFINITY);
    vf m0 = lowest, m1 = lowest;
    vmask bad = vmask_none();
    size_t i = 0;
    for (; i + 2 * VLANES <= n; i += 2 * VLANES) {
        vf a = vf_load(x + i), b = vf_load(x + i + VLANES);
        bad = vmask_or(bad, vf_unordered(a, b));
        m0 = vf_max(m0, a);
        m1 = vf_max(m1, b);
    }
    for (; i < n; i += VLANES) {
        size_t count = n - i < VLANES ? n - i : VLANES;
        vf a = vf_first_or(vf_get(x + i, count), count, lowest);
        bad = vmask_or(bad, vf_unordered(a, a));
        m0 = vf_max(m0, a);
    }
    return vmask_any(bad) ? NAN : vf_max_lane(vf_max(m0, m1));
}

/* Four accumulators of a sum, added two by two. */
VINLINE real sum_of(const vf s[4])
{
    return vf_sum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3])));
}

real VNAME(exp_sum)(size_t n, const real *x, real shift, real *y)
{
    const vf by = vf_set1(shift);
    vf s[4] = { vf_zero(), vf_zero(), vf_zero(), vf_zero() }, a[4];
    size_t i = 0;
    for (; i + 4 * VLANES <= n; i += 4 * VLANES) {
        for (size_t k = 0; k < 4; k++) a[k] = vf_sub(vf_load(x + i + k * VLANES), by);
        vf_exp_below(4, a);
        for (size_t k = 0; k < 4; k++) {
            vf_store(y + i + k * VLANES, a[k]);
            s[k] = vf_add(s[k], a[k]);
        }
    }
    for (; i < n; i += VLANES) {
        size_t count = n - i < VLANES ? n - i : VLANES;
        a[0] = vf_sub(vf_get(x + i, count), by);
        vf_exp_below(1, a);
        vf_put(y + i, a[0], count);
        s[3] = vf_add(s[3], vf_first_or(a[0], count, vf_zero()));
    }
    return sum_of(s);
}

real VNAME(sum)(size_t n, const real *x)
{
    vf s[4] = { vf_zero(), vf_zero(), vf_zero(), vf_zero() };
    size_t i = 0;
    for (; i + 4 * VLANES <= n; i += 4 * VLANES)
        for (size_t k = 0; k < 4; k++) s[k] = vf_add(s[k], vf_load(x + i + k * VLANES));
    for (size_t k = 0; i + VLANES <= n; i += VLANES, k++) s[k] = vf_add(s[k], vf_load(x + i));
    if (i < n) s[3] = vf_add(s[3], vf_load_first(x + i, n - i));
    return sum_of(s);
}

VINLINE real dot_of(size_t n, const real *x, const real *y)
{
    vf s[4] = { vf_zero(), vf_zero(), vf_zero(), vf_zero() };
    size_t i = 0;
    for (; i + 4 * VLANES <= n; i += 4 * VLANES)
        for (size_t k = 0; k < 4; k++) s[k] = vf_fma(vf_load(x + i + k * VLANES), vf_load(y + i + k * VLANES), s[k]);
    for (size_t k = 0; i + VLANES <= n; i += VLANES, k++) s[k] = vf_fma(vf_load(x + i), vf_load(y + i), s[k]);
    if (i < n) s[3] = vf_fma(vf_load_first(x + i, n - i), vf_load_first(y + i, n - i), s[3]);
    return sum_of(s);
}

real VNAME(dot)(size_t n, const real *x, const real *y)
{
    return dot_of(n, x, y);
}

void VNAME(dot_rows)(size_t n, size_t rows, const real *q, const real *const *x, size_t first, real *e)
{
    for (size_t j = 0; j < rows; j++) e[j] = dot_of(n, q, x[j] + first);
}

double VNAME(sum_squares)(size_t n, const real *x)
{
    vd s0 = vd_zero(), s1 = vd_zero(), s2 = vd_zero(), s3 = vd_zero();
    size_t i = 0;
    for (; i + 2 * VLANES <= n; i += 2 * VLANES) {
        vf a = vf_load(x + i), b = vf_load(x + i + VLANES);
        s0 = vd_fma(vd_low(a), vd_low(a), s0);
        s1 = vd_fma(vd_high(a), vd_high(a), s1);
        s2 = vd_fma(vd_low(b), vd_low(b), s2);
        s3 = vd_fma(vd_high(b), vd_high(b), s3);
    }
    for (; i < n; i += VLANES) {
        vf a = vf_get(x + i, n - i < VLANES ? n - i : VLANES);
        s0 = vd_fma(vd_low(a), vd_low(a), s0);
        s1 = vd_fma(vd_high(a), vd_high(a), s1);
    }
    return vd_sum(vd_add(vd_add(s0, s1), vd_add(s2, s3)));
}

/* ---- elementwise: `..._at` computes one vector or tail ---- */

VINLINE void add_at(size_t count, const real *x, real *y)
{
    vf_put(y, vf_add(vf_get(y, count), vf_get(x, count)), count);
}

void VNAME(add)(size_t n, const real *x, real *y)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) add_at(VLANES, x + i, y + i);
    if (i < n) add_at(n - i, x + i, y + i);
}

VINLINE void axpy_at(size_t count, vf a, const real *x, real *y)
{
    vf_put(y, vf_fma(a, vf_get(x, count), vf_get(y, count)), count);
}

void VNAME(axpy)(size_t n, real a, const real *x, real *y)
{
    const vf av = vf_set1(a);
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) axpy_at(VLANES, av, x + i, y + i);
    if (i < n) axpy_at(n - i, av, x + i, y + i);
}

/* The sums of some vectors of columns stay in registers over all rows. */
VINLINE void weighted_sum_at(const int vectors, size_t rows, const real *w, const real *x, size_t stride, real *y)
{
    vf sum[8];
    for (int v = 0; v < vectors; v++) sum[v] = vf_zero();
    for (size_t j = 0; j < rows; j++, x += stride) {
        if (w[j] == 0) continue;
        const vf a = vf_set1(w[j]);
        for (int v = 0; v < vectors; v++) sum[v] = vf_fma(a, vf_load(x + v * VLANES), sum[v]);
    }
    for (int v = 0; v < vectors; v++) vf_store(y + v * VLANES, sum[v]);
}

void VNAME(weighted_sum)(size_t n, size_t rows, const real *w, const real *x, size_t stride, real *y)
{
    size_t i = 0;
    for (; i + 8 * VLANES <= n; i += 8 * VLANES) weighted_sum_at(8, rows, w, x + i, stride, y + i);
    for (; i + 4 * VLANES <= n; i += 4 * VLANES) weighted_sum_at(4, rows, w, x + i, stride, y + i);
    for (; i + VLANES <= n; i += VLANES) weighted_sum_at(1, rows, w, x + i, stride, y + i);
    if (i == n) return;
    memset(y + i, 0, (n - i) * sizeof *y);
    for (size_t j = 0; j < rows; j++)
        if (w[j] != 0) axpy_at(n - i, vf_set1(w[j]), x + j * stride + i, y + i);
}

VINLINE void weighted_sum_rows_at(const int vectors, size_t rows, const real *w, const real *const *x, size_t first,
                                  real *y)
{
    vf sum[8];
    for (int v = 0; v < vectors; v++) sum[v] = vf_zero();
    for (size_t j = 0; j < rows; j++) {
        const vf a = vf_set1(w[j]);
        for (int v = 0; v < vectors; v++) sum[v] = vf_fma(a, vf_load(x[j] + first + v * VLANES), sum[v]);
    }
    for (int v = 0; v < vectors; v++) vf_store(y + v * VLANES, sum[v]);
}

void VNAME(weighted_sum_rows)(size_t n, size_t rows, const real *w, const real *const *x, size_t first, real *y)
{
    size_t i = 0;
    for (; i + 4 * VLANES <= n; i += 4 * VLANES) weighted_sum_rows_at(4, rows, w, x, first + i, y + i);
    for (; i + VLANES <= n; i += VLANES) weighted_sum_rows_at(1, rows, w, x, first + i, y + i);
    if (i == n) return;
    memset(y + i, 0, (n - i) * sizeof *y);
    for (size_t j = 0; j < rows; j++) axpy_at(n - i, vf_set1(w[j]), x[j] + first + i, y + i);
}

VINLINE void scale_at(size_t count, vf a, real *x)
{
    vf_put(x, vf_mul(a, vf_get(x, count)), count);
}

void VNAME(scale)(size_t n, real a, real *x)
{
    const vf av = vf_set1(a);
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) scale_at(VLANES, av, x + i);
    if (i < n) scale_at(n - i, av, x + i);
}

VINLINE void mul_at(size_t count, const real *a, const real *b, real *y)
{
    vf_put(y, vf_mul(vf_get(a, count), vf_get(b, count)), count);
}

void VNAME(mul)(size_t n, const real *a, const real *b, real *y)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) mul_at(VLANES, a + i, b + i, y + i);
    if (i < n) mul_at(n - i, a + i, b + i, y + i);
}

VINLINE void mul_add_at(size_t count, const real *a, const real *b, real *y)
{
    vf_put(y, vf_fma(vf_get(a, count), vf_get(b, count), vf_get(y, count)), count);
}

void VNAME(mul_add)(size_t n, const real *a, const real *b, real *y)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) mul_add_at(VLANES, a + i, b + i, y + i);
    if (i < n) mul_add_at(n - i, a + i, b + i, y + i);
}

VINLINE void scale_shift_at(size_t count, vf a, vf scale, const real *x, real *y)
{
    vf_put(y, vf_fma(scale, vf_get(x, count), a), count);
}

void VNAME(scale_shift)(size_t n, real a, real scale, const real *x, real *y)
{
    const vf av = vf_set1(a), sv = vf_set1(scale);
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) scale_shift_at(VLANES, av, sv, x + i, y + i);
    if (i < n) scale_shift_at(n - i, av, sv, x + i, y + i);
}

/* ---- rotation of pairs; a tail consists of whole pairs ---- */

VINLINE vf rotated(size_t count, const real *x, const real *c, vf s)
{
    const vf a = vf_get(x, count);
    return vf_fma(s, vf_swap_pairs(a), vf_mul(vf_get(c, count), a));
}

VINLINE void rotate_at(size_t count, const real *x, const real *c, const real *s, real *y)
{
    vf_put(y, rotated(count, x, c, vf_get(s, count)), count);
}

void VNAME(rotate_pairs)(size_t n, const real *x, const real *c, const real *s, real *y)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) rotate_at(VLANES, x + i, c + i, s + i, y + i);
    if (i < n) rotate_at(n - i, x + i, c + i, s + i, y + i);
}

VINLINE void rotate_backward_at(size_t count, const real *x, const real *c, const real *s, real *y)
{
    const vf minus_s = vf_sub(vf_zero(), vf_get(s, count));
    vf_put(y, vf_add(vf_get(y, count), rotated(count, x, c, minus_s)), count);
}

void VNAME(rotate_pairs_backward)(size_t n, const real *x, const real *c, const real *s, real *y)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) rotate_backward_at(VLANES, x + i, c + i, s + i, y + i);
    if (i < n) rotate_backward_at(n - i, x + i, c + i, s + i, y + i);
}

/* ---- layer normalisation: the row is read three times, from cache ---- */

/* The sum of x - by; *squares: the sum of its squares. */
VINLINE real centred_sums(size_t n, const real *x, real by, real *squares)
{
    const vf b = vf_set1(by);
    vf s[4] = { vf_zero(), vf_zero(), vf_zero(), vf_zero() }, q[4] = { vf_zero(), vf_zero(), vf_zero(), vf_zero() };
    size_t i = 0;
    for (; i + 4 * VLANES <= n; i += 4 * VLANES)
        for (size_t k = 0; k < 4; k++) {
            vf d = vf_sub(vf_load(x + i + k * VLANES), b);
            s[k] = vf_add(s[k], d);
            q[k] = vf_fma(d, d, q[k]);
        }
    for (size_t k = 0; i < n; i += VLANES, k++) {
        size_t count = n - i < VLANES ? n - i : VLANES;
        vf d = vf_first_or(vf_sub(vf_get(x + i, count), b), count, vf_zero());
        s[k] = vf_add(s[k], d);
        q[k] = vf_fma(d, d, q[k]);
    }
    *squares = sum_of(q);
    return sum_of(s);
}

VINLINE void layer_norm_at(size_t count, const real *x, const real *gain, const real *bias, vf mean, vf off, vf rstd,
                           real *y)
{
    vf xhat = vf_mul(vf_sub(vf_sub(vf_get(x, count), mean), off), rstd);
    vf_put(y, vf_fma(vf_get(gain, count), xhat, vf_get(bias, count)), count);
}

/* The mean is computed relative to x[0], which reduces rounding errors if |mean| is large. The second pass gives the
 * rounding error of the mean (`off`), which corrects the variance and y. */
void VNAME(layer_norm)(size_t n, const real *x, const real *gain, const real *bias, real epsilon, real *y, real *mean,
                       real *rstd)
{
    real squares = 0, off = 0, m = 0, variance = 0;
    if (n > 0) {
        const real count = (real)n;
        m = x[0] + centred_sums(n, x, x[0], &squares) / count;
        off = centred_sums(n, x, m, &squares) / count;
        variance = squares / count - off * off;
    }
    const real r = 1.0f / sqrtf((variance < 0 ? 0 : variance) + epsilon); /* NaN passes */
    const vf mv = vf_set1(m), ov = vf_set1(off), rv = vf_set1(r);
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) layer_norm_at(VLANES, x + i, gain + i, bias + i, mv, ov, rv, y + i);
    if (i < n) layer_norm_at(n - i, x + i, gain + i, bias + i, mv, ov, rv, y + i);
    *mean = m;
    *rstd = r;
}

typedef struct norm_row {
    vf mean, rstd, d_mean, d_xhat_mean; /* the last two: means of dxhat and of dxhat xhat */
} norm_row;

VINLINE vf xhat_of(size_t count, const real *x, const norm_row *r)
{
    return vf_mul(vf_sub(vf_get(x, count), r->mean), r->rstd);
}

VINLINE void norm_dx_at(size_t count, const real *dy, const real *x, const real *gain, const norm_row *r, real *dx)
{
    vf d = vf_sub(vf_mul(vf_get(dy, count), vf_get(gain, count)), r->d_mean);
    d = vf_fnma(xhat_of(count, x, r), r->d_xhat_mean, d);
    vf_put(dx, vf_fma(r->rstd, d, vf_get(dx, count)), count);
}

/* dxhat = dy gain,  dx += rstd (dxhat - mean(dxhat) - xhat mean(dxhat xhat)) */
static void norm_dx(size_t n, const real *dy, const real *x, const real *gain, norm_row r, real *dx)
{
    vf s[4] = { vf_zero(), vf_zero(), vf_zero(), vf_zero() }; /* 0, 1: of dxhat; 2, 3: of dxhat xhat */
    size_t i = 0;
    for (; i + 2 * VLANES <= n; i += 2 * VLANES)
        for (size_t k = 0; k < 2; k++) {
            const size_t j = i + k * VLANES;
            vf d = vf_mul(vf_load(dy + j), vf_load(gain + j));
            s[k] = vf_add(s[k], d);
            s[2 + k] = vf_fma(d, xhat_of(VLANES, x + j, &r), s[2 + k]);
        }
    for (size_t k = 0; i < n; i += VLANES, k++) { /* beyond the end d is 0 */
        size_t count = n - i < VLANES ? n - i : VLANES;
        vf d = vf_mul(vf_get(dy + i, count), vf_get(gain + i, count));
        s[k] = vf_add(s[k], d);
        s[2 + k] = vf_fma(d, xhat_of(count, x + i, &r), s[2 + k]);
    }
    r.d_mean = vf_set1(vf_sum(vf_add(s[0], s[1])) / (real)n);
    r.d_xhat_mean = vf_set1(vf_sum(vf_add(s[2], s[3])) / (real)n);
    for (i = 0; i + VLANES <= n; i += VLANES) norm_dx_at(VLANES, dy + i, x + i, gain + i, &r, dx + i);
    if (i < n) norm_dx_at(n - i, dy + i, x + i, gain + i, &r, dx + i);
}

VINLINE void norm_dgain_at(size_t count, const real *dy, const real *x, const norm_row *r, real *dgain)
{
    vf_put(dgain, vf_fma(vf_get(dy, count), xhat_of(count, x, r), vf_get(dgain, count)), count);
}

void VNAME(layer_norm_backward)(size_t n, const real *dy, const real *x, const real *gain, real mean, real rstd,
                                real *dx, real *dgain, real *dbias)
{
    const norm_row r = { vf_set1(mean), vf_set1(rstd), vf_zero(), vf_zero() };
    if (dx) norm_dx(n, dy, x, gain, r, dx);
    if (dgain) {
        size_t i = 0;
        for (; i + VLANES <= n; i += VLANES) norm_dgain_at(VLANES, dy + i, x + i, &r, dgain + i);
        if (i < n) norm_dgain_at(n - i, dy + i, x + i, &r, dgain + i);
    }
    if (dbias) VNAME(add)(n, dy, dbias);
}

/* ---- Adam ---- */

VINLINE void adam_at(size_t count, const adam_settings *k, const real *g, real *m, real *v, real *x)
{
    vf gv = vf_mul(vf_set1(k->scale), vf_get(g, count));
    vf mv = vf_fma(vf_set1(k->beta1), vf_get(m, count), vf_mul(vf_set1(k->rest1), gv));
    vf vv = vf_fma(vf_set1(k->beta2), vf_get(v, count), vf_mul(vf_mul(vf_set1(k->rest2), gv), gv));
    vf xv = vf_get(x, count);
    vf root = vf_add(vf_sqrt(vf_mul(vv, vf_set1(k->correction2))), vf_set1(k->epsilon));
    vf step = vf_fma(vf_set1(k->decay), xv, vf_div(vf_mul(mv, vf_set1(k->correction1)), root));
    vf_put(m, mv, count);
    vf_put(v, vv, count);
    vf_put(x, vf_fnma(vf_set1(k->rate), step, xv), count);
}

void VNAME(adam)(size_t n, const adam_settings *settings, const real *g, real *m, real *v, real *x)
{
    const adam_settings k = *settings; /* a local copy, so that its members stay in registers */
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) adam_at(VLANES, &k, g + i, m + i, v + i, x + i);
    if (i < n) adam_at(n - i, &k, g + i, m + i, v + i, x + i);
}
