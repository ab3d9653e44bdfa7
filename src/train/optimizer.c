/* optimizer.c: SGD with momentum, and Adam (Kingma, Ba 2015) with decoupled weight decay (Loshchilov, Hutter 2019).
 * Each element is updated on its own, so that the result does not depend on the number of threads. A rank of several
 * updates the parameters that it owns, and has the moments of these. */
#include "core/memory.h"
#include "core/status.h"
#include "device/device.h"
#include "train/number_array.h"
#include "train/rank_parameters.h"
#include "train/team.h"
#include <math.h>

struct attend_optimizer {
    attend_team *team;
    int count; /* parameters */
    attend_optimizer_options options;
    uint64_t steps;
    number_array *first, *second; /* by parameter: moments of Adam; first: velocity of SGD with momentum */
    adam_settings step;           /* of the current step; SGD uses its scale, rate and decay */
    int parts;
};

void attend_optimizer_free(attend_optimizer *o)
{
    if (!o) return;
    attend_number_arrays_free(o->first, o->count);
    attend_number_arrays_free(o->second, o->count);
    attend_memory_free(o);
}

static bool in_unit(double x)
{
    return x >= 0 && x < 1;
}

static int check(const attend_optimizer_options *o)
{
    if (o->kind != ATTEND_SGD && o->kind != ATTEND_ADAM)
        return attend_fail(ATTEND_BAD_USAGE, "there is no optimizer of kind %d", (int)o->kind);
    if (!in_unit(o->momentum) || !in_unit(o->beta1) || !in_unit(o->beta2))
        return attend_fail(ATTEND_BAD_USAGE, "momentum %g, beta1 %g and beta2 %g must lie in [0, 1)", o->momentum,
                           o->beta1, o->beta2);
    if (!(o->epsilon > 0) || !(o->weight_decay >= 0))
        return attend_fail(ATTEND_BAD_USAGE, "epsilon %g must be above 0, weight decay %g must be at least 0",
                           o->epsilon, o->weight_decay);
    return ATTEND_OK;
}

int attend_optimizer_new(attend_optimizer **out, attend_team *t, const attend_optimizer_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && t && options);
    *out = NULL;
    int status = check(options);
    if (status != ATTEND_OK) return status;
    attend_optimizer *o = attend_memory_zeroed(1, sizeof *o);
    if (!o) return attend_fail(ATTEND_NO_MEMORY, "no memory for an optimizer");
    o->team = t;
    o->count = t->count;
    o->options = *options;
    bool adam = options->kind == ATTEND_ADAM, velocity = adam || options->momentum > 0;
    if (velocity) o->first = attend_number_arrays_new(t->params, &t->pieces);
    if (adam) o->second = attend_number_arrays_new(t->params, &t->pieces);
    if ((velocity && !o->first) || (adam && !o->second)) {
        attend_optimizer_free(o);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for the optimizer's %zu numbers",
                           attend_params_size(t->params));
    }
    *out = o;
    return ATTEND_OK;
}

static void run_part(void *user, int part)
{
    attend_optimizer *o = user;
    const attend_compute compute = { 0 }; /* the parts run on threads already */
    for (int i = 0; i < o->count; i++) {
        attend_param *p = o->team->params->list[i];
        const element_range own = attend_pieces_own(&o->team->pieces, i);
        const size_t size = own.last - own.first, first = size * (size_t)part / (size_t)o->parts,
                     last = size * (size_t)(part + 1) / (size_t)o->parts;
        const real *g = o->team->total->entries[i].value + own.first + first;
        real *x = p->value + own.first + first, *m = o->first ? o->first[i].data + first : NULL;
        const attend_device *d = attend_device_at(p->memory);
        if (o->options.kind == ATTEND_SGD)
            d->sgd(&compute, last - first, &o->step, (real)o->options.momentum, g, m, x);
        else
            d->adam(&compute, last - first, &o->step, g, m, o->second[i].data + first, x);
    }
}

int attend_optimizer_step(attend_optimizer *o, double rate, double max_norm, double *norm)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, o);
    if (!(rate >= 0)) return attend_fail(ATTEND_BAD_USAGE, "the learning rate %g is negative or not a number", rate);
    if (o->team->params->count != o->count)
        return attend_fail(ATTEND_BAD_USAGE, "the team was created for %d parameters, and now there are %d", o->count,
                           o->team->params->count);
    double length;
    int status = attend_team_measure_norm(o->team, &length);
    if (norm) *norm = length;
    if (status != ATTEND_OK || !isfinite(length)) return status;

    const attend_optimizer_options *s = &o->options;
    o->steps++;
    o->step = (adam_settings){
        .scale = (real)(max_norm > 0 && length > max_norm ? max_norm / length : 1),
        .rate = (real)rate,
        .beta1 = (real)s->beta1,
        .rest1 = (real)(1 - s->beta1),
        .beta2 = (real)s->beta2,
        .rest2 = (real)(1 - s->beta2),
        .correction1 = (real)(1 / (1 - pow(s->beta1, (double)o->steps))),
        .correction2 = (real)(1 / (1 - pow(s->beta2, (double)o->steps))),
        .epsilon = (real)s->epsilon,
        .decay = (real)s->weight_decay,
    };
    o->parts = o->team->total->memory->is_wide ? 1 : 4 * attend_pool_threads(o->team->pool);
    attend_pool_run(o->team->pool, o->parts, run_part, o);
    status = attend_rank_parameters_gather(o->team);
    for (int i = 0; i < o->count; i++) attend_param_computed(o->team->params->list[i]);
    return status;
}

uint64_t attend_optimizer_steps(const attend_optimizer *o)
{
    ATTEND_REQUIRE(0, o);
    return o->steps;
}

void attend_optimizer_set_steps(attend_optimizer *o, uint64_t steps)
{
    ATTEND_REQUIRE_VOID(o);
    o->steps = steps;
}

static number_array *moment_of(const attend_optimizer *o, int parameter, int which)
{
    number_array *all = which == 0 ? o->first : which == 1 ? o->second : NULL;
    return all && parameter >= 0 && parameter < o->count ? &all[parameter] : NULL;
}

number_array *attend_optimizer_array(attend_optimizer *o, int parameter, int which)
{
    return moment_of(o, parameter, which);
}

const real *attend_optimizer_moment(const attend_optimizer *o, int parameter, int which)
{
    ATTEND_REQUIRE(NULL, o);
    number_array *moment = moment_of(o, parameter, which);
    return moment ? attend_number_array_read(moment) : NULL;
}

int attend_optimizer_set_moment(attend_optimizer *o, int parameter, int which, const real *values)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, o && values);
    number_array *moment = moment_of(o, parameter, which);
    if (!moment)
        return attend_fail(ATTEND_BAD_USAGE, "the optimizer has no moment %d of parameter %d", which, parameter);
    attend_number_array_write(moment, values);
    return ATTEND_OK;
}
