/* cell_simple.c: h' = f(W x + bw + U h + bu)                     (Elman 1990)
 *     D = dh f'(.), with f' from h' itself; dh = D U */
#include "op/cell.h"
#include <string.h>

static void simple_forward(cell_run *r, int t, int n)
{
    attend_cell_recurrent(r, n);
    for (int i = 0; i < n; i++) {
        size_t row = cell_row(r, i, t), h = r->hidden;
        real *y = r->y->value + row * h;
        attend_kernel()->simple(h, r->activation, cell_gates(r, row), r->recurrent + (size_t)i * h, y);
        memcpy(r->h + (size_t)i * h, y, h * sizeof(real));
    }
}

static void simple_backward(cell_run *r, int t, int n)
{
    for (int i = 0; i < n; i++) {
        size_t row = cell_row(r, i, t), h = r->hidden;
        real *past = r->recurrent + (size_t)i * h;
        attend_kernel()->simple_backward(h, r->activation, r->dh + (size_t)i * h, r->y->value + row * h, past);
        memcpy(cell_gates(r, row), past, h * sizeof(real));
    }
    attend_cell_recurrent_backward(r, n, PACKED_ZERO);
}

const cell_spec attend_cell_simple = {
    .gates = 1,
    .width = 1,
    .parts = { { .row = 0, .rows = 1, .column = 0, .source = -1 } },
    .forward = simple_forward,
    .backward = simple_backward,
};
