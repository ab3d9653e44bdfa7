/* cpu_positions.c: sinusoidal and learned positional encodings, and rotary embeddings. Angles are computed in double and
 * rounded at the end, because position times frequency needs more digits than float has. */
#include "device/cpu.h"

#include <math.h>
#include <string.h>

/* 10000^(-2i / width): the angle of pair i per position. */
static double frequency_of(size_t i, size_t width)
{
    return pow(10000, -2.0 * (double)i / (double)width);
}

/* ---- rotary ---- */

/* In the form that rotate_pairs (kernel.h) needs. */
void attend_cpu_rotary_angles(const attend_compute *c, size_t positions, size_t width, int first, real *cosines,
                              real *sines)
{
    (void)c;
    for (size_t i = 0; i < width / 2; i++) {
        const double frequency = frequency_of(i, width);
        for (size_t t = 0; t < positions; t++) {
            const double angle = ((double)first + (double)t) * frequency;
            const size_t at = t * width + 2 * i;
            cosines[at] = cosines[at + 1] = (real)cos(angle);
            sines[at + 1] = (real)sin(angle);
            sines[at] = -sines[at + 1];
        }
    }
}

void attend_cpu_rotary(const attend_compute *c, const device_rotary *r, const real *x, real *y, bool backward)
{
    (void)c;
    const attend_kernel_table *k = attend_kernel();
    const attend_ragged *s = r->sequences;
    for (int b = 0; b < s->count; b++)
        for (size_t t = 0; t < (size_t)s->lengths[b]; t++) {
            const size_t at = ((size_t)s->offsets[b] + t) * r->width, angle = t * r->head;
            for (size_t h = 0; h < r->width; h += r->head)
                (backward ? k->rotate_pairs_backward : k->rotate_pairs)(r->head, x + at + h, r->cosines + angle,
                                                                        r->sines + angle, y + at + h);
        }
}

/* ---- added encodings ---- */

void attend_cpu_sinusoids(const attend_compute *c, size_t positions, size_t width, int first, real *rows)
{
    (void)c;
    for (size_t j = 0; j < width; j++) {
        const double frequency = frequency_of(j / 2, width);
        for (size_t t = 0; t < positions; t++) {
            const double angle = ((double)first + (double)t) * frequency;
            rows[t * width + j] = (real)(j % 2 ? cos(angle) : sin(angle));
        }
    }
}

void attend_cpu_add_positions(const attend_compute *c, const attend_ragged *s, size_t width, real scale,
                              const real *rows, const real *x, real *y)
{
    (void)c;
    for (int b = 0; b < s->count; b++) {
        const size_t at = (size_t)s->offsets[b] * width, n = (size_t)s->lengths[b] * width;
        if (n) memcpy(y + at, rows, n * sizeof(real));
        attend_kernel()->axpy(n, scale, x + at, y + at);
    }
}

void attend_cpu_add_positions_backward(const attend_compute *c, const attend_ragged *s, size_t width, const real *dy,
                                       real *drows)
{
    (void)c;
    for (int b = 0; b < s->count; b++)
        for (size_t t = 0; t < (size_t)s->lengths[b]; t++)
            attend_kernel()->add(width, dy + ((size_t)s->offsets[b] + t) * width, drows + t * width);
}
