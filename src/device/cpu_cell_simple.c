/* cpu_cell_simple.c: h' = f(W x + bw + U h + bu)                     (Elman 1990)
 *     D = dh f'(.), with f' from h' itself; dh = D U */
#include "device/cpu_cell.h"
#include <string.h>

static void forward_rows(const void *user, size_t first, size_t count)
{
    const device_cell *r = user;
    const size_t h = r->hidden;
    for (size_t i = first; i < first + count; i++) {
        real *y = r->y + cell_row(r, i) * h;
        attend_kernel()->simple(h, r->activation, cell_gates(r, i, 1), r->recurrent + i * h, y);
        memcpy(r->h + i * h, y, h * sizeof(real));
    }
}

static bool simple_forward(const attend_compute *c, const device_cell *r, size_t n)
{
    if (!attend_cpu_cell_recurrent(c, r, n, 1)) return false;
    attend_cpu_rows(c, n, CELL_COST * r->hidden, forward_rows, r);
    return true;
}

static void backward_rows(const void *user, size_t first, size_t count)
{
    const device_cell *r = user;
    const size_t h = r->hidden;
    for (size_t i = first; i < first + count; i++) {
        real *past = r->recurrent + i * h;
        attend_kernel()->simple_backward(h, r->activation, r->dh + i * h, r->y + cell_row(r, i) * h, past);
        memcpy(cell_gates(r, i, 1), past, h * sizeof(real));
    }
}

static bool simple_backward(const attend_compute *c, const device_cell *r, size_t n)
{
    attend_cpu_rows(c, n, CELL_COST * r->hidden, backward_rows, r);
    return attend_cpu_cell_recurrent_backward(c, r, n, 1, PACKED_ZERO);
}

const cpu_cell attend_cpu_cell_simple = {
    .gates = 1, .width = 1, .forward = simple_forward, .backward = simple_backward
};
