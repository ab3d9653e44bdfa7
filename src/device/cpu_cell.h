/* cpu_cell.h: the steps of the recurrent cells on the CPU, one file for each cell, and what they share. */
#ifndef ATTEND_DEVICE_CPU_CELL_H
#define ATTEND_DEVICE_CPU_CELL_H

#include "device/cpu.h"

/* The cost of a gate for attend_cpu_rows: an activation function, and reading and writing. */
enum { CELL_COST = 8 };

/* One cell: a step of n sequences forward and backward (device_cell in arguments.h). */
typedef struct cpu_cell {
    size_t gates, width; /* blocks of H: of U, and of a row of device_cell.gates */
    bool (*forward)(const attend_compute *c, const device_cell *r, size_t n);
    bool (*backward)(const attend_compute *c, const device_cell *r, size_t n);
} cpu_cell;

extern const cpu_cell attend_cpu_cell_simple, attend_cpu_cell_gru, attend_cpu_cell_gru_before, attend_cpu_cell_lstm;

/* recurrent (n, G H) = h U' + bu;   dh (n, H) = (or +=) recurrent U */
bool attend_cpu_cell_recurrent(const attend_compute *c, const device_cell *r, size_t n, size_t gates);
bool attend_cpu_cell_recurrent_backward(const attend_compute *c, const device_cell *r, size_t n, size_t gates,
                                        packed_start start);

/* The row, in batch order, of the i-th sequence, and its gates, `width` blocks. */
static inline size_t cell_row(const device_cell *r, size_t i)
{
    return (size_t)r->rows[i];
}

static inline real *cell_gates(const device_cell *r, size_t i, size_t width)
{
    return r->gates + cell_row(r, i) * width * r->hidden;
}

/* h before the step: y of the previous row, or the initial state. The same for c. */
static inline const real *cell_h_before(const device_cell *r, size_t i)
{
    return r->before ? r->y + (size_t)r->before[i] * r->hidden : r->h0 + (size_t)r->order[i] * r->hidden;
}

static inline const real *cell_c_before(const device_cell *r, size_t i)
{
    return r->before ? r->cells + (size_t)r->before[i] * r->hidden : r->c0 + (size_t)r->order[i] * r->hidden;
}

#endif
