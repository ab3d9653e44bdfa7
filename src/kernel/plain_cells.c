/* plain_cells.c: the gates of recurrent cells in plain C; formulas in op.h. Each unit's inputs are read before its
 * outputs are written, as needed where kernel.h allows an output to be the same array as an input. */
#include "kernel/plain_math.h"

#include "kernel/tables.h"

static real activate(attend_activation f, real x)
{
    return f == ATTEND_RELU ? real_relu(x) : real_tanh(x);
}

/* d f'(.) where y = f(.) */
static real through(attend_activation f, real d, real y)
{
    if (f == ATTEND_RELU) return y > 0 ? d : 0;
    return d * (1 - y * y);
}

/* d s (1 - s): backward through s = sigmoid(.) */
static real through_sigmoid(real d, real s)
{
    return d * (s * (1 - s));
}

void attend_plain_simple(size_t h, attend_activation f, const real *gx, const real *gh, real *h_new)
{
    for (size_t j = 0; j < h; j++) h_new[j] = activate(f, gx[j] + gh[j]);
}

void attend_plain_simple_backward(size_t h, attend_activation f, const real *dh, const real *h_new, real *dgates)
{
    for (size_t j = 0; j < h; j++) dgates[j] = through(f, dh[j], h_new[j]);
}

void attend_plain_gru(size_t h, attend_activation f, const real *gx, const real *gh, const real *h_old, real *h_new,
                      real *saved)
{
    for (size_t j = 0; j < h; j++) {
        const real r = real_sigmoid(gx[j] + gh[j]);
        const real z = real_sigmoid(gx[h + j] + gh[h + j]);
        const real past = gh[2 * h + j];
        const real n = activate(f, gx[2 * h + j] + r * past);
        h_new[j] = (1 - z) * n + z * h_old[j];
        saved[j] = r;
        saved[h + j] = z;
        saved[2 * h + j] = n;
        saved[3 * h + j] = past;
    }
}

void attend_plain_gru_backward(size_t h, attend_activation f, const real *dh, const real *h_old, const real *saved,
                               real *dgx, real *dgh, real *dh_old)
{
    for (size_t j = 0; j < h; j++) {
        const real r = saved[j], z = saved[h + j], n = saved[2 * h + j], past = saved[3 * h + j], d = dh[j];
        const real dn = through(f, d * (1 - z), n);
        const real dz = through_sigmoid(d * (h_old[j] - n), z);
        const real dr = through_sigmoid(dn * past, r);
        dh_old[j] += d * z;
        dgx[j] = dgh[j] = dr;
        dgx[h + j] = dgh[h + j] = dz;
        dgx[2 * h + j] = dn;
        dgh[2 * h + j] = dn * r;
    }
}

void attend_plain_lstm(size_t h, attend_activation f, const real *gx, const real *gh, const real *c_old, real *c_new,
                       real *h_new, real *saved)
{
    for (size_t j = 0; j < h; j++) {
        const real in = real_sigmoid(gx[j] + gh[j]);
        const real forget = real_sigmoid(gx[h + j] + gh[h + j]);
        const real g = activate(f, gx[2 * h + j] + gh[2 * h + j]);
        const real out = real_sigmoid(gx[3 * h + j] + gh[3 * h + j]);
        c_new[j] = forget * c_old[j] + in * g;
        h_new[j] = out * activate(f, c_new[j]);
        saved[j] = in;
        saved[h + j] = forget;
        saved[2 * h + j] = g;
        saved[3 * h + j] = out;
    }
}

void attend_plain_lstm_backward(size_t h, attend_activation f, const real *dh, const real *c_old, const real *c_new,
                                const real *saved, real *dgates, real *dc)
{
    for (size_t j = 0; j < h; j++) {
        const real in = saved[j], forget = saved[h + j], g = saved[2 * h + j], out = saved[3 * h + j], d = dh[j];
        const real shown = activate(f, c_new[j]); /* h' = o f(c') */
        const real dcell = dc[j] + through(f, d * out, shown);
        dgates[j] = through_sigmoid(dcell * g, in);
        dgates[h + j] = through_sigmoid(dcell * c_old[j], forget);
        dgates[2 * h + j] = through(f, dcell * in, g);
        dgates[3 * h + j] = through_sigmoid(d * shown, out);
        dc[j] = dcell * forget;
    }
}

void attend_plain_lstm_fused(size_t h, const real *gx, const real *gh, const real *c_old, const real *a, real *c_new,
                             real *h_new, real *saved)
{
    for (size_t j = 0; j < h; j++) {
        const real in = real_sigmoid(gx[j] + gh[j]);
        const real forget = real_sigmoid(gx[h + j] + gh[h + j]);
        const real g = real_tanh(gx[2 * h + j] + gh[2 * h + j]);
        const real out = real_sigmoid(gx[3 * h + j] + gh[3 * h + j]);
        const real read = real_sigmoid(gx[4 * h + j] + gh[4 * h + j]);
        c_new[j] = forget * c_old[j] + in * g + read * a[j];
        h_new[j] = out * real_tanh(c_new[j]);
        saved[j] = in;
        saved[h + j] = forget;
        saved[2 * h + j] = g;
        saved[3 * h + j] = out;
        saved[4 * h + j] = read;
    }
}

void attend_plain_lstm_fused_backward(size_t h, const real *dh, const real *c_old, const real *a, const real *c_new,
                                      const real *saved, real *dgates, real *dc, real *da)
{
    for (size_t j = 0; j < h; j++) {
        const real in = saved[j], forget = saved[h + j], g = saved[2 * h + j], out = saved[3 * h + j];
        const real read = saved[4 * h + j], d = dh[j], shown = real_tanh(c_new[j]); /* h' = o tanh(c') */
        const real dcell = dc[j] + through(ATTEND_TANH, d * out, shown);
        dgates[j] = through_sigmoid(dcell * g, in);
        dgates[h + j] = through_sigmoid(dcell * c_old[j], forget);
        dgates[2 * h + j] = through(ATTEND_TANH, dcell * in, g);
        dgates[3 * h + j] = through_sigmoid(d * shown, out);
        dgates[4 * h + j] = through_sigmoid(dcell * a[j], read);
        dc[j] = dcell * forget;
        da[j] = dcell * read;
    }
}
