#include "train/weight_average.h"

#include "core/status.h"
#include "device/device.h"
#include "train/rank_parameters.h"
#include <math.h>

int attend_weight_average_begin(weight_average *a, attend_team *team, double decay, bool loaded_later)
{
    if (decay == 0) return ATTEND_OK;
    a->team = team, a->decay = decay;
    a->values = attend_number_arrays_new(team->params, &team->pieces);
    if (!a->values) return attend_fail(ATTEND_NO_MEMORY, "no memory for averaged weights");
    for (int i = 0; !loaded_later && i < team->count; i++) {
        const attend_param *p = team->params->list[i];
        p->memory->copy(a->values[i].data, p->value + a->values[i].first, a->values[i].size * sizeof(real));
    }
    return ATTEND_OK;
}

void attend_weight_average_free(weight_average *a)
{
    if (a->values) attend_number_arrays_free(a->values, a->team->count);
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
    for (int i = 0; i < w->a->team->count; i++) {
        const attend_param *p = w->a->team->params->list[i];
        const attend_device *d = attend_device_at(p->memory);
        const number_array *values = &w->a->values[i];
        const size_t first = values->size * (size_t)part / (size_t)w->parts,
                     last = values->size * (size_t)(part + 1) / (size_t)w->parts;
        real *average = values->data + first, *value = p->value + values->first + first;
        if (swap)
            d->swap(&compute, last - first, value, average);
        else
            d->average(&compute, last - first, w->decay, value, average);
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

void attend_weight_average_update(const weight_average *a, uint64_t update)
{
    if (!a->values) return;
    const double u = (double)update;
    average_work w = { .a = a,
                       .decay = (real)fmin(a->decay, (1 + u) / (10 + u)),
                       .parts = 4 * attend_pool_threads(a->team->pool) };
    attend_pool_run(a->team->pool, w.parts, update_part, &w);
}

/* Each rank exchanges what it owns, and then gets the rest from the others. */
int attend_weight_average_swap(const weight_average *a)
{
    if (!a->values) return ATTEND_OK;
    average_work w = { .a = a, .parts = 4 * attend_pool_threads(a->team->pool) };
    attend_pool_run(a->team->pool, w.parts, swap_part, &w);
    const int status = attend_rank_parameters_gather(a->team);
    for (int i = 0; i < a->team->count; i++) attend_param_computed(a->team->params->list[i]);
    return status;
}
