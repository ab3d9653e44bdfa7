/* cpu_gather.c: y[i] = table[ids[i]] for a table of any precision. */
#include "device/cpu.h"

#include "core/precision.h"
#include <string.h>

static void table_row(const device_table *t, size_t i, size_t width, real *row)
{
    if (t->precision == ATTEND_BFLOAT16)
        attend_bf16_expand(width, (const uint16_t *)t->quantized + i * width, row);
    else if (t->precision == ATTEND_INT8)
        for (size_t j = 0; j < width; j++)
            row[j] = (real)((const int8_t *)t->quantized)[i * width + j] * (real)t->scales[i];
    else
        memcpy(row, t->value + i * width, width * sizeof *row);
}

void attend_cpu_gather(const attend_compute *c, size_t n, const int *ids, const device_table *table, size_t width,
                       real *y)
{
    (void)c;
    for (size_t i = 0; i < n; i++) table_row(table, (size_t)ids[i], width, y + i * width);
}
