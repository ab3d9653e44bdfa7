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
    attend_cpu_rows(c, l->rows, l->width, normalize, l);
}

void attend_cpu_layer_norm_backward(const attend_compute *c, const device_layer_norm *l)
{
    (void)c; /* dgain and dbias are sums over rows */
    for (size_t i = 0; i < l->rows; i++)
        attend_kernel()->layer_norm_backward(l->width, l->dy + i * l->width, l->x + i * l->width, l->gain,
                                             l->statistics[2 * i], l->statistics[2 * i + 1],
                                             l->dx ? l->dx + i * l->width : NULL, l->dgain, l->dbias);
}
