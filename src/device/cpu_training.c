/* cpu_training.c: sums of gradients, updates of parameters, and moving averages. Except for sums of squares, the callers divide
 * the work among threads: each element is computed on its own. */
#include "device/cpu.h"

#include <string.h>

typedef struct squares_work {
    const real *const *x;
    const size_t *sizes;
    double *sums;
} squares_work;

static void sum_ranges(const void *user, size_t first, size_t count)
{
    const squares_work *w = user;
    for (size_t i = first; i < first + count; i++) w->sums[i] = attend_kernel()->sum_squares(w->sizes[i], w->x[i]);
}

void attend_cpu_sum_squares(const attend_compute *c, size_t n, const real *const *x, const size_t *sizes,
                            device_sums sums)
{
    attend_cpu_rows(c, n, n ? sizes[0] : 0, sum_ranges, &(squares_work){ .x = x, .sizes = sizes, .sums = sums.host });
}

/* Block by block, so that a block stays in the first-level cache between both steps. */
void attend_cpu_merge(const attend_compute *c, size_t n, real *x, real *sum)
{
    enum { BLOCK = 2048 };
    (void)c;
    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t count = n - at < BLOCK ? n - at : BLOCK;
        attend_kernel()->add(count, x + at, sum + at);
        memset(x + at, 0, count * sizeof *x);
    }
}

void attend_cpu_adam(const attend_compute *c, size_t n, const adam_settings *s, const real *g, real *m, real *v,
                     real *x)
{
    (void)c;
    attend_kernel()->adam(n, s, g, m, v, x);
}

void attend_cpu_sgd(const attend_compute *c, size_t n, const adam_settings *s, real momentum, const real *g,
                    real *velocity, real *x)
{
    (void)c;
    for (size_t i = 0; i < n; i++) {
        real v = g[i] * s->scale;
        if (velocity) v = velocity[i] = momentum * velocity[i] + v;
        x[i] -= s->rate * (v + s->decay * x[i]);
    }
}

void attend_cpu_average(const attend_compute *c, size_t n, real decay, const real *x, real *y)
{
    (void)c;
    for (size_t i = 0; i < n; i++) y[i] = decay * y[i] + (1 - decay) * x[i];
}

void attend_cpu_swap(const attend_compute *c, size_t n, real *x, real *y)
{
    (void)c;
    for (size_t i = 0; i < n; i++) {
        const real z = x[i];
        x[i] = y[i];
        y[i] = z;
    }
}
