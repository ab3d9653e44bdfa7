/* cpu_swiglu.c: gated linear units on rows [a, b]. */
#include "device/cpu.h"

typedef struct units {
    size_t width;
    const real *dy, *ab;
    real *y, *dab;
} units;

static void forward(const void *user, size_t first, size_t count)
{
    const units *u = user;
    for (size_t i = first; i < first + count; i++) {
        const real *a = u->ab + 2 * i * u->width;
        attend_kernel()->swiglu(u->width, a, a + u->width, u->y + i * u->width);
    }
}

static void backward(const void *user, size_t first, size_t count)
{
    const units *u = user;
    for (size_t i = first; i < first + count; i++) {
        const real *a = u->ab + 2 * i * u->width;
        real *d = u->dab + 2 * i * u->width;
        attend_kernel()->swiglu_backward(u->width, u->dy + i * u->width, a, a + u->width, d, d + u->width);
    }
}

void attend_cpu_swiglu(const attend_compute *c, size_t rows, size_t width, const real *ab, real *y)
{
    attend_cpu_rows(c, rows, 4 * width, forward, &(units){ .width = width, .ab = ab, .y = y });
}

void attend_cpu_swiglu_backward(const attend_compute *c, size_t rows, size_t width, const real *dy, const real *ab,
                                real *dab)
{
    attend_cpu_rows(c, rows, 4 * width, backward, &(units){ .width = width, .dy = dy, .ab = ab, .dab = dab });
}
