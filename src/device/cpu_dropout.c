/* cpu_dropout.c: dropout masks, for each number or for each sequence. */
#include "device/cpu.h"

typedef struct mask_work {
    const attend_rng *r;
    double p;
    unsigned char *mask;
} mask_work;

static void draw(const void *user, size_t first, size_t count)
{
    const mask_work *w = user;
    attend_kernel()->dropout_mask(w->r, first, count, w->p, w->mask + first);
}

void attend_cpu_dropout_mask(const attend_compute *c, const attend_rng *r, size_t n, double p, unsigned char *mask)
{
    enum { COST = 4 };
    attend_cpu_numbers(c, n, COST, draw, &(mask_work){ .r = r, .p = p, .mask = mask });
}

/* y (= or +=) x * mask * scale */
typedef struct dropout_work {
    const device_dropout *d;
    const real *x;
    real *y;
    bool add;
} dropout_work;

static void apply(const dropout_work *w, size_t n, const unsigned char *mask, size_t at)
{
    const attend_kernel_table *k = attend_kernel();
    (w->add ? k->apply_dropout_add : k->apply_dropout)(n, mask, w->d->scale, w->x + at, w->y + at);
}

static void apply_numbers(const void *user, size_t first, size_t count)
{
    const dropout_work *w = user;
    apply(w, count, w->d->mask + first, first);
}

/* Sequences, whose rows share a mask. */
static void apply_sequences(const void *user, size_t first, size_t count)
{
    const dropout_work *w = user;
    const device_dropout *d = w->d;
    for (size_t b = first; b < first + count; b++)
        for (size_t i = 0; i < (size_t)d->sequences->lengths[b]; i++)
            apply(w, d->width, d->mask + b * d->width, ((size_t)d->sequences->offsets[b] + i) * d->width);
}

void attend_cpu_dropout(const attend_compute *c, const device_dropout *d, const real *x, real *y, bool add)
{
    const dropout_work w = { .d = d, .x = x, .y = y, .add = add };
    if (!d->sequences)
        attend_cpu_numbers(c, d->n, 1, apply_numbers, &w);
    else if (d->sequences->count > 0)
        attend_cpu_rows(c, (size_t)d->sequences->count, d->n / (size_t)d->sequences->count, apply_sequences, &w);
}
