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

typedef struct average_update {
    const weight_average *a;
    real decay;
    int parts;
} average_update;

static void update_part(void *user, int part)
{
    const average_update *u = user;
    const attend_compute compute = { 0 }; /* the parts run on threads already */
    for (int i = 0; i < attend_params_count(u->a->params); i++) {
        const attend_param *p = attend_params_at(u->a->params, i);
        const size_t first = p->size * (size_t)part / (size_t)u->parts,
                     last = p->size * (size_t)(part + 1) / (size_t)u->parts;
        attend_device_at(p->memory)->average(&compute, last - first, u->decay, p->value + first,
                                             u->a->values[i].data + first);
    }
}

void attend_weight_average_update(const weight_average *a, uint64_t update, attend_pool *pool)
{
    if (!a->values) return;
    const double u = (double)update;
    average_update x = { .a = a,
                         .decay = (real)fmin(a->decay, (1 + u) / (10 + u)),
                         .parts = 4 * attend_pool_threads(pool) };
    attend_pool_run(pool, x.parts, update_part, &x);
}

void attend_weight_average_swap(const weight_average *a)
{
    for (int i = 0; a->values && i < attend_params_count(a->params); i++) {
        attend_param *p = attend_params_at(a->params, i);
        attend_device_at(p->memory)->swap(&(attend_compute){ 0 }, p->size, p->value, a->values[i].data);
        attend_param_computed(p);
    }
}
