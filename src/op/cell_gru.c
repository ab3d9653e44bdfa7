/* cell_gru.c: the gated recurrent unit with the reset after the product (cuDNN's and PyTorch's form of Cho et al.
 * 2014).
 *     r, z = sigmoid(W x + bw + U h + bu)     n = f(Wn x + bwn + r (Un h + bun))     h' = n + z (h - n)
 * Four blocks per row: r, z, n and Un h + bun in forward; dr, dz, dn and r dn in backward. The last is the gradient of
 * Un h + bun; dr and dz are those of both W x and U h. */
#include "op/cell.h"
#include <string.h>

static void gru_forward(cell_run *r, int t, int n)
{
    size_t h = r->hidden;
    attend_cell_recurrent(r, n);
    for (int i = 0; i < n; i++) {
        size_t row = cell_row(r, i, t);
        real *gates = cell_gates(r, row), *state = r->h + (size_t)i * h;
        attend_kernel()->gru(h, r->activation, gates, r->recurrent + (size_t)i * 3 * h, state, state, gates);
        memcpy(r->y->value + row * h, state, h * sizeof(real));
    }
}

static void gru_backward(cell_run *r, int t, int n)
{
    size_t h = r->hidden;
    for (int i = 0; i < n; i++) {
        real *gates = cell_gates(r, cell_row(r, i, t)), *past = r->recurrent + (size_t)i * 3 * h;
        real *dh = r->dh + (size_t)i * h, *dh_after = r->scratch;
        memcpy(dh_after, dh, h * sizeof(real));
        memset(dh, 0, h * sizeof(real));
        attend_kernel()->gru_backward(h, r->activation, dh_after, attend_cell_h_before(r, i, t), gates, gates, past,
                                      dh);
        memcpy(gates + 3 * h, past + 2 * h, h * sizeof(real));
    }
    attend_cell_recurrent_backward(r, n, PACKED_ADD);
}

const cell_spec attend_cell_gru = {
    .gates = 3,
    .width = 4,
    .parts = { { .row = 0, .rows = 2, .column = 0, .source = -1 }, { .row = 2, .rows = 1, .column = 3, .source = -1 } },
    .forward = gru_forward,
    .backward = gru_backward,
};
