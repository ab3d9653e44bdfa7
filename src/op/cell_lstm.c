/* cell_lstm.c: long short-term memory (Hochreiter, Schmidhuber 1997, with the forget gate of Gers et al. 2000).
 *     i, f, o = sigmoid(W x + bw + U h + bu)     g = phi(.)     c' = f c + i g     h' = o phi(c')
 * Four blocks per row: i, f, g, o in forward, their derivatives in backward. */
#include "op/cell.h"
#include <string.h>

static void lstm_forward(cell_run *r, int t, int n)
{
    size_t h = r->hidden;
    attend_cell_recurrent(r, n);
    for (int i = 0; i < n; i++) {
        size_t row = cell_row(r, i, t);
        real *gates = cell_gates(r, row), *y = r->y->value + row * h;
        attend_kernel()->lstm(h, r->activation, gates, r->recurrent + (size_t)i * 4 * h, attend_cell_c_before(r, i, t),
                              r->cells + row * h, y, gates);
        memcpy(r->h + (size_t)i * h, y, h * sizeof(real));
    }
}

static void lstm_backward(cell_run *r, int t, int n)
{
    size_t h = r->hidden;
    for (int i = 0; i < n; i++) {
        size_t row = cell_row(r, i, t);
        real *gates = cell_gates(r, row);
        attend_kernel()->lstm_backward(h, r->activation, r->dh + (size_t)i * h, attend_cell_c_before(r, i, t),
                                       r->cells + row * h, gates, gates, r->dc + (size_t)i * h);
        memcpy(r->recurrent + (size_t)i * 4 * h, gates, 4 * h * sizeof(real));
    }
    attend_cell_recurrent_backward(r, n, PACKED_ZERO);
}

const cell_spec attend_cell_lstm = {
    .gates = 4,
    .width = 4,
    .memory = true,
    .parts = { { .row = 0, .rows = 4, .column = 0, .source = -1 } },
    .forward = lstm_forward,
    .backward = lstm_backward,
};
