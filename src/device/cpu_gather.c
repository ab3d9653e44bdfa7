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

typedef struct gather_work {
    const int *ids;
    const device_table *table;
    size_t width;
    real *y;
} gather_work;

static void gather_rows(const void *user, size_t first, size_t count)
{
    const gather_work *w = user;
    for (size_t i = first; i < first + count; i++)
        table_row(w->table, (size_t)w->ids[i], w->width, w->y + i * w->width);
}

void attend_cpu_gather(const attend_compute *c, size_t n, const int *ids, const device_table *table, size_t width,
                       real *y)
{
    attend_cpu_rows(c, n, width, gather_rows, &(gather_work){ .ids = ids, .table = table, .width = width, .y = y });
}
