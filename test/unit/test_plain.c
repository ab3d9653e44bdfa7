/* test_plain.c: the plain kernels, the reference for the others, against the formulas of op.h in double, and their
 * derivatives against finite differences. */
#include "kernel/kernel.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { H = 5 };

static double uniform(double low, double high)
{
    static uint64_t state = 7;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(state >> 40) * 0x1p-24;
}

/* Random floats, and the same in double. */
static void fill(size_t n, double low, double high, float *x, double *exact)
{
    for (size_t i = 0; i < n; i++) exact[i] = x[i] = (float)uniform(low, high);
}

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.9g, not %.9g", got, want);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double activate(attend_activation f, double x)
{
    return f == ATTEND_RELU ? fmax(x, 0) : tanh(x);
}

/* ---- cells: x contains the inputs one after another, y the outputs ---- */

typedef void formula(attend_activation f, const double *x, double *y);

/* x: gx (H), gh (H); y: h' (H) */
static void simple_formula(attend_activation f, const double *x, double *y)
{
    for (size_t j = 0; j < H; j++) y[j] = activate(f, x[j] + x[H + j]);
}

/* x: gx (3 H), gh (3 H), h (H); y: h' (H) */
static void gru_formula(attend_activation f, const double *x, double *y)
{
    const double *gx = x, *gh = x + 3 * H, *h = x + 6 * H;
    for (size_t j = 0; j < H; j++) {
        double r = sigmoid(gx[j] + gh[j]), z = sigmoid(gx[H + j] + gh[H + j]);
        double n = activate(f, gx[2 * H + j] + r * gh[2 * H + j]);
        y[j] = (1 - z) * n + z * h[j];
    }
}

/* x: gx (4 H), gh (4 H), c (H); y: h' (H), c' (H) */
static void lstm_formula(attend_activation f, const double *x, double *y)
{
    const double *gx = x, *gh = x + 4 * H, *c = x + 8 * H;
    for (size_t j = 0; j < H; j++) {
        double in = sigmoid(gx[j] + gh[j]), forget = sigmoid(gx[H + j] + gh[H + j]);
        double g = activate(f, gx[2 * H + j] + gh[2 * H + j]), out = sigmoid(gx[3 * H + j] + gh[3 * H + j]);
        y[H + j] = forget * c[j] + in * g;
        y[j] = out * activate(f, y[H + j]);
    }
}

/* The weights of the outputs in the loss, which are dloss/dy. */
static double weight(size_t i)
{
    return 0.5 + 0.25 * (double)(i % 7) - (i % 2 ? 1.5 : 0);
}

/* dloss/dx[i] by a central difference, loss = sum of weight(k) y[k] */
static double difference(formula *g, attend_activation f, double *x, size_t i, size_t outputs)
{
    const double step = 1e-5, at = x[i];
    double y[2 * H], loss[2] = { 0, 0 };
    for (size_t side = 0; side < 2; side++) {
        x[i] = side ? at + step : at - step;
        g(f, x, y);
        for (size_t k = 0; k < outputs; k++) loss[side] += weight(k) * y[k];
    }
    x[i] = at;
    return (loss[1] - loss[0]) / (2 * step);
}

static void check_gradient(formula *g, attend_activation f, double *x, size_t inputs, size_t outputs, const float *dx)
{
    for (size_t i = 0; i < inputs; i++) assert_near(dx[i], difference(g, f, x, i, outputs), 2e-6);
}

static void simple(void **state)
{
    (void)state;
    const attend_kernel_table *plain = attend_kernels()[0];
    for (int relu = 0; relu < 2; relu++) {
        const attend_activation f = relu ? ATTEND_RELU : ATTEND_TANH;
        float x[2 * H], h[H], dh[H], dx[2 * H];
        double exact[2 * H], want[H];
        fill(2 * H, -2, 2, x, exact);
        simple_formula(f, exact, want);
        plain->simple(H, f, x, x + H, h);
        for (size_t j = 0; j < H; j++) assert_near(h[j], want[j], 1e-6);
        for (size_t j = 0; j < H; j++) dh[j] = (float)weight(j);
        plain->simple_backward(H, f, dh, h, dx);
        for (size_t j = 0; j < H; j++) dx[H + j] = dx[j]; /* gx and gh are only used as a sum */
        check_gradient(simple_formula, f, exact, 2 * H, H, dx);
    }
}

static void gru(void **state)
{
    (void)state;
    const attend_kernel_table *plain = attend_kernels()[0];
    for (int relu = 0; relu < 2; relu++) {
        const attend_activation f = relu ? ATTEND_RELU : ATTEND_TANH;
        float x[7 * H], h[H], saved[4 * H], dh[H], dx[7 * H];
        double exact[7 * H], want[H];
        fill(7 * H, -2, 2, x, exact);
        gru_formula(f, exact, want);
        plain->gru(H, f, x, x + 3 * H, x + 6 * H, h, saved);
        for (size_t j = 0; j < H; j++) assert_near(h[j], want[j], 1e-6);
        for (size_t j = 0; j < H; j++) dh[j] = (float)weight(j), dx[6 * H + j] = 3; /* dh_old is added to */
        plain->gru_backward(H, f, dh, x + 6 * H, saved, dx, dx + 3 * H, dx + 6 * H);
        for (size_t j = 0; j < H; j++) dx[6 * H + j] -= 3;
        check_gradient(gru_formula, f, exact, 7 * H, H, dx);
    }
}

static void lstm(void **state)
{
    (void)state;
    const attend_kernel_table *plain = attend_kernels()[0];
    for (int relu = 0; relu < 2; relu++) {
        const attend_activation f = relu ? ATTEND_RELU : ATTEND_TANH;
        float x[9 * H], h[H], c[H], saved[4 * H], dh[H], dx[9 * H];
        double exact[9 * H], want[2 * H];
        fill(9 * H, -2, 2, x, exact);
        lstm_formula(f, exact, want);
        plain->lstm(H, f, x, x + 4 * H, x + 8 * H, c, h, saved);
        for (size_t j = 0; j < H; j++) assert_near(h[j], want[j], 1e-6);
        for (size_t j = 0; j < H; j++) assert_near(c[j], want[H + j], 1e-6);
        for (size_t j = 0; j < H; j++) dh[j] = (float)weight(j), dx[8 * H + j] = (float)weight(H + j);
        plain->lstm_backward(H, f, dh, x + 8 * H, c, saved, dx, dx + 8 * H);
        for (size_t j = 0; j < 4 * H; j++) dx[4 * H + j] = dx[j]; /* gx and gh are only used as a sum */
        check_gradient(lstm_formula, f, exact, 9 * H, 2 * H, dx);
    }
}

/* ---- rows ---- */

/* x: x (H), gain (H), bias (H) */
static void layer_norm_formula(attend_activation f, const double *x, double *y)
{
    (void)f;
    double mean = 0, variance = 0;
    for (size_t j = 0; j < H; j++) mean += x[j] / H;
    for (size_t j = 0; j < H; j++) variance += (x[j] - mean) * (x[j] - mean) / H;
    for (size_t j = 0; j < H; j++) y[j] = x[H + j] * (x[j] - mean) / sqrt(variance + 1e-3) + x[2 * H + j];
}

static void layer_norm(void **state)
{
    (void)state;
    const attend_kernel_table *plain = attend_kernels()[0];
    float x[3 * H], y[H], dy[H], dx[3 * H], mean, rstd;
    double exact[3 * H], want[H];
    fill(3 * H, -1, 2, x, exact);
    layer_norm_formula(ATTEND_TANH, exact, want);
    plain->layer_norm(H, x, x + H, x + 2 * H, 1e-3f, y, &mean, &rstd);
    for (size_t j = 0; j < H; j++) assert_near(y[j], want[j], 1e-6);
    for (size_t j = 0; j < H; j++) dy[j] = (float)weight(j);
    for (size_t j = 0; j < 3 * H; j++) dx[j] = 1; /* all three are added to */
    plain->layer_norm_backward(H, dy, x, x + H, mean, rstd, dx, dx + H, dx + 2 * H);
    for (size_t j = 0; j < 3 * H; j++) dx[j] -= 1;
    check_gradient(layer_norm_formula, ATTEND_TANH, exact, 3 * H, H, dx);
}

static void adam(void **state)
{
    (void)state;
    const attend_kernel_table *plain = attend_kernels()[0];
    float g[H], m[H], v[H], x[H];
    double ge[H], me[H], ve[H], xe[H];
    fill(H, -1, 1, g, ge);
    fill(H, -1, 1, m, me);
    fill(H, 0, 1, v, ve);
    fill(H, -1, 1, x, xe);
    const adam_settings k = { 0.5f, 0.01f, 0.9f, 0.1f, 0.98f, 0.02f, 2, 3, 1e-3f, 0.1f };
    plain->adam(H, &k, g, m, v, x);
    for (size_t j = 0; j < H; j++) {
        const double gradient = 0.5 * ge[j];
        const double m_new = 0.9 * me[j] + 0.1 * gradient, v_new = 0.98 * ve[j] + 0.02 * gradient * gradient;
        assert_near(m[j], m_new, 1e-6);
        assert_near(v[j], v_new, 1e-6);
        assert_near(x[j], xe[j] - 0.01 * (m_new * 2 / (sqrt(v_new * 3) + 1e-3) + 0.1 * xe[j]), 1e-6);
    }
}

static void sums(void **state)
{
    (void)state;
    const attend_kernel_table *plain = attend_kernels()[0];
    const float x[] = { 1, -2, 3.5f, -0.25f }, y[] = { 2, 1, -1, 4 };
    float e[4], z[] = { 1, 2, 3, 4 };
    assert_true(plain->max(4, x) == 3.5f);
    assert_true(plain->sum(4, x) == 2.25f);
    assert_true(plain->dot(4, x, y) == -4.5f);
    assert_true(plain->sum_squares(4, x) == 17.3125);
    assert_near(plain->exp_sum(4, x, 3.5f, e), exp(-2.5) + exp(-5.5) + 1 + exp(-3.75), 1e-6);
    assert_near(e[1], exp(-5.5), 1e-6);
    plain->add(4, x, z);        /* 2 0 6.5 3.75 */
    plain->axpy(4, 2, x, z);    /* 4 -4 13.5 3.25 */
    plain->scale(4, 2, z);      /* 8 -8 27 6.5 */
    plain->mul_add(4, x, y, z); /* 10 -10 23.5 5.5 */
    assert_true(z[0] == 10 && z[1] == -10 && z[2] == 23.5f && z[3] == 5.5f);
    plain->mul(4, x, y, z);
    assert_true(z[0] == 2 && z[1] == -2 && z[2] == -3.5f && z[3] == -1);
    plain->scale_shift(4, 1, -2, x, z);
    assert_true(z[0] == -1 && z[1] == 5 && z[2] == -6 && z[3] == 1.5f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple),     cmocka_unit_test(gru),  cmocka_unit_test(lstm),
        cmocka_unit_test(layer_norm), cmocka_unit_test(adam), cmocka_unit_test(sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
