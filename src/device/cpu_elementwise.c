/* cpu_elementwise.c: rows that are copied, added and multiplied, and activation functions. */
#include "device/cpu.h"

#include <string.h>

/* ---- rows ---- */

/* y (=, +=) x, a b, ... for n rows of `width` numbers. */
typedef struct rows_work {
    size_t n, width;
    device_input x, b;
    const real *const *pointers; /* instead of x */
    device_output y;
} rows_work;

/* Whether both are the same n whole rows, one after another. */
static bool contiguous(const rows_work *w)
{
    return !w->x.rows && !w->y.rows && w->x.stride == w->width && w->y.stride == w->width;
}

static void copy_numbers(const void *user, size_t first, size_t count)
{
    const rows_work *w = user;
    memcpy(w->y.data + first, w->x.data + first, count * sizeof(real));
}

static void copy_rows(const void *user, size_t first, size_t count)
{
    const rows_work *w = user;
    for (size_t i = first; i < first + count; i++) {
        const real *from = w->pointers ? w->pointers[i] : cpu_input(&w->x, i);
        if (from)
            memcpy(cpu_output(&w->y, i), from, w->width * sizeof(real));
        else
            memset(cpu_output(&w->y, i), 0, w->width * sizeof(real));
    }
}

void attend_cpu_copy(const attend_compute *c, size_t n, size_t width, device_input x, device_output y)
{
    const rows_work w = { .n = n, .width = width, .x = x, .y = y };
    if (width == 0 || n == 0) return;
    if (contiguous(&w))
        attend_cpu_numbers(c, n * width, 1, copy_numbers, &w);
    else
        attend_cpu_rows(c, n, width, copy_rows, &w);
}

void attend_cpu_copy_from(const attend_compute *c, size_t n, size_t width, const real *const *x, device_output y)
{
    if (width) attend_cpu_rows(c, n, width, copy_rows, &(rows_work){ .width = width, .pointers = x, .y = y });
}

static void add_numbers(const void *user, size_t first, size_t count)
{
    const rows_work *w = user;
    attend_kernel()->add(count, w->x.data + first, w->y.data + first);
}

/* Columns [first, first + count) of all rows, in order: rows may be added to the same row. */
static void add_columns(const void *user, size_t first, size_t count)
{
    const rows_work *w = user;
    const attend_kernel_table *k = attend_kernel();
    for (size_t i = 0; i < w->n; i++) {
        const real *from = cpu_input(&w->x, i);
        if (from) k->add(count, from + first, cpu_output(&w->y, i) + first);
    }
}

static void add_rows(const void *user, size_t first, size_t count)
{
    const rows_work *w = user;
    const attend_kernel_table *k = attend_kernel();
    for (size_t i = first; i < first + count; i++) {
        const real *from = cpu_input(&w->x, i);
        if (from) k->add(w->width, from, cpu_output(&w->y, i));
    }
}

void attend_cpu_add(const attend_compute *c, size_t n, size_t width, device_input x, device_output y)
{
    const rows_work w = { .n = n, .width = width, .x = x, .y = y };
    if (contiguous(&w))
        attend_cpu_numbers(c, n * width, 1, add_numbers, &w);
    else if (y.rows || y.stride == 0)
        attend_cpu_columns(c, width, n, add_columns, &w);
    else
        attend_cpu_rows(c, n, width, add_rows, &w);
}

static void mul_rows(const void *user, size_t first, size_t count)
{
    const rows_work *w = user;
    for (size_t i = first; i < first + count; i++)
        attend_kernel()->mul(w->width, cpu_input(&w->x, i), cpu_input(&w->b, i), cpu_output(&w->y, i));
}

void attend_cpu_mul(const attend_compute *c, size_t n, size_t width, device_input a, device_input b, device_output y)
{
    attend_cpu_rows(c, n, width, mul_rows, &(rows_work){ .width = width, .x = a, .b = b, .y = y });
}

static void mul_add_columns(const void *user, size_t first, size_t count)
{
    const rows_work *w = user;
    for (size_t i = 0; i < w->n; i++)
        attend_kernel()->mul_add(count, cpu_input(&w->x, i) + first, cpu_input(&w->b, i) + first,
                                 cpu_output(&w->y, i) + first);
}

void attend_cpu_mul_add(const attend_compute *c, size_t n, size_t width, device_input a, device_input b,
                        device_output y)
{
    attend_cpu_columns(c, width, n, mul_add_columns, &(rows_work){ .n = n, .width = width, .x = a, .b = b, .y = y });
}

/* ---- numbers ---- */

typedef struct numbers_work {
    real a;
    const real *x, *y, *dy;
    real *to;
    device_activation f;
} numbers_work;

static void fill_numbers(const void *user, size_t first, size_t count)
{
    const numbers_work *w = user;
    for (size_t i = first; i < first + count; i++) w->to[i] = w->a;
}

void attend_cpu_fill(const attend_compute *c, size_t n, real value, real *y)
{
    attend_cpu_numbers(c, n, 1, fill_numbers, &(numbers_work){ .a = value, .to = y });
}

static void scale_numbers(const void *user, size_t first, size_t count)
{
    const numbers_work *w = user;
    if (w->x != w->to) memcpy(w->to + first, w->x + first, count * sizeof(real));
    attend_kernel()->scale(count, w->a, w->to + first);
}

void attend_cpu_scale(const attend_compute *c, size_t n, real a, const real *x, real *y)
{
    attend_cpu_numbers(c, n, 1, scale_numbers, &(numbers_work){ .a = a, .x = x, .to = y });
}

static void axpy_numbers(const void *user, size_t first, size_t count)
{
    const numbers_work *w = user;
    attend_kernel()->axpy(count, w->a, w->x + first, w->to + first);
}

void attend_cpu_axpy(const attend_compute *c, size_t n, real a, const real *x, real *y)
{
    attend_cpu_numbers(c, n, 1, axpy_numbers, &(numbers_work){ .a = a, .x = x, .to = y });
}

void attend_cpu_sum(const attend_compute *c, size_t n, const real *x, real *sum)
{
    (void)c; /* the sum of parts would depend on the parts */
    *sum = attend_kernel()->sum(n, x);
}

static void add_number(const void *user, size_t first, size_t count)
{
    const numbers_work *w = user;
    for (size_t i = first; i < first + count; i++) w->to[i] += *w->x;
}

void attend_cpu_add_number(const attend_compute *c, size_t n, const real *number, real *y)
{
    attend_cpu_numbers(c, n, 1, add_number, &(numbers_work){ .x = number, .to = y });
}

void attend_cpu_widen(const attend_compute *c, size_t n, const float *x, real *y)
{
    (void)c; /* a few thousand numbers */
    for (size_t i = 0; i < n; i++) y[i] = (real)x[i];
}

/* ---- activation functions ---- */

enum { ACTIVATION_COST = 8 };

static void activate(const void *user, size_t first, size_t count)
{
    const numbers_work *w = user;
    const attend_kernel_table *k = attend_kernel();
    (w->f == DEVICE_TANH      ? k->tanh
     : w->f == DEVICE_SIGMOID ? k->sigmoid
     : w->f == DEVICE_RELU    ? k->relu
                              : k->gelu)(count, w->x + first, w->to + first);
}

void attend_cpu_activate(const attend_compute *c, device_activation f, size_t n, const real *x, real *y)
{
    attend_cpu_numbers(c, n, ACTIVATION_COST, activate, &(numbers_work){ .f = f, .x = x, .to = y });
}

static void activate_backward(const void *user, size_t first, size_t count)
{
    const numbers_work *w = user;
    const real *dy = w->dy + first, *x = w->x + first, *y = w->y + first;
    real *dx = w->to + first;
    if (w->f == DEVICE_TANH)
        for (size_t i = 0; i < count; i++) dx[i] += dy[i] * (1 - y[i] * y[i]);
    else if (w->f == DEVICE_SIGMOID)
        for (size_t i = 0; i < count; i++) dx[i] += dy[i] * (y[i] * (1 - y[i]));
    else if (w->f == DEVICE_RELU)
        attend_kernel()->relu_backward(count, dy, y, dx);
    else
        attend_kernel()->gelu_backward(count, dy, x, dx);
}

void attend_cpu_activate_backward(const attend_compute *c, device_activation f, size_t n, const real *dy, const real *x,
                                  const real *y, real *dx)
{
    attend_cpu_numbers(c, n, ACTIVATION_COST, activate_backward,
                       &(numbers_work){ .f = f, .dy = dy, .x = x, .y = y, .to = dx });
}
