/* cell_gru_before.c: the gated recurrent unit as published, with the reset before the product (Cho et al. 2014,
 * Bahdanau et al. 2015).
 *     r, z = sigmoid(W x + bw + U h + bu)     q = r h     n = f(Wn x + bwn + Un q + bun)     h' = n + z (h - n)
 * Four blocks per row: r, z, n, q in forward; in backward dr, dz, dn replace the first three, and q stays for dUn = dn'
 * q. U is multiplied with two different inputs, so its packed copy is used in two parts. */
#include "op/cell.h"

#include "op/packed_weights.h"
#include <string.h>

static bool pack_parts(attend_ctx *c, cell_run *r, bool transpose)
{
    const size_t h = r->hidden;
    if (!transpose || 2 * h % (size_t)attend_kernel()->panel == 0) {
        /* rows of a packed U can be used separately; so can whole panels of columns of a packed U' */
        const real *packed = attend_var_packed(c, r->u, transpose);
        r->u_packed[0] = packed;
        r->u_packed[1] = packed && transpose ? packed + 2 * h * h : packed;
        return packed != NULL;
    }
    for (size_t part = 0; part < 2; part++) {
        const size_t columns = part == 0 ? 2 * h : h;
        real *packed = attend_ctx_alloc_reals(c, attend_packed_size(h, columns));
        if (!packed) return false;
        attend_pack(true, h, columns, r->u->value + part * 2 * h * h, h, packed);
        r->u_packed[part] = packed;
    }
    return true;
}

static void before_forward(cell_run *r, int t, int n)
{
    const attend_kernel_table *k = attend_kernel();
    const size_t h = r->hidden;
    const packed_start start = r->bu ? PACKED_BIAS : PACKED_ZERO;
    const real *bu = r->bu ? r->bu->value : NULL;
    attend_gemm_packed(start, bu, (size_t)n, 2 * h, h, r->h, h, r->u_packed[0], r->recurrent, 2 * h);
    for (int i = 0; i < n; i++) {
        real *gates = cell_gates(r, cell_row(r, i, t)), *q = r->scratch + (size_t)i * h;
        k->add(2 * h, r->recurrent + (size_t)i * 2 * h, gates);
        k->sigmoid(2 * h, gates, gates);
        k->mul(h, gates, r->h + (size_t)i * h, q);
        memcpy(gates + 3 * h, q, h * sizeof(real));
    }
    attend_gemm_packed(start, bu ? bu + 2 * h : NULL, (size_t)n, h, h, r->scratch, h, r->u_packed[1], r->recurrent, h);
    for (int i = 0; i < n; i++) {
        size_t row = cell_row(r, i, t);
        real *gates = cell_gates(r, row), *z = gates + h, *new = gates + 2 * h, *state = r->h + (size_t)i *h;
        k->simple(h, r->activation, new, r->recurrent + (size_t)i * h, new);
        for (size_t j = 0; j < h; j++) state[j] = new[j] + z[j] * (state[j] - new[j]);
        memcpy(r->y->value + row * h, state, h * sizeof(real));
    }
}

static void before_backward(cell_run *r, int t, int n)
{
    const attend_kernel_table *k = attend_kernel();
    const size_t h = r->hidden;
    for (int i = 0; i < n; i++) { /* dn, dz, and the gradient that bypasses the gates */
        real *gates = cell_gates(r, cell_row(r, i, t)), *z = gates + h, *new = gates + 2 * h;
        const real *old = attend_cell_h_before(r, i, t);
        real *dh = r->dh + (size_t)i * h, *dn = r->recurrent + (size_t)i * h;
        for (size_t j = 0; j < h; j++) dn[j] = dh[j] * (1 - z[j]);
        k->simple_backward(h, r->activation, dn, new, dn);
        for (size_t j = 0; j < h; j++) {
            real dz = dh[j] * (old[j] - new[j]) * z[j] * (1 - z[j]);
            dh[j] *= z[j];
            z[j] = dz;
            new[j] = dn[j];
        }
    }
    /* dq = dn Un; then dr = dq h and dh += dq r */
    attend_gemm_packed_rows(PACKED_ZERO, (size_t)n, h, 2 * h, h, 3 * h, r->recurrent, h, r->u_packed[1], r->scratch, h);
    for (int i = 0; i < n; i++) {
        real *gates = cell_gates(r, cell_row(r, i, t)), *past = r->recurrent + (size_t)i * 2 * h;
        const real *old = attend_cell_h_before(r, i, t), *dq = r->scratch + (size_t)i * h;
        real *dh = r->dh + (size_t)i * h;
        for (size_t j = 0; j < h; j++) {
            real reset = gates[j];
            dh[j] += dq[j] * reset;
            gates[j] = dq[j] * old[j] * reset * (1 - reset);
        }
        memcpy(past, gates, 2 * h * sizeof(real));
    }
    attend_gemm_packed_rows(PACKED_ADD, (size_t)n, h, 0, 2 * h, 3 * h, r->recurrent, 2 * h, r->u_packed[0], r->dh, h);
}

const cell_spec attend_cell_gru_before = {
    .gates = 3,
    .width = 4,
    .parts = { { .row = 0, .rows = 2, .column = 0, .source = -1 }, { .row = 2, .rows = 1, .column = 2, .source = 3 } },
    .pack = pack_parts,
    .forward = before_forward,
    .backward = before_backward,
};
