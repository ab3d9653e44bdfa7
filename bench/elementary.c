/* elementary.c: exp, tanh and sigmoid of a million floats, compared with a loop over libm. */
#include "bench.h"

#include "kernel/kernel.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000000 };
static float *x, *y;

static void libm_exp(void *unused)
{
    (void)unused;
    for (int i = 0; i < N; i++) y[i] = expf(x[i]);
}

static void libm_tanh(void *unused)
{
    (void)unused;
    for (int i = 0; i < N; i++) y[i] = tanhf(x[i]);
}

static void libm_sigmoid(void *unused)
{
    (void)unused;
    for (int i = 0; i < N; i++) y[i] = 1 / (1 + expf(-x[i]));
}

static void ours_exp(void *unused)
{
    (void)unused;
    attend_kernel()->exp(N, x, y);
}

static void ours_tanh(void *unused)
{
    (void)unused;
    attend_kernel()->tanh(N, x, y);
}

static void ours_sigmoid(void *unused)
{
    (void)unused;
    attend_kernel()->sigmoid(N, x, y);
}

void bench_elementary(bench *b)
{
    static const struct {
        const char *name;
        work ours, theirs;
        double goal;
    } functions[] = { { "tanh", { ours_tanh, NULL }, { libm_tanh, NULL }, 10 },
                      { "exp", { ours_exp, NULL }, { libm_exp, NULL }, 0 },
                      { "sigmoid", { ours_sigmoid, NULL }, { libm_sigmoid, NULL }, 0 } };
    x = bench_random_floats(N), y = bench_random_floats(N);
    for (int i = 0; i < N; i++) x[i] *= 5;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        double seconds[2];
        bench_measure(b, 2, (const work[]){ functions[i].ours, functions[i].theirs }, seconds);
        result r = { .group = "elementary functions, 1e6 floats, 1 thread", .goal = functions[i].goal };
        snprintf(r.name, sizeof r.name, "%s", functions[i].name);
        snprintf(r.measured, sizeof r.measured, "%.2f per ns", N / seconds[0] * 1e-9);
        snprintf(r.reference, sizeof r.reference, "%.2f per ns, libm", N / seconds[1] * 1e-9);
        r.ratio = seconds[1] / seconds[0];
        bench_report(b, &r);
    }
    free(x), free(y);
}
