/* plain_activations.c: relu, GELU, SwiGLU and dropout in plain C; see kernel.h. */
#include "kernel/plain_math.h"

#include "kernel/tables.h"

void attend_plain_relu(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = real_relu(x[i]);
}

void attend_plain_relu_backward(size_t n, const real *dy, const real *y, real *dx)
{
    for (size_t i = 0; i < n; i++) dx[i] += y[i] > 0 ? dy[i] : 0;
}

/* P(x) of the normal distribution */
static double normal_share(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

void attend_plain_gelu(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = isinf(x[i]) ? real_relu(x[i]) : (real)(x[i] * normal_share(x[i]));
}

void attend_plain_gelu_backward(size_t n, const real *dy, const real *x, real *dx)
{
    for (size_t i = 0; i < n; i++) {
        const double v = x[i], bell = 0.39894228040143267794 * exp(-0.5 * v * v); /* 1 / sqrt(2 pi) */
        dx[i] += dy[i] * (real)(isinf(v) ? v > 0 : normal_share(v) + v * bell);
    }
}

void attend_plain_swiglu(size_t n, const real *a, const real *b, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] * real_sigmoid(a[i]) * b[i];
}

void attend_plain_swiglu_backward(size_t n, const real *dy, const real *a, const real *b, real *da, real *db)
{
    for (size_t i = 0; i < n; i++) {
        const real s = real_sigmoid(a[i]);
        da[i] += dy[i] * b[i] * s * (1 + a[i] * (1 - s));
        db[i] += dy[i] * a[i] * s;
    }
}

void attend_plain_apply_dropout(size_t n, const unsigned char *mask, real scale, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = mask[i] ? scale * x[i] : 0;
}

void attend_plain_apply_dropout_add(size_t n, const unsigned char *mask, real scale, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] += mask[i] ? scale * x[i] : 0;
}
