/* cpu_cell_gru.c: the gated recurrent unit with the reset after the product (cuDNN's and PyTorch's form of Cho et al.
 * 2014).
 *     r, z = sigmoid(W x + bw + U h + bu)     n = f(Wn x + bwn + r (Un h + bun))     h' = n + z (h - n)
 * Four blocks per row: r, z, n and Un h + bun in forward; dr, dz, dn and r dn in backward. The last is the gradient of
 * Un h + bun; dr and dz are those of both W x and U h. */
#include "device/cpu_cell.h"
#include <string.h>

static void forward_rows(const void *user, size_t first, size_t count)
{
    const device_cell *r = user;
    const size_t h = r->hidden;
    for (size_t i = first; i < first + count; i++) {
        real *gates = cell_gates(r, i, 4), *state = r->h + i * h;
        attend_kernel()->gru(h, r->activation, gates, r->recurrent + i * 3 * h, state, state, gates);
        memcpy(r->y + cell_row(r, i) * h, state, h * sizeof(real));
    }
}

static bool gru_forward(const attend_compute *c, const device_cell *r, size_t n)
{
    if (!attend_cpu_cell_recurrent(c, r, n, 3)) return false;
    attend_cpu_rows(c, n, 3 * r->hidden * CELL_COST, forward_rows, r);
    return true;
}

static void backward_rows(const void *user, size_t first, size_t count)
{
    const device_cell *r = user;
    const size_t h = r->hidden;
    for (size_t i = first; i < first + count; i++) {
        real *gates = cell_gates(r, i, 4), *past = r->recurrent + i * 3 * h;
        real *dh = r->dh + i * h, *dh_after = r->scratch + i * h;
        memcpy(dh_after, dh, h * sizeof(real));
        memset(dh, 0, h * sizeof(real));
        attend_kernel()->gru_backward(h, r->activation, dh_after, cell_h_before(r, i), gates, gates, past, dh);
        memcpy(gates + 3 * h, past + 2 * h, h * sizeof(real));
    }
}

static bool gru_backward(const attend_compute *c, const device_cell *r, size_t n)
{
    attend_cpu_rows(c, n, 3 * r->hidden * CELL_COST, backward_rows, r);
    return attend_cpu_cell_recurrent_backward(c, r, n, 3, PACKED_ADD);
}

const cpu_cell attend_cpu_cell_gru = { .gates = 3, .width = 4, .forward = gru_forward, .backward = gru_backward };
