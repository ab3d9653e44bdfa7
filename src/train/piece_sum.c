#include "train/piece_sum.h"

#include "core/memory.h"
#include "device/device.h"

bool attend_piece_sum_new(piece_sum *s, const device_memory *memory, size_t size, size_t rows)
{
    *s = (piece_sum){ .memory = memory, .width = 1 };
    s->values = memory->take_zeroed(size * sizeof(real));
    s->rows = attend_memory_zeroed(rows, sizeof *s->rows);
    s->touched = attend_memory_zeroed(rows, 1);
    return s->values && s->rows && s->touched;
}

void attend_piece_sum_free(piece_sum *s)
{
    if (s->memory) s->memory->give(s->values);
    attend_memory_free(s->rows);
    attend_memory_free(s->touched);
    *s = (piece_sum){ 0 };
}

static real *row_at(const piece_sum *s, int row)
{
    return s->values + (size_t)(row - s->first_row) * s->width;
}

void attend_piece_sum_begin(piece_sum *s, size_t size, size_t width, int first_row)
{
    if (s->dense && s->size > s->dirty) s->dirty = s->size;
    for (int i = 0; i < s->rows_used; i++) {
        s->touched[s->rows[i] - s->first_row] = 0;
        if (!s->dense) s->memory->zero(row_at(s, s->rows[i]), s->width * sizeof(real));
    }
    s->size = size, s->width = width, s->first_row = first_row;
    s->dense = false, s->rows_used = 0;
}

/* Rows are set in zeros. */
static void clean(piece_sum *s)
{
    if (s->dirty) s->memory->zero(s->values, s->dirty * sizeof(real));
    s->dirty = 0;
}

static void copy(const piece_sum *s, real *to, const real *from, size_t size, bool is_host)
{
    if (is_host)
        s->memory->upload(to, from, size * sizeof(real));
    else
        s->memory->copy(to, from, size * sizeof(real));
}

void attend_piece_sum_set(piece_sum *s, const real *from, bool is_host)
{
    s->dense = true;
    copy(s, s->values, from, s->size, is_host);
}

static void touch(piece_sum *s, int row)
{
    unsigned char *touched = &s->touched[row - s->first_row];
    if (!*touched) s->rows[s->rows_used++] = row;
    *touched = 1;
}

void attend_piece_sum_set_row(piece_sum *s, int row, const real *from, bool is_host)
{
    clean(s);
    touch(s, row);
    copy(s, row_at(s, row), from, s->width, is_host);
}

/* attend_device.merge sets to zero what it has added. */
void attend_piece_sum_add(piece_sum *to, piece_sum *from)
{
    const attend_device *d = attend_device_at(to->memory);
    const attend_compute compute = { 0 }; /* pieces run on threads already */
    if (!to->dense && (from->dense || from->rows_used > 0)) clean(to);
    if (from->dense) {
        to->dense = true;
        d->merge(&compute, to->size, from->values, to->values);
    }
    for (int i = 0; i < from->rows_used; i++) {
        const int row = from->rows[i];
        from->touched[row - from->first_row] = 0;
        touch(to, row);
        if (!from->dense) d->merge(&compute, to->width, row_at(from, row), row_at(to, row));
    }
    from->rows_used = 0, from->dense = false;
}
