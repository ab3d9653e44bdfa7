/* cpu_cell_lstm.c: long short-term memory (Hochreiter, Schmidhuber 1997, with the forget gate of Gers et al. 2000).
 *     i, f, o = sigmoid(W x + bw + U h + bu)     g = phi(.)     c' = f c + i g     h' = o phi(c')
 * Four blocks per row: i, f, g, o in forward, their derivatives in backward. */
#include "device/cpu_cell.h"
#include <string.h>

static void forward_rows(const void *user, size_t first, size_t count)
{
    const device_cell *r = user;
    const size_t h = r->hidden;
    for (size_t i = first; i < first + count; i++) {
        const size_t row = cell_row(r, i);
        real *gates = cell_gates(r, i, 4), *y = r->y + row * h;
        attend_kernel()->lstm(h, r->activation, gates, r->recurrent + i * 4 * h, cell_c_before(r, i),
                              r->cells + row * h, y, gates);
        memcpy(r->h + i * h, y, h * sizeof(real));
    }
}

static bool lstm_forward(const attend_compute *c, const device_cell *r, size_t n)
{
    if (!attend_cpu_cell_recurrent(c, r, n, 4)) return false;
    attend_cpu_rows(c, n, 4 * r->hidden * CELL_COST, forward_rows, r);
    return true;
}

static void backward_rows(const void *user, size_t first, size_t count)
{
    const device_cell *r = user;
    const size_t h = r->hidden;
    for (size_t i = first; i < first + count; i++) {
        const size_t row = cell_row(r, i);
        real *gates = cell_gates(r, i, 4);
        attend_kernel()->lstm_backward(h, r->activation, r->dh + i * h, cell_c_before(r, i), r->cells + row * h, gates,
                                       gates, r->dc + i * h);
        memcpy(r->recurrent + i * 4 * h, gates, 4 * h * sizeof(real));
    }
}

static bool lstm_backward(const attend_compute *c, const device_cell *r, size_t n)
{
    attend_cpu_rows(c, n, 4 * r->hidden * CELL_COST, backward_rows, r);
    return attend_cpu_cell_recurrent_backward(c, r, n, 4, PACKED_ZERO);
}

const cpu_cell attend_cpu_cell_lstm = { .gates = 4, .width = 4, .forward = lstm_forward, .backward = lstm_backward };
