/* cpu_cell_gru_before.c: the gated recurrent unit as published, with the reset before the product (Cho et al. 2014,
 * Bahdanau et al. 2015).
 *     r, z = sigmoid(W x + bw + U h + bu)     q = r h     n = f(Wn x + bwn + Un q + bun)     h' = n + z (h - n)
 * Four blocks per row: r, z, n, q in forward; in backward dr, dz, dn replace the first three, and q stays for dUn = dn'
 * q. U is multiplied with two different inputs, so its packed copy is used in two parts. */
#include "device/cpu_cell.h"
#include <string.h>

/* The two parts of U': columns [0, 2 H) and [2 H, 3 H). They are packed in the first step. */
static void forward_parts(const device_cell *r, const real *parts[2])
{
    const size_t h = r->hidden, first = attend_packed_size(h, 2 * h);
    const real *whole = r->u.data;
    parts[0] = r->parts ? r->parts : whole;
    parts[1] = r->parts ? r->parts + first : whole + 2 * h * h;
    if (!r->parts || r->before) return;
    attend_pack(true, h, 2 * h, r->u_plain, h, r->parts);
    attend_pack(true, h, h, r->u_plain + 2 * h * h, h, r->parts + first);
}

/* One part of U', as a matrix. */
static packed_matrix part_of(const device_cell *r, const real *part, size_t gates)
{
    return (packed_matrix){ .k = r->hidden, .n = gates * r->hidden, .data = part };
}

/* r, z and q = r h */
static void forward_resets(const void *user, size_t first, size_t count)
{
    const device_cell *r = user;
    const attend_kernel_table *k = attend_kernel();
    const size_t h = r->hidden;
    for (size_t i = first; i < first + count; i++) {
        real *gates = cell_gates(r, i, 4), *q = r->scratch + i * h;
        k->add(2 * h, r->recurrent + i * 2 * h, gates);
        k->sigmoid(2 * h, gates, gates);
        k->mul(h, gates, r->h + i * h, q);
        memcpy(gates + 3 * h, q, h * sizeof(real));
    }
}

static void forward_states(const void *user, size_t first, size_t count)
{
    const device_cell *r = user;
    const size_t h = r->hidden;
    for (size_t i = first; i < first + count; i++) {
        real *gates = cell_gates(r, i, 4), *z = gates + h, *new = gates + 2 * h, *state = r->h + i *h;
        attend_kernel()->simple(h, r->activation, new, r->recurrent + i * h, new);
        for (size_t j = 0; j < h; j++) state[j] = new[j] + z[j] * (state[j] - new[j]);
        memcpy(r->y + cell_row(r, i) * h, state, h * sizeof(real));
    }
}

static bool before_forward(const attend_compute *c, const device_cell *r, size_t n)
{
    const size_t h = r->hidden;
    const packed_start start = r->bu ? PACKED_BIAS : PACKED_ZERO;
    const real *bu = r->bu, *parts[2];
    forward_parts(r, parts);
    const packed_matrix gates = part_of(r, parts[0], 2), new = part_of(r, parts[1], 1);
    if (!attend_cpu_product(c, start, bu, n, r->h, h, &gates, r->recurrent, 2 * h)) return false;
    attend_cpu_rows(c, n, 2 * h * CELL_COST, forward_resets, r);
    if (!attend_cpu_product(c, start, bu ? bu + 2 * h : NULL, n, r->scratch, h, &new, r->recurrent, h)) return false;
    attend_cpu_rows(c, n, CELL_COST * h, forward_states, r);
    return true;
}

/* dn, dz, and the gradient that bypasses the gates */
static void backward_states(const void *user, size_t first, size_t count)
{
    const device_cell *r = user;
    const size_t h = r->hidden;
    for (size_t i = first; i < first + count; i++) {
        real *gates = cell_gates(r, i, 4), *z = gates + h, *new = gates + 2 * h;
        const real *old = cell_h_before(r, i);
        real *dh = r->dh + i * h, *dn = r->recurrent + i * h;
        for (size_t j = 0; j < h; j++) dn[j] = dh[j] * (1 - z[j]);
        attend_kernel()->simple_backward(h, r->activation, dn, new, dn);
        for (size_t j = 0; j < h; j++) {
            real dz = dh[j] * (old[j] - new[j]) * z[j] * (1 - z[j]);
            dh[j] *= z[j];
            z[j] = dz;
            new[j] = dn[j];
        }
    }
}

/* dr = dq h and dh += dq r */
static void backward_resets(const void *user, size_t first, size_t count)
{
    const device_cell *r = user;
    const size_t h = r->hidden;
    for (size_t i = first; i < first + count; i++) {
        real *gates = cell_gates(r, i, 4), *past = r->recurrent + i * 2 * h;
        const real *old = cell_h_before(r, i), *dq = r->scratch + i * h;
        real *dh = r->dh + i * h;
        for (size_t j = 0; j < h; j++) {
            real reset = gates[j];
            dh[j] += dq[j] * reset;
            gates[j] = dq[j] * old[j] * reset * (1 - reset);
        }
        memcpy(past, gates, 2 * h * sizeof(real));
    }
}

/* `to` (n, H) = (or +=) recurrent (n, gates H) times rows of U from gate `first` on */
static void product_backward(const attend_compute *c, const device_cell *r, size_t n, size_t first, size_t gates,
                             packed_start start, real *to)
{
    const size_t h = r->hidden;
    attend_cpu_multiply_rows(c, &(packed_row_product){ .start = start,
                                                       .m = n,
                                                       .n = h,
                                                       .first = first * h,
                                                       .k = gates * h,
                                                       .all_k = 3 * h,
                                                       .a = r->recurrent,
                                                       .lda = gates * h,
                                                       .packed = r->u.data,
                                                       .c = to,
                                                       .ldc = h });
}

static bool before_backward(const attend_compute *c, const device_cell *r, size_t n)
{
    const size_t h = r->hidden;
    attend_cpu_rows(c, n, 2 * h * CELL_COST, backward_states, r);
    product_backward(c, r, n, 2, 1, PACKED_ZERO, r->scratch); /* dq */
    attend_cpu_rows(c, n, CELL_COST * h, backward_resets, r);
    product_backward(c, r, n, 0, 2, PACKED_ADD, r->dh);
    return true;
}

const cpu_cell attend_cpu_cell_gru_before = {
    .gates = 3, .width = 4, .forward = before_forward, .backward = before_backward
};
