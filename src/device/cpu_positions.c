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

typedef struct rotary_work {
    const device_rotary *r;
    const real *x;
    real *y;
    bool backward;
} rotary_work;

static void rotate_sequences(const void *user, size_t first, size_t count)
{
    const rotary_work *w = user;
    const device_rotary *r = w->r;
    const attend_kernel_table *k = attend_kernel();
    const attend_ragged *s = r->sequences;
    for (size_t b = first; b < first + count; b++)
        for (size_t t = 0; t < (size_t)s->lengths[b]; t++) {
            const size_t at = ((size_t)s->offsets[b] + t) * r->width, angle = t * r->head;
            for (size_t h = 0; h < r->width; h += r->head)
                (w->backward ? k->rotate_pairs_backward : k->rotate_pairs)(r->head, w->x + at + h, r->cosines + angle,
                                                                           r->sines + angle, w->y + at + h);
        }
}

/* The mean work of a sequence. */
static size_t sequence_cost(const attend_ragged *s, size_t width)
{
    return s->count > 0 ? (size_t)s->rows * width / (size_t)s->count : 0;
}

void attend_cpu_rotary(const attend_compute *c, const device_rotary *r, const real *x, real *y, bool backward)
{
    attend_cpu_rows(c, (size_t)r->sequences->count, 2 * sequence_cost(r->sequences, r->width), rotate_sequences,
                    &(rotary_work){ .r = r, .x = x, .y = y, .backward = backward });
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

typedef struct positions_work {
    const attend_ragged *s;
    size_t width;
    real scale;
    const real *rows, *x;
    real *y;
} positions_work;

static void add_to_sequences(const void *user, size_t first, size_t count)
{
    const positions_work *w = user;
    for (size_t b = first; b < first + count; b++) {
        const size_t at = (size_t)w->s->offsets[b] * w->width, n = (size_t)w->s->lengths[b] * w->width;
        if (n) memcpy(w->y + at, w->rows, n * sizeof(real));
        attend_kernel()->axpy(n, w->scale, w->x + at, w->y + at);
    }
}

void attend_cpu_add_positions(const attend_compute *c, const attend_ragged *s, size_t width, real scale,
                              const real *rows, const real *x, real *y)
{
    attend_cpu_rows(c, (size_t)s->count, 2 * sequence_cost(s, width), add_to_sequences,
                    &(positions_work){ .s = s, .width = width, .scale = scale, .rows = rows, .x = x, .y = y });
}

/* Columns: all sequences add to the same rows, in order. */
static void add_columns(const void *user, size_t first, size_t count)
{
    const positions_work *w = user;
    for (int b = 0; b < w->s->count; b++)
        for (size_t t = 0; t < (size_t)w->s->lengths[b]; t++)
            attend_kernel()->add(count, w->x + ((size_t)w->s->offsets[b] + t) * w->width + first,
                                 w->y + t * w->width + first);
}

void attend_cpu_add_positions_backward(const attend_compute *c, const attend_ragged *s, size_t width, const real *dy,
                                       real *drows)
{
    attend_cpu_columns(c, width, (size_t)s->rows, add_columns,
                       &(positions_work){ .s = s, .width = width, .x = dy, .y = drows });
}
