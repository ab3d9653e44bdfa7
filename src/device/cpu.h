/* cpu.h: the functions of the CPU device, attend_cpu_X for each X of device.h, and what they share. They call the kernel
 * table for rows of numbers. */
#ifndef ATTEND_DEVICE_CPU_H
#define ATTEND_DEVICE_CPU_H

#include "device/device.h"
#include "kernel/gemm.h"

#define ATTEND_PROTOTYPE(name, parameters, arguments)              void attend_cpu_##name parameters;
#define ATTEND_RESULT_PROTOTYPE(type, name, parameters, arguments) type attend_cpu_##name parameters;
ATTEND_DEVICE_FUNCTIONS(ATTEND_PROTOTYPE, ATTEND_RESULT_PROTOTYPE)
ATTEND_DEVICE_QUERIES(ATTEND_RESULT_PROTOTYPE)
#undef ATTEND_PROTOTYPE
#undef ATTEND_RESULT_PROTOTYPE

/* Calls work(user, first, count) for ranges that cover [0, rows): on the threads of c->pool if there is enough work,
 * measured in numbers per row. Only for rows whose results do not depend on each other. */
typedef void (*attend_cpu_row_fn)(const void *user, size_t first, size_t count);
void attend_cpu_rows(const attend_compute *c, size_t rows, size_t row_work, attend_cpu_row_fn work, const void *user);

/* The number of threads for this many multiplications. */
int attend_cpu_product_threads(const attend_compute *c, size_t multiplications);

/* Rows to multiply, quantised into scratch memory if the weights are; false if memory ran out. */
bool attend_cpu_activations(const attend_compute *c, activations *a, size_t m, const real *x, size_t row,
                            const packed_matrix *w);
/* Y (m, n) = X W', plus a bias (n) or the previous Y, on the threads of the context if it is large. */
void attend_cpu_multiply(const attend_compute *c, packed_start start, const real *bias, const activations *a,
                         const packed_matrix *w, real *y, size_t ldy);

static inline const real *cpu_input(const device_input *x, size_t i)
{
    if (!x->rows) return x->data + i * x->stride;
    return x->rows[i] < 0 ? NULL : x->data + (size_t)x->rows[i] * x->stride;
}

static inline real *cpu_output(const device_output *y, size_t i)
{
    return y->data + (y->rows ? (size_t)y->rows[i] : i) * y->stride;
}

#endif
