/* plain.c: the row functions of kernel.h in plain C with libm: the reference for the other tables, and the kernels of
 * machines without vector kernels. Sums are accumulated in double. */
#include "kernel/plain_math.h"

#include "kernel/tables.h"

static void exp_row(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = real_exp(x[i]);
}

static void tanh_row(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = real_tanh(x[i]);
}

static void sigmoid_row(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = real_sigmoid(x[i]);
}

static real max_row(size_t n, const real *x)
{
    real largest = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (!(x[i] <= largest)) { /* larger, or NaN */
            largest = x[i];
            if (isnan(largest)) break;
        }
    return largest;
}

static real exp_sum(size_t n, const real *x, real shift, real *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        y[i] = real_exp(x[i] - shift);
        sum += y[i];
    }
    return (real)sum;
}

static real sum_row(size_t n, const real *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return (real)sum;
}

static real dot(size_t n, const real *x, const real *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * y[i];
    return (real)sum;
}

static double sum_squares(size_t n, const real *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * x[i];
    return sum;
}

static void add(size_t n, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

static void axpy(size_t n, real a, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

static void weighted_sum(size_t n, size_t rows, const real *w, const real *x, size_t stride, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = 0;
    for (size_t j = 0; j < rows; j++)
        if (w[j] != 0) axpy(n, w[j], x + j * stride, y);
}

static void dot_rows(size_t n, size_t rows, const real *q, const real *const *x, size_t first, real *e)
{
    for (size_t j = 0; j < rows; j++) e[j] = dot(n, q, x[j] + first);
}

static void weighted_sum_rows(size_t n, size_t rows, const real *w, const real *const *x, size_t first, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = 0;
    for (size_t j = 0; j < rows; j++) axpy(n, w[j], x[j] + first, y);
}

static void scale_row(size_t n, real a, real *x)
{
    for (size_t i = 0; i < n; i++) x[i] *= a;
}

static void mul(size_t n, const real *a, const real *b, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = a[i] * b[i];
}

static void mul_add(size_t n, const real *a, const real *b, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] += a[i] * b[i];
}

static void scale_shift(size_t n, real a, real scale, const real *x, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = a + scale * x[i];
}

static void rotate_pairs(size_t n, const real *x, const real *c, const real *s, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] = c[i] * x[i] + s[i] * x[i ^ 1];
}

static void rotate_pairs_backward(size_t n, const real *x, const real *c, const real *s, real *y)
{
    for (size_t i = 0; i < n; i++) y[i] += c[i] * x[i] - s[i] * x[i ^ 1];
}

static void layer_norm(size_t n, const real *x, const real *gain, const real *bias, real epsilon, real *y, real *mean,
                       real *rstd)
{
    double m = 0, variance = 0;
    for (size_t i = 0; i < n; i++) m += x[i];
    if (n > 0) m /= (double)n;
    for (size_t i = 0; i < n; i++) variance += (x[i] - m) * (x[i] - m);
    if (n > 0) variance /= (double)n;
    const double r = 1 / sqrt(variance + epsilon);
    for (size_t i = 0; i < n; i++) y[i] = (real)(gain[i] * ((x[i] - m) * r) + bias[i]);
    *mean = (real)m;
    *rstd = (real)r;
}

/* With dxhat = dy gain:  dx = rstd (dxhat - mean(dxhat) - xhat mean(dxhat xhat)) */
static void layer_norm_backward(size_t n, const real *dy, const real *x, const real *gain, real mean, real rstd,
                                real *dx, real *dgain, real *dbias)
{
    double sum = 0, sum_xhat = 0;
    for (size_t i = 0; i < n; i++) {
        const real xhat = (x[i] - mean) * rstd;
        sum += dy[i] * gain[i];
        sum_xhat += dy[i] * gain[i] * xhat;
        if (dgain) dgain[i] += dy[i] * xhat;
        if (dbias) dbias[i] += dy[i];
    }
    if (!dx || n == 0) return;
    const real d_mean = (real)(sum / (double)n), d_xhat_mean = (real)(sum_xhat / (double)n);
    for (size_t i = 0; i < n; i++) {
        const real xhat = (x[i] - mean) * rstd;
        dx[i] += rstd * (dy[i] * gain[i] - d_mean - xhat * d_xhat_mean);
    }
}

static void adam(size_t n, const adam_settings *k, const real *g, real *m, real *v, real *x)
{
    for (size_t i = 0; i < n; i++) {
        const real gi = k->scale * g[i];
        m[i] = k->beta1 * m[i] + k->rest1 * gi;
        v[i] = k->beta2 * v[i] + k->rest2 * gi * gi;
        x[i] -= k->rate * (m[i] * k->correction1 / (real_sqrt(v[i] * k->correction2) + k->epsilon) + k->decay * x[i]);
    }
}

const attend_kernel_table attend_plain_table = {
    .name = "plain",
    .exp = exp_row,
    .tanh = tanh_row,
    .sigmoid = sigmoid_row,
    .max = max_row,
    .exp_sum = exp_sum,
    .sum = sum_row,
    .dot = dot,
    .sum_squares = sum_squares,
    .add = add,
    .axpy = axpy,
    .weighted_sum = weighted_sum,
    .dot_rows = dot_rows,
    .weighted_sum_rows = weighted_sum_rows,
    .scale = scale_row,
    .mul = mul,
    .mul_add = mul_add,
    .scale_shift = scale_shift,
    .rotate_pairs = rotate_pairs,
    .rotate_pairs_backward = rotate_pairs_backward,
    .relu = attend_plain_relu,
    .relu_backward = attend_plain_relu_backward,
    .gelu = attend_plain_gelu,
    .gelu_backward = attend_plain_gelu_backward,
    .swiglu = attend_plain_swiglu,
    .swiglu_backward = attend_plain_swiglu_backward,
    .dropout_mask = attend_rng_dropout_mask,
    .apply_dropout = attend_plain_apply_dropout,
    .apply_dropout_add = attend_plain_apply_dropout_add,
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .simple = attend_plain_simple,
    .simple_backward = attend_plain_simple_backward,
    .gru = attend_plain_gru,
    .gru_backward = attend_plain_gru_backward,
    .lstm = attend_plain_lstm,
    .lstm_backward = attend_plain_lstm_backward,
    .lstm_fused = attend_plain_lstm_fused,
    .lstm_fused_backward = attend_plain_lstm_fused_backward,
    .additive_row = attend_plain_additive_row,
    .additive = attend_plain_additive,
    .additive_backward = attend_plain_additive_backward,
    .adam = adam,
    .panel = 8,
    .packed = attend_plain_packed,
    .tile_rows = 4,
    .packed_tiles = attend_plain_packed_tiles,
    .packed_bf16 = attend_plain_packed_bf16,
    .int8_group = 4,
    .int8_bytes = 1,
    .int8_depth = 4,
    .quantize = attend_plain_quantize,
    .packed_int8 = attend_plain_packed_int8,
};
