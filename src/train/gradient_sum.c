/* gradient_sum.c: adds the gradients of shards in a fixed order, on several threads. */
#include "train/gradient_sum.h"

#include "device/device.h"

void attend_gradient_sum_begin(attend_grads *to, attend_grads *const *from, int count)
{
    for (int i = 0; i < to->count; i++)
        for (int f = 0; f < count; f++) {
            const grad_entry *e = &from[f]->entries[i];
            if (e->dense)
                to->entries[i].dense = true;
            else if (e->rows_used)
                attend_grads_touch(&to->entries[i], e->rows, e->rows_used);
        }
}

/* to[first, last) += entry i of each `from` in turn, which becomes zero. Block by block, so that `to` is read and
 * written once and the blocks stay in the first-level cache. */
static void merge_range(real *to, attend_grads *const *from, int count, int i, size_t first, size_t last)
{
    enum { BLOCK = 2048 };
    const attend_compute compute = { 0 };
    const attend_device *d = attend_device_at(from[0]->memory);
    const size_t block = count == 1 ? last - first : BLOCK; /* the device divides a single one itself */
    for (size_t at = first; at < last; at += block)
        for (int f = 0; f < count; f++)
            d->merge(&compute, last - at < block ? last - at : block, from[f]->entries[i].value + at, to + at);
}

static bool all_dense(attend_grads *const *from, int count, int i)
{
    for (int f = 0; f < count; f++)
        if (!from[f]->entries[i].dense) return false;
    return true;
}

void attend_gradient_sum_part(attend_grads *to, attend_grads *const *from, int count, int part, int parts)
{
    for (int i = 0; i < to->count; i++) {
        size_t width = attend_grads_row_size(&to->entries[i]), rows = (size_t)to->entries[i].param->shape[0];
        size_t first = rows * (size_t)part / (size_t)parts, last = rows * (size_t)(part + 1) / (size_t)parts;
        real *value = to->entries[i].value;
        if (all_dense(from, count, i)) {
            merge_range(value, from, count, i, first * width, last * width);
            continue;
        }
        for (int f = 0; f < count; f++) {
            const grad_entry *e = &from[f]->entries[i];
            if (e->dense) merge_range(value, from + f, 1, i, first * width, last * width);
            for (int j = 0; !e->dense && j < e->rows_used; j++) {
                const size_t row = (size_t)e->rows[j];
                if (row >= first && row < last) merge_range(value, from + f, 1, i, row * width, (row + 1) * width);
            }
        }
    }
}

void attend_gradient_sum_end(attend_grads *const *from, int count)
{
    for (int f = 0; f < count; f++)
        for (int i = 0; i < from[f]->count; i++) attend_grads_clear_rows(&from[f]->entries[i]);
}
