/* training.cu: sums of gradients, updates of parameters, and moving averages. */
#include "device/cuda/launch.h"

#include <stdlib.h>

/* Partial sums of squares: a block for each BLOCK numbers of a range, so that the order of a sum depends on its length
 * only. */
enum { BLOCK = 16384 };

struct squares_range {
    const real *x;
    size_t size, first_block;
};

__global__ void square_partials(size_t ranges, const squares_range *all, double *partials)
{
    __shared__ double slots[33];
    size_t low = 0, high = ranges; /* the range of this block: the last with first_block <= blockIdx.x */
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (all[middle].first_block <= blockIdx.x)
            low = middle;
        else
            high = middle;
    }
    const squares_range r = all[low];
    const size_t first = (blockIdx.x - r.first_block) * BLOCK, end = r.size - first < BLOCK ? r.size : first + BLOCK;
    double sum = 0;
    for (size_t i = first + threadIdx.x; i < end; i += blockDim.x) sum += (double)r.x[i] * (double)r.x[i];
    sum = cuda_block_sum(sum, slots);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/* A warp for each range. */
__global__ void add_squares(size_t ranges, const squares_range *all, size_t blocks, const double *partials,
                            double *sums)
{
    CUDA_EACH_BLOCK(i, ranges)
    {
        const size_t end = i + 1 < ranges ? all[i + 1].first_block : blocks;
        double sum = 0;
        for (size_t j = all[i].first_block + threadIdx.x; j < end; j += 32) sum += partials[j];
        sum = cuda_warp_sum(sum);
        if (threadIdx.x == 0) sums[i] = sum;
    }
}

/* All ranges, in two launches and one copy. */
static bool sum_ranges(cuda_call *call, size_t n, const real *const *x, const size_t *sizes, double *sums)
{
    squares_range *ranges = static_cast<squares_range *>(malloc(n * sizeof *ranges));
    size_t blocks = 0;
    for (size_t i = 0; ranges && i < n; i++) {
        ranges[i] = squares_range{ x[i], sizes[i], blocks };
        blocks += sizes[i] ? (sizes[i] + BLOCK - 1) / BLOCK : 1;
    }
    const squares_range *on_gpu =
        ranges ? static_cast<const squares_range *>(call->upload(ranges, n * sizeof *ranges)) : nullptr;
    free(ranges);
    double *partials = static_cast<double *>(call->take((blocks + n) * sizeof *partials)), *totals = partials + blocks;
    if (!on_gpu || !partials) return false;
    CUDA_LAUNCH(square_partials, (unsigned)blocks, CUDA_THREADS, 0, n, on_gpu, partials);
    CUDA_LAUNCH(add_squares, cuda_blocks(n, 1), 32, 0, n, on_gpu, blocks, partials, totals);
    call->download(sums, totals, n * sizeof *sums);
    return true;
}

void attend_cuda_sum_squares(const attend_compute *c, size_t n, const real *const *x, const size_t *sizes,
                             device_sums sums)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n && !sum_ranges(&call, n, x, sizes, sums.host)) {
        for (size_t i = 0; i < n; i++) sums.host[i] = NAN;
        cuda_fail("a norm", "no memory for partial sums");
    }
}

__global__ void merge_numbers(size_t n, real *x, real *sum)
{
    CUDA_EACH(i, n)
    {
        sum[i] += x[i];
        x[i] = 0;
    }
}

void attend_cuda_merge(const attend_compute *c, size_t n, real *x, real *sum)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(merge_numbers, cuda_blocks(n), CUDA_THREADS, 0, n, x, sum);
}

__global__ void adam_numbers(size_t n, adam_settings s, const real *g, real *m, real *v, real *x)
{
    CUDA_EACH(i, n)
    {
        const real d = s.scale * g[i];
        const real first = s.beta1 * m[i] + s.rest1 * d, second = s.beta2 * v[i] + s.rest2 * d * d;
        m[i] = first, v[i] = second;
        x[i] -= s.rate * (first * s.correction1 / (sqrt(second * s.correction2) + s.epsilon) + s.decay * x[i]);
    }
}

void attend_cuda_adam(const attend_compute *c, size_t n, const adam_settings *s, const real *g, real *m, real *v,
                      real *x)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(adam_numbers, cuda_blocks(n), CUDA_THREADS, 0, n, *s, g, m, v, x);
}

__global__ void sgd_numbers(size_t n, adam_settings s, real momentum, const real *g, real *velocity, real *x)
{
    CUDA_EACH(i, n)
    {
        real v = g[i] * s.scale;
        if (velocity) v = velocity[i] = momentum * velocity[i] + v;
        x[i] -= s.rate * (v + s.decay * x[i]);
    }
}

void attend_cuda_sgd(const attend_compute *c, size_t n, const adam_settings *s, real momentum, const real *g,
                     real *velocity, real *x)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(sgd_numbers, cuda_blocks(n), CUDA_THREADS, 0, n, *s, momentum, g, velocity, x);
}

__global__ void average_numbers(size_t n, real decay, const real *x, real *y)
{
    CUDA_EACH(i, n) y[i] = decay * y[i] + (1 - decay) * x[i];
}

void attend_cuda_average(const attend_compute *c, size_t n, real decay, const real *x, real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(average_numbers, cuda_blocks(n), CUDA_THREADS, 0, n, decay, x, y);
}

__global__ void swap_numbers(size_t n, real *x, real *y)
{
    CUDA_EACH(i, n)
    {
        const real z = x[i];
        x[i] = y[i];
        y[i] = z;
    }
}

void attend_cuda_swap(const attend_compute *c, size_t n, real *x, real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(swap_numbers, cuda_blocks(n), CUDA_THREADS, 0, n, x, y);
}
