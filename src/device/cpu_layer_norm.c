/* cpu_layer_norm.c: layer normalisation of rows. */
#include "device/cpu.h"

static void normalize(const void *user, size_t first, size_t count)
{
    const device_layer_norm *l = user;
    for (size_t i = first; i < first + count; i++)
        attend_kernel()->layer_norm(l->width, l->x + i * l->width, l->gain, l->bias, l->epsilon, l->y + i * l->width,
                                    &l->statistics[2 * i], &l->statistics[2 * i + 1]);
}

void attend_cpu_layer_norm(const attend_compute *c, const device_layer_norm *l)
{
    attend_cpu_rows(c, l->rows, 4 * l->width, normalize, l);
}

static void backward(const device_layer_norm *l, size_t row, size_t first, size_t columns, real *dx, real *dgain,
                     real *dbias)
{
    const size_t at = row * l->width + first;
    attend_kernel()->layer_norm_backward(columns, l->dy + at, l->x + at, l->gain + first, l->statistics[2 * row],
                                         l->statistics[2 * row + 1], dx, dgain, dbias);
}

static void inputs_backward(const void *user, size_t first, size_t count)
{
    const device_layer_norm *l = user;
    for (size_t i = first; i < first + count; i++) backward(l, i, 0, l->width, l->dx + i * l->width, NULL, NULL);
}

/* Columns of dgain and dbias, which are sums over rows in their order. */
static void parameters_backward(const void *user, size_t first, size_t count)
{
    const device_layer_norm *l = user;
    for (size_t i = 0; i < l->rows; i++)
        backward(l, i, first, count, NULL, l->dgain ? l->dgain + first : NULL, l->dbias ? l->dbias + first : NULL);
}

void attend_cpu_layer_norm_backward(const attend_compute *c, const device_layer_norm *l)
{
    if (l->dx) attend_cpu_rows(c, l->rows, 4 * l->width, inputs_backward, l);
    if (l->dgain || l->dbias) attend_cpu_columns(c, l->width, 2 * l->rows, parameters_backward, l);
}
