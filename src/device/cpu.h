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

/* Call work(user, first, count) for ranges that cover [0, n): on several threads if there are threads without work and
 * enough work for them. `cost` is the work of one row, number or column, in simple operations on a number. Only for
 * results that do not depend on each other. Ranges of numbers and of columns begin at multiples of CPU_NUMBERS and
 * CPU_COLUMNS, which are whole vectors: each number is computed by the same instructions however a range is divided. */
typedef void (*attend_cpu_range_fn)(const void *user, size_t first, size_t count);
enum { CPU_NUMBERS = 1024, CPU_COLUMNS = 64 };
void attend_cpu_rows(const attend_compute *c, size_t rows, size_t cost, attend_cpu_range_fn work, const void *user);
void attend_cpu_numbers(const attend_compute *c, size_t n, size_t cost, attend_cpu_range_fn work, const void *user);
void attend_cpu_columns(const attend_compute *c, size_t columns, size_t cost, attend_cpu_range_fn work,
                        const void *user);

/* Into how many pieces of at least min_piece to divide work, and the threads that can share them: 1 and 1 if all are
 * busy, or if there is little work. */
typedef struct cpu_division {
    size_t threads, pieces;
} cpu_division;
cpu_division attend_cpu_division(const attend_compute *c, size_t work, size_t min_piece);
/* For tests: with `on`, work is divided among the threads of a pool however little it is and even if all are busy. */
void attend_cpu_divide_all(bool on);

/* The number of threads that can share this many multiplications. */
int attend_cpu_product_threads(const attend_compute *c, size_t multiplications);

/* Rows to multiply, quantised into scratch memory if the weights are; false if memory ran out. */
bool attend_cpu_activations(const attend_compute *c, activations *a, size_t m, const real *x, size_t row,
                            const packed_matrix *w);
/* Y (m, n) = X W', plus a bias (n) or the previous Y, on the threads of the context if it is large. */
void attend_cpu_multiply(const attend_compute *c, packed_start start, const real *bias, const activations *a,
                         const packed_matrix *w, real *y, size_t ldy);

/* C (m, n) = (or +=) A times rows [first, first + k) of a matrix that was packed with all_k rows. */
typedef struct packed_row_product {
    packed_start start;
    size_t m, n, first, k, all_k;
    const real *a;
    size_t lda;
    const real *packed;
    real *c;
    size_t ldc;
} packed_row_product;
void attend_cpu_multiply_rows(const attend_compute *c, const packed_row_product *p);

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
