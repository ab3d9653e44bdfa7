/* cpu_cell.c: steps of recurrent cells. */
#include "device/cpu_cell.h"

static const cpu_cell *cell_of(device_cell_kind kind)
{
    switch (kind) {
    case DEVICE_CELL_SIMPLE:
        return &attend_cpu_cell_simple;
    case DEVICE_CELL_GRU:
        return &attend_cpu_cell_gru;
    case DEVICE_CELL_GRU_BEFORE:
        return &attend_cpu_cell_gru_before;
    case DEVICE_CELL_LSTM:
        break;
    }
    return &attend_cpu_cell_lstm;
}

/* U of the GRU with the reset before the product is used in two parts. Whole panels of a packed U' can be used
 * separately; otherwise the parts are packed on their own. */
size_t attend_cpu_cell_parts_bytes(device_cell_kind kind, size_t hidden)
{
    if (kind != DEVICE_CELL_GRU_BEFORE || 2 * hidden % (size_t)attend_kernel()->panel == 0) return 0;
    return (attend_packed_size(hidden, 2 * hidden) + attend_packed_size(hidden, hidden)) * sizeof(real);
}

bool attend_cpu_cell_forward(const attend_compute *c, const device_cell *r, size_t n)
{
    return cell_of(r->kind)->forward(c, r, n);
}

bool attend_cpu_cell_backward(const attend_compute *c, const device_cell *r, size_t n)
{
    return cell_of(r->kind)->backward(c, r, n);
}

bool attend_cpu_cell_recurrent(const attend_compute *c, const device_cell *r, size_t n, size_t gates)
{
    return attend_cpu_product(c, r->bu ? PACKED_BIAS : PACKED_ZERO, r->bu, n, r->h, r->hidden, &r->u, r->recurrent,
                              gates * r->hidden);
}

bool attend_cpu_cell_recurrent_backward(const attend_compute *c, const device_cell *r, size_t n, size_t gates,
                                        packed_start start)
{
    return attend_cpu_product(c, start, NULL, n, r->recurrent, gates * r->hidden, &r->u, r->dh, r->hidden);
}
