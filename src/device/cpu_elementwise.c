/* cpu_elementwise.c: rows that are copied, added and multiplied, and activation functions. */
#include "device/cpu.h"

#include <string.h>

/* Whether both are the same n whole rows, one after another. */
static bool contiguous(size_t width, const device_input *x, const device_output *y)
{
    return !x->rows && !y->rows && x->stride == width && y->stride == width;
}

void attend_cpu_copy(const attend_compute *c, size_t n, size_t width, device_input x, device_output y)
{
    (void)c;
    if (width == 0 || n == 0) return;
    if (contiguous(width, &x, &y)) {
        memcpy(y.data, x.data, n * width * sizeof(real));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const real *from = cpu_input(&x, i);
        if (from)
            memcpy(cpu_output(&y, i), from, width * sizeof(real));
        else
            memset(cpu_output(&y, i), 0, width * sizeof(real));
    }
}

void attend_cpu_copy_from(const attend_compute *c, size_t n, size_t width, const real *const *x, device_output y)
{
    (void)c;
    for (size_t i = 0; i < n; i++) {
        if (x[i])
            memcpy(cpu_output(&y, i), x[i], width * sizeof(real));
        else
            memset(cpu_output(&y, i), 0, width * sizeof(real));
    }
}

void attend_cpu_add(const attend_compute *c, size_t n, size_t width, device_input x, device_output y)
{
    (void)c;
    const attend_kernel_table *k = attend_kernel();
    if (contiguous(width, &x, &y)) {
        k->add(n * width, x.data, y.data);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const real *from = cpu_input(&x, i);
        if (from) k->add(width, from, cpu_output(&y, i));
    }
}

void attend_cpu_fill(const attend_compute *c, size_t n, real value, real *y)
{
    (void)c;
    for (size_t i = 0; i < n; i++) y[i] = value;
}

void attend_cpu_mul(const attend_compute *c, size_t n, size_t width, device_input a, device_input b, device_output y)
{
    (void)c;
    for (size_t i = 0; i < n; i++) attend_kernel()->mul(width, cpu_input(&a, i), cpu_input(&b, i), cpu_output(&y, i));
}

void attend_cpu_mul_add(const attend_compute *c, size_t n, size_t width, device_input a, device_input b,
                        device_output y)
{
    (void)c;
    for (size_t i = 0; i < n; i++)
        attend_kernel()->mul_add(width, cpu_input(&a, i), cpu_input(&b, i), cpu_output(&y, i));
}

void attend_cpu_scale(const attend_compute *c, size_t n, real a, const real *x, real *y)
{
    (void)c;
    if (n && x != y) memcpy(y, x, n * sizeof *y);
    attend_kernel()->scale(n, a, y);
}

void attend_cpu_axpy(const attend_compute *c, size_t n, real a, const real *x, real *y)
{
    (void)c;
    attend_kernel()->axpy(n, a, x, y);
}

void attend_cpu_sum(const attend_compute *c, size_t n, const real *x, real *sum)
{
    (void)c;
    *sum = attend_kernel()->sum(n, x);
}

void attend_cpu_add_number(const attend_compute *c, size_t n, const real *number, real *y)
{
    (void)c;
    for (size_t i = 0; i < n; i++) y[i] += *number;
}

void attend_cpu_widen(const attend_compute *c, size_t n, const float *x, real *y)
{
    (void)c;
    for (size_t i = 0; i < n; i++) y[i] = (real)x[i];
}

/* ---- activation functions ---- */

void attend_cpu_activate(const attend_compute *c, device_activation f, size_t n, const real *x, real *y)
{
    (void)c;
    const attend_kernel_table *k = attend_kernel();
    (f == DEVICE_TANH ? k->tanh : f == DEVICE_SIGMOID ? k->sigmoid : f == DEVICE_RELU ? k->relu : k->gelu)(n, x, y);
}

void attend_cpu_activate_backward(const attend_compute *c, device_activation f, size_t n, const real *dy, const real *x,
                                  const real *y, real *dx)
{
    (void)c;
    if (f == DEVICE_TANH)
        for (size_t i = 0; i < n; i++) dx[i] += dy[i] * (1 - y[i] * y[i]);
    else if (f == DEVICE_SIGMOID)
        for (size_t i = 0; i < n; i++) dx[i] += dy[i] * (y[i] * (1 - y[i]));
    else if (f == DEVICE_RELU)
        attend_kernel()->relu_backward(n, dy, y, dx);
    else
        attend_kernel()->gelu_backward(n, dy, x, dx);
}
