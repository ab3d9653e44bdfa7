/* norm.cu: layer normalisation of rows. */
#include "device/cuda/launch.h"

/* A block for each row. */
__global__ void layer_norm(device_layer_norm l)
{
    __shared__ real slots[33];
    CUDA_EACH_BLOCK(i, l.rows)
    {
        const real *x = l.x + i * l.width;
        real sum = 0, squares = 0;
        CUDA_EACH_THREAD(j, l.width) sum += x[j];
        const real mean = cuda_block_sum(sum, slots) / (real)l.width;
        CUDA_EACH_THREAD(j, l.width) squares += (x[j] - mean) * (x[j] - mean);
        const real rstd = 1 / sqrt(cuda_block_sum(squares, slots) / (real)l.width + l.epsilon);
        CUDA_EACH_THREAD(j, l.width)
        l.y[i * l.width + j] = l.gain[j] * ((x[j] - mean) * rstd) + l.bias[j];
        if (threadIdx.x == 0) l.statistics[2 * i] = mean, l.statistics[2 * i + 1] = rstd;
    }
}

void attend_cuda_layer_norm(const attend_compute *c, const device_layer_norm *l)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (l->rows && l->width) CUDA_LAUNCH(layer_norm, cuda_blocks(l->rows, 1), CUDA_COLUMNS(l->width), 0, *l);
}

__global__ void inputs_backward(device_layer_norm l)
{
    __shared__ real slots[33];
    CUDA_EACH_BLOCK(i, l.rows)
    {
        const real *x = l.x + i * l.width, *dy = l.dy + i * l.width;
        const real mean = l.statistics[2 * i], rstd = l.statistics[2 * i + 1];
        real sum = 0, product = 0;
        CUDA_EACH_THREAD(j, l.width)
        {
            const real d = dy[j] * l.gain[j];
            sum += d;
            product += d * ((x[j] - mean) * rstd);
        }
        sum = cuda_block_sum(sum, slots) / (real)l.width;
        product = cuda_block_sum(product, slots) / (real)l.width;
        CUDA_EACH_THREAD(j, l.width)
        {
            const real normal = (x[j] - mean) * rstd;
            l.dx[i * l.width + j] += rstd * (dy[j] * l.gain[j] - sum - normal * product);
        }
    }
}

/* Partial sums of the columns of dgain and dbias: blockIdx.y has `rows` rows. */
__global__ void parameter_partials(device_layer_norm l, size_t rows, real *partials)
{
    const size_t j = (size_t)blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * rows;
    if (j >= l.width) return;
    real gain = 0, bias = 0;
    for (size_t i = first; i < first + rows && i < l.rows; i++) {
        const real d = l.dy[i * l.width + j];
        gain += d * ((l.x[i * l.width + j] - l.statistics[2 * i]) * l.statistics[2 * i + 1]);
        bias += d;
    }
    partials[(size_t)2 * blockIdx.y * l.width + j] = gain;
    partials[((size_t)2 * blockIdx.y + 1) * l.width + j] = bias;
}

__global__ void add_parameters(device_layer_norm l, size_t count, const real *partials)
{
    CUDA_EACH(j, l.width)
    {
        real gain = 0, bias = 0;
        for (size_t i = 0; i < count; i++) {
            gain += partials[2 * i * l.width + j];
            bias += partials[(2 * i + 1) * l.width + j];
        }
        if (l.dgain) l.dgain[j] += gain;
        if (l.dbias) l.dbias[j] += bias;
    }
}

void attend_cuda_layer_norm_backward(const attend_compute *c, const device_layer_norm *l)
{
    enum { COLUMNS = 128 };
    cuda_call call(c);
    if (l->rows == 0 || l->width == 0) return;
    if (l->dx) CUDA_LAUNCH(inputs_backward, cuda_blocks(l->rows, 1), CUDA_COLUMNS(l->width), 0, *l);
    if (!l->dgain && !l->dbias) return;
    size_t rows = 64;
    while ((l->rows + rows - 1) / rows > 256) rows *= 2;
    const size_t count = (l->rows + rows - 1) / rows;
    real *partials = call.reals(2 * count * l->width);
    if (!partials) return cuda_fail("layer normalisation", "no memory for partial sums");
    CUDA_LAUNCH(parameter_partials, dim3((l->width + COLUMNS - 1) / COLUMNS, count), COLUMNS, 0, *l, rows, partials);
    CUDA_LAUNCH(add_parameters, cuda_blocks(l->width), CUDA_THREADS, 0, *l, count, partials);
}
