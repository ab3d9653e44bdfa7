#include "train/weight_average.h"

#include "core/status.h"
#include "device/device.h"
#include <math.h>

int attend_weight_average_begin(weight_average *a, attend_params *params, double decay, bool loaded_later)
{
    if (decay == 0) return ATTEND_OK;
    a->params = params, a->decay = decay;
    a->values = attend_number_arrays_new(params);
    if (!a->values) return attend_fail(ATTEND_NO_MEMORY, "no memory for averaged weights");
    for (int i = 0; !loaded_later && i < attend_params_count(params); i++) {
        const attend_param *p = attend_params_at(params, i);
        p->memory->copy(a->values[i].data, p->value, p->size * sizeof(real));
    }
    return ATTEND_OK;
}

void attend_weight_average_free(weight_average *a)
{
    if (a->values) attend_number_arrays_free(a->values, attend_params_count(a->params));
    a->values = NULL;
}

/* Parts of all parameters, on threads. */
typedef struct average_work {
    const weight_average *a;
    real decay;
    int parts;
} average_work;

static void run_part(const average_work *w, int part, bool swap)
{
    const attend_compute compute = { 0 }; /* the parts run on threads already */
    for (int i = 0; i < attend_params_count(w->a->params); i++) {
        const attend_param *p = attend_params_at(w->a->params, i);
        const attend_device *d = attend_device_at(p->memory);
        const size_t first = p->size * (size_t)part / (size_t)w->parts,
                     last = p->size * (size_t)(part + 1) / (size_t)w->parts;
        real *average = w->a->values[i].data + first;
        if (swap)
            d->swap(&compute, last - first, p->value + first, average);
        else
            d->average(&compute, last - first, w->decay, p->value + first, average);
    }
}

static void update_part(void *user, int part)
{
    run_part(user, part, false);
}

static void swap_part(void *user, int part)
{
    run_part(user, part, true);
}

void attend_weight_average_update(const weight_average *a, uint64_t update, attend_pool *pool)
{
    if (!a->values) return;
    const double u = (double)update;
    average_work w = { .a = a,
                       .decay = (real)fmin(a->decay, (1 + u) / (10 + u)),
                       .parts = 4 * attend_pool_threads(pool) };
    attend_pool_run(pool, w.parts, update_part, &w);
}

void attend_weight_average_swap(const weight_average *a, attend_pool *pool)
{
    if (!a->values) return;
    average_work w = { .a = a, .parts = 4 * attend_pool_threads(pool) };
    attend_pool_run(pool, w.parts, swap_part, &w);
    for (int i = 0; i < attend_params_count(a->params); i++) attend_param_computed(attend_params_at(a->params, i));
}
