#include "train/weight_average.h"

#include "core/memory.h"
#include "core/status.h"
#include <math.h>
#include <string.h>

int attend_weight_average_begin(weight_average *a, attend_params *params, double decay, bool loaded_later)
{
    if (decay == 0) return ATTEND_OK;
    const int count = attend_params_count(params);
    a->params = params, a->decay = decay;
    a->values = attend_memory_zeroed((size_t)count, sizeof *a->values);
    for (int i = 0; a->values && i < count; i++) {
        const attend_param *p = attend_params_at(params, i);
        a->values[i] = attend_memory_aligned(p->size * sizeof(real));
        if (!a->values[i]) return attend_fail(ATTEND_NO_MEMORY, "no memory for averaged weights");
        if (!loaded_later) memcpy(a->values[i], p->value, p->size * sizeof(real));
    }
    return a->values ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for averaged weights");
}

void attend_weight_average_free(weight_average *a)
{
    for (int i = 0; a->values && i < attend_params_count(a->params); i++) attend_memory_free(a->values[i]);
    attend_memory_free(a->values);
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
    for (int i = 0; i < attend_params_count(u->a->params); i++) {
        const attend_param *p = attend_params_at(u->a->params, i);
        const size_t first = p->size * (size_t)part / (size_t)u->parts,
                     last = p->size * (size_t)(part + 1) / (size_t)u->parts;
        real *to = u->a->values[i];
        for (size_t j = first; j < last; j++) to[j] = u->decay * to[j] + (1 - u->decay) * p->value[j];
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
        for (size_t j = 0; j < p->size; j++) {
            const real x = p->value[j];
            p->value[j] = a->values[i][j];
            a->values[i][j] = x;
        }
        attend_param_changed(p);
    }
}
