/* cpu_dropout.c: dropout masks, for each number or for each sequence. */
#include "device/cpu.h"

void attend_cpu_dropout_mask(const attend_compute *c, const attend_rng *r, size_t n, double p, unsigned char *mask)
{
    (void)c;
    attend_kernel()->dropout_mask(r, 0, n, p, mask);
}

/* y (= or +=) x * mask * scale for `rows` rows that share one mask. */
static void apply(size_t rows, size_t width, const unsigned char *mask, real scale, const real *x, real *y, bool add)
{
    const attend_kernel_table *k = attend_kernel();
    for (size_t i = 0; i < rows; i++)
        (add ? k->apply_dropout_add : k->apply_dropout)(width, mask, scale, x + i * width, y + i * width);
}

void attend_cpu_dropout(const attend_compute *c, const device_dropout *d, const real *x, real *y, bool add)
{
    (void)c;
    if (!d->sequences) {
        apply(1, d->n, d->mask, d->scale, x, y, add);
        return;
    }
    for (int b = 0; b < d->sequences->count; b++) {
        const size_t at = (size_t)d->sequences->offsets[b] * d->width;
        apply((size_t)d->sequences->lengths[b], d->width, d->mask + (size_t)b * d->width, d->scale, x + at, y + at,
              add);
    }
}
