/* dropout.cu: dropout masks, for each number or for each sequence. */
#include "device/cuda/random.h"

#include "device/cuda/sequences.h"

__global__ void draw_mask(attend_rng r, size_t n, uint64_t dropped, unsigned char *mask)
{
    CUDA_EACH(block, (n + 3) / 4)
    {
        uint32_t four[4];
        cuda_random_block(r, (uint32_t)block, four);
        for (size_t i = 0; i < 4 && 4 * block + i < n; i++) mask[4 * block + i] = four[i] >= dropped;
    }
}

void attend_cuda_dropout_mask(const attend_compute *c, const attend_rng *r, size_t n, double p, unsigned char *mask)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(draw_mask, cuda_blocks((n + 3) / 4), CUDA_THREADS, 0, *r, n, (uint64_t)(p * 4294967296.0), mask);
}

__global__ void apply_mask(size_t n, size_t width, const unsigned char *mask, const int *sequence_of, real scale,
                           const real *x, real *y, bool add)
{
    CUDA_EACH(i, n)
    {
        const size_t at = sequence_of ? (size_t)sequence_of[i / width] * width + i % width : i;
        const real kept = mask[at] ? scale * x[i] : 0;
        y[i] = add ? y[i] + kept : kept;
    }
}

void attend_cuda_dropout(const attend_compute *c, const device_dropout *d, const real *x, real *y, bool add)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    const int *sequence_of = nullptr;
    if (d->n == 0) return;
    if (d->sequences && !(sequence_of = cuda_sequence_of_rows(&call, d->sequences))) return;
    CUDA_LAUNCH(apply_mask, cuda_blocks(d->n), CUDA_THREADS, 0, d->n, d->width, d->mask, sequence_of, d->scale, x, y,
                add);
}
