#include "train/gradient_sum.h"

#include "device/device.h"

/* Work on all parameters, in parts: part i has a range of the rows of each. */
typedef struct sum_work {
    attend_grads *to, *from;
    int parts;
} sum_work;

static int parts_for(attend_pool *pool)
{
    const int threads = attend_pool_available(pool);
    return threads > 1 ? 4 * threads : 1;
}

/* The rows [first, last) of a parameter that belong to a part. */
typedef struct row_range {
    size_t first, last;
} row_range;

static row_range rows_of(const grad_entry *e, int part, int parts)
{
    const size_t rows = (size_t)e->param->shape[0];
    return (row_range){ rows * (size_t)part / (size_t)parts, rows * (size_t)(part + 1) / (size_t)parts };
}

/* ---- addition ---- */

/* Marks as used in `to` what is used in `from`. */
static void mark_used(attend_grads *to, const attend_grads *from)
{
    for (int i = 0; i < to->count; i++) {
        const grad_entry *e = &from->entries[i];
        if (e->dense)
            to->entries[i].dense = true;
        else if (e->rows_used)
            attend_grads_touch(&to->entries[i], e->rows, e->rows_used);
    }
}

static void add_part(void *user, int part)
{
    const sum_work *w = user;
    const attend_device *d = attend_device_at(w->from->memory);
    const attend_compute compute = { 0 }; /* the parts run on threads already */
    for (int i = 0; i < w->to->count; i++) {
        const grad_entry *e = &w->from->entries[i];
        const size_t width = attend_grads_row_size(e);
        const row_range r = rows_of(e, part, w->parts);
        real *to = w->to->entries[i].value;
        if (e->dense && r.last > r.first)
            d->merge(&compute, (r.last - r.first) * width, e->value + r.first * width, to + r.first * width);
        for (int j = 0; !e->dense && j < e->rows_used; j++) {
            const size_t row = (size_t)e->rows[j];
            if (row >= r.first && row < r.last) d->merge(&compute, width, e->value + row * width, to + row * width);
        }
    }
}

void attend_gradient_add(attend_pool *pool, attend_grads *to, attend_grads *from)
{
    sum_work w = { .to = to, .from = from, .parts = parts_for(pool) };
    mark_used(to, from);
    attend_pool_run(pool, w.parts, add_part, &w);
    for (int i = 0; i < from->count; i++) attend_grads_clear_rows(&from->entries[i]);
}

/* ---- zeroing ---- */

static void zero_part(void *user, int part)
{
    const sum_work *w = user;
    for (int i = 0; i < w->to->count; i++) {
        const grad_entry *e = &w->to->entries[i];
        const size_t width = attend_grads_row_size(e);
        const row_range r = rows_of(e, part, w->parts);
        if (e->dense && r.last > r.first)
            w->to->memory->zero(e->value + r.first * width, (r.last - r.first) * width * sizeof(real));
    }
}

void attend_gradient_zero(attend_pool *pool, attend_grads *g)
{
    sum_work w = { .to = g, .parts = parts_for(pool) };
    attend_pool_run(pool, w.parts, zero_part, &w);
    for (int i = 0; i < g->count; i++)
        if (g->entries[i].dense) attend_grads_clear_rows(&g->entries[i]);
    attend_grads_zero(g); /* the rows of the others */
}
