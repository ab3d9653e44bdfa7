/* losses.cu: cross-entropy (op/cross_entropy.c has the formulas) and the alignment loss (op/alignment_loss.c). */
#include "device/cuda/launch.h"

/* ---- cross-entropy ---- */

/* The block of a row: its loss (without scale) in losses[row]. */
__global__ void entropy_rows(device_loss l, const int *targets, double *losses)
{
    __shared__ real slots[33];
    __shared__ double wide_slots[33];
    CUDA_EACH_BLOCK(row, l.rows)
    {
        real *x = l.logits + row * l.width;
        const int target = targets[row];
        if (target < 0) {
            if (threadIdx.x == 0) {
                losses[row] = 0;
                if (l.nll) l.nll[row] = 0;
            }
            continue;
        }
        real largest = -(real)INFINITY;
        double all = 0, sum = 0;
        CUDA_EACH_THREAD(j, l.width)
        {
            largest = cuda_larger(largest, x[j]);
            all += (double)x[j];
        }
        largest = cuda_block_max(largest, slots);
        const double at_target = (double)x[target] - (double)largest;
        const double mean = l.smoothing > 0 ? cuda_block_sum(all, wide_slots) / (double)l.width - (double)largest : 0;
        __syncthreads(); /* all have read x[target] */
        CUDA_EACH_THREAD(j, l.width)
        {
            x[j] = exp(x[j] - largest);
            sum += (double)x[j];
        }
        sum = cuda_block_sum(sum, wide_slots);
        if (threadIdx.x == 0) {
            const double log_sum = log(sum);
            l.inverse_sums[row] = (real)(1 / sum);
            if (l.nll) l.nll[row] = (real)(log_sum - at_target);
            losses[row] = log_sum - (1 - l.smoothing) * at_target - l.smoothing * mean;
        }
    }
}

/* *sum = scale times the sum of x, by one block */
__global__ void sum_losses(size_t n, const double *x, double scale, real *sum)
{
    __shared__ double slots[33];
    double total = 0;
    CUDA_EACH_THREAD(i, n) total += x[i];
    total = cuda_block_sum(total, slots);
    if (threadIdx.x == 0) *sum = (real)(scale * total);
}

void attend_cuda_cross_entropy(const attend_compute *c, const device_loss *l)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    const int *targets = call.indices(l->targets, l->rows);
    double *losses = static_cast<double *>(call.take(l->rows * sizeof *losses));
    if (!targets || !losses) return cuda_fail("a loss", "no memory for the losses of rows");
    if (l->rows) CUDA_LAUNCH(entropy_rows, cuda_blocks(l->rows, 1), CUDA_COLUMNS(l->width), 0, *l, targets, losses);
    CUDA_LAUNCH(sum_losses, 1, CUDA_THREADS, 0, l->rows, losses, l->scale, l->loss);
}

__global__ void entropy_rows_backward(device_loss l, const int *targets)
{
    const double scale = l.scale * (double)*l.dloss;
    const real spread = (real)(-scale * l.smoothing / (double)l.width);
    CUDA_EACH_BLOCK(row, l.rows)
    {
        real *x = l.logits + row * l.width;
        const int target = targets[row];
        const real factor = target < 0 ? 0 : (real)scale * l.inverse_sums[row];
        CUDA_EACH_THREAD(j, l.width)
        {
            if (target < 0)
                x[j] = 0;
            else
                x[j] = spread + factor * x[j] - ((int)j == target ? (real)(scale * (1 - l.smoothing)) : 0);
        }
    }
}

void attend_cuda_cross_entropy_backward(const attend_compute *c, const device_loss *l)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    const int *targets = call.indices(l->targets, l->rows);
    if (!targets) return cuda_fail("a loss", "no memory for its targets");
    if (l->rows) CUDA_LAUNCH(entropy_rows_backward, cuda_blocks(l->rows, 1), CUDA_COLUMNS(l->width), 0, *l, targets);
}

/* ---- alignment loss ---- */

/* Weight (b, i, j) of the first head; those of the other heads follow at a distance of `area`. */
static __device__ size_t first_head(const device_alignment &l, size_t pair)
{
    return pair / l.area * l.area * l.heads + pair % l.area;
}

static __device__ double mean_weight(const device_alignment &l, size_t pair)
{
    double sum = 0;
    size_t at = first_head(l, pair);
    for (size_t h = 0; h < l.heads; h++, at += l.area) sum += (double)l.weights[at];
    return sum / (double)l.heads;
}

static const unsigned ALIGNMENT_BLOCKS = 256; /* at most */

__global__ void alignment_partials(device_alignment l, double *partials)
{
    __shared__ double slots[33];
    double sum = 0;
    CUDA_EACH(i, l.batch * l.area)
    if (l.reference[i] != 0) sum -= (double)l.reference[i] * log(mean_weight(l, i) + 1e-6);
    sum = cuda_block_sum(sum, slots);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

void attend_cuda_alignment_loss(const attend_compute *c, const device_alignment *l)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    const unsigned all = cuda_blocks(l->batch * l->area), blocks = all < ALIGNMENT_BLOCKS ? all : ALIGNMENT_BLOCKS;
    double *partials = static_cast<double *>(call.take(blocks * sizeof *partials));
    if (!partials) return cuda_fail("a loss", "no memory for partial sums");
    CUDA_LAUNCH(alignment_partials, blocks, CUDA_THREADS, 0, *l, partials);
    CUDA_LAUNCH(sum_losses, 1, CUDA_THREADS, 0, (size_t)blocks, partials, l->scale, l->loss);
}

__global__ void alignment_backward(device_alignment l)
{
    const double scale = l.scale * (double)*l.dloss / (double)l.heads;
    CUDA_EACH(i, l.batch * l.area)
    {
        if (l.reference[i] == 0) continue;
        const real d = (real)(-scale * (double)l.reference[i] / (mean_weight(l, i) + 1e-6));
        size_t at = first_head(l, i);
        for (size_t h = 0; h < l.heads; h++, at += l.area) l.dweights[at] += d;
    }
}

void attend_cuda_alignment_loss_backward(const attend_compute *c, const device_alignment *l)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (l->batch > 0 && l->area > 0)
        CUDA_LAUNCH(alignment_backward, cuda_blocks(l->batch * l->area), CUDA_THREADS, 0, *l);
}
