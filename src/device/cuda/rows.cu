/* rows.cu: rows that are copied, added and multiplied, and activation functions. */
#include "device/cuda/launch.h"

#include "device/cuda/row_groups.h"

/* ---- rows ---- */

__global__ void copy_rows(size_t n, size_t width, cuda_rows x, cuda_rows y)
{
    CUDA_EACH_ELEMENT(i, n, j, width)
    {
        const real *from = x.at(i);
        y.at(i)[j] = from ? from[j] : 0;
    }
}

void attend_cuda_copy(const attend_compute *c, size_t n, size_t width, device_input x, device_output y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n && width)
        CUDA_LAUNCH(copy_rows, CUDA_GRID(n, width), CUDA_COLUMNS(width), 0, n, width, cuda_input(&call, &x, n),
                    cuda_output(&call, &y, n));
}

__global__ void copy_pointers(size_t n, size_t width, const real *const *x, cuda_rows y)
{
    CUDA_EACH_ELEMENT(i, n, j, width)
    y.at(i)[j] = x[i] ? x[i][j] : 0;
}

void attend_cuda_copy_from(const attend_compute *c, size_t n, size_t width, const real *const *x, device_output y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n == 0 || width == 0) return;
    const real *const *pointers = static_cast<const real *const *>(call.upload(x, n * sizeof *x));
    if (!pointers) return cuda_fail("copying rows", "no memory for their addresses");
    CUDA_LAUNCH(copy_pointers, CUDA_GRID(n, width), CUDA_COLUMNS(width), 0, n, width, pointers,
                cuda_output(&call, &y, n));
}

__global__ void add_distinct(size_t n, size_t width, cuda_rows x, cuda_rows y)
{
    CUDA_EACH_ELEMENT(i, n, j, width)
    {
        const real *from = x.at(i);
        if (from) y.at(i)[j] += from[j];
    }
}

/* Each block adds the rows of one group, in their order, to the row of y that they share. */
__global__ void add_groups(row_groups g, size_t width, cuda_rows x, real *y, size_t stride)
{
    CUDA_EACH_BLOCK(group, g.count)
    {
        real *to = y + (size_t)g.targets[group] * stride;
        CUDA_EACH_THREAD(j, width)
        {
            real sum = to[j];
            for (int at = g.starts[group]; at < g.starts[group + 1]; at++) {
                const real *from = x.at((size_t)g.members[at]);
                if (from) sum += from[j];
            }
            to[j] = sum;
        }
    }
}

/* Sums of the columns of `rows` rows each; blockIdx.y is the number of the partial sum. */
enum { PARTIAL_ROWS = 64, PARTIAL_COLUMNS = 128 };

__global__ void column_partials(size_t n, size_t width, size_t rows, cuda_rows a, cuda_rows b, bool is_product,
                                real *partials)
{
    const size_t j = (size_t)blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * rows;
    if (j >= width) return;
    real sum = 0;
    for (size_t i = first; i < first + rows && i < n; i++) {
        const real *from = a.at(i);
        if (is_product)
            sum += from[j] * b.at(i)[j];
        else if (from)
            sum += from[j];
    }
    partials[blockIdx.y * width + j] = sum;
}

/* Each row of threads adds every LANES-th partial sum of its columns; the first adds the results. */
enum { LANES = 8, LANE_COLUMNS = 32 };

__global__ void add_partials(size_t count, size_t width, const real *partials, real *y)
{
    __shared__ real sums[LANES][LANE_COLUMNS];
    const size_t j = (size_t)blockIdx.x * LANE_COLUMNS + threadIdx.x;
    real sum = 0;
    for (size_t i = threadIdx.y; i < count && j < width; i += LANES) sum += partials[i * width + j];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || j >= width) return;
    for (int i = 1; i < LANES; i++) sum += sums[i][threadIdx.x];
    y[j] += sum;
}

/* y (width) += the sum of all rows of a, or of a b */
static void add_columns(cuda_call *call, size_t n, size_t width, cuda_rows a, cuda_rows b, bool is_product, real *y)
{
    size_t rows = PARTIAL_ROWS;
    while ((n + rows - 1) / rows > 512) rows *= 2;
    const size_t count = (n + rows - 1) / rows;
    real *partials = call->reals(count * width);
    if (!partials) return cuda_fail("a sum of rows", "no memory for partial sums");
    const dim3 grid((width + PARTIAL_COLUMNS - 1) / PARTIAL_COLUMNS, count);
    CUDA_LAUNCH(column_partials, grid, PARTIAL_COLUMNS, 0, n, width, rows, a, b, is_product, partials);
    CUDA_LAUNCH(add_partials, (unsigned)((width + LANE_COLUMNS - 1) / LANE_COLUMNS), dim3(LANE_COLUMNS, LANES), 0,
                count, width, partials, y);
}

void attend_cuda_add(const attend_compute *c, size_t n, size_t width, device_input x, device_output y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n == 0 || width == 0) return;
    const cuda_rows from = cuda_input(&call, &x, n);
    if (!y.rows && y.stride > 0) {
        CUDA_LAUNCH(add_distinct, CUDA_GRID(n, width), CUDA_COLUMNS(width), 0, n, width, from,
                    cuda_rows{ y.data, y.stride, nullptr });
    } else if (!y.rows || y.stride == 0) {
        add_columns(&call, n, width, from, from, false, y.data);
    } else {
        row_groups g;
        if (row_groups_new(&call, n, y.rows, &g))
            CUDA_LAUNCH(add_groups, cuda_blocks(g.count, 1), CUDA_THREADS, 0, g, width, from, y.data, y.stride);
    }
}

__global__ void multiply_rows(size_t n, size_t width, cuda_rows a, cuda_rows b, cuda_rows y, bool add)
{
    CUDA_EACH_ELEMENT(i, n, j, width)
    {
        const real product = a.at(i)[j] * b.at(i)[j];
        real *to = y.at(i) + j;
        *to = add ? *to + product : product;
    }
}

void attend_cuda_mul(const attend_compute *c, size_t n, size_t width, device_input a, device_input b, device_output y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n && width)
        CUDA_LAUNCH(multiply_rows, CUDA_GRID(n, width), CUDA_COLUMNS(width), 0, n, width, cuda_input(&call, &a, n),
                    cuda_input(&call, &b, n), cuda_output(&call, &y, n), false);
}

__global__ void multiply_groups(row_groups g, size_t width, cuda_rows a, cuda_rows b, real *y, size_t stride)
{
    CUDA_EACH_BLOCK(group, g.count)
    {
        real *to = y + (size_t)g.targets[group] * stride;
        CUDA_EACH_THREAD(j, width)
        {
            real sum = to[j];
            for (int at = g.starts[group]; at < g.starts[group + 1]; at++) {
                const size_t i = (size_t)g.members[at];
                sum += a.at(i)[j] * b.at(i)[j];
            }
            to[j] = sum;
        }
    }
}

void attend_cuda_mul_add(const attend_compute *c, size_t n, size_t width, device_input a, device_input b,
                         device_output y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n == 0 || width == 0) return;
    const cuda_rows x = cuda_input(&call, &a, n), z = cuda_input(&call, &b, n);
    if (!y.rows && y.stride > 0) {
        CUDA_LAUNCH(multiply_rows, CUDA_GRID(n, width), CUDA_COLUMNS(width), 0, n, width, x, z,
                    cuda_rows{ y.data, y.stride, nullptr }, true);
    } else if (!y.rows || y.stride == 0) {
        add_columns(&call, n, width, x, z, true, y.data);
    } else {
        row_groups g;
        if (row_groups_new(&call, n, y.rows, &g))
            CUDA_LAUNCH(multiply_groups, cuda_blocks(g.count, 1), CUDA_THREADS, 0, g, width, x, z, y.data, y.stride);
    }
}

/* ---- numbers ---- */

__global__ void fill_numbers(size_t n, real value, real *y)
{
    CUDA_EACH(i, n) y[i] = value;
}

void attend_cuda_fill(const attend_compute *c, size_t n, real value, real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(fill_numbers, cuda_blocks(n), CUDA_THREADS, 0, n, value, y);
}

__global__ void scale_numbers(size_t n, real a, const real *x, real *y)
{
    CUDA_EACH(i, n) y[i] = a * x[i];
}

void attend_cuda_scale(const attend_compute *c, size_t n, real a, const real *x, real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(scale_numbers, cuda_blocks(n), CUDA_THREADS, 0, n, a, x, y);
}

__global__ void axpy_numbers(size_t n, real a, const real *x, real *y)
{
    CUDA_EACH(i, n) y[i] += a * x[i];
}

void attend_cuda_axpy(const attend_compute *c, size_t n, real a, const real *x, real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(axpy_numbers, cuda_blocks(n), CUDA_THREADS, 0, n, a, x, y);
}

__global__ void add_number_to(size_t n, const real *number, real *y)
{
    CUDA_EACH(i, n) y[i] += *number;
}

void attend_cuda_add_number(const attend_compute *c, size_t n, const real *number, real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(add_number_to, cuda_blocks(n), CUDA_THREADS, 0, n, number, y);
}

__global__ void widen_numbers(size_t n, const float *x, real *y)
{
    CUDA_EACH(i, n) y[i] = (real)x[i];
}

void attend_cuda_widen(const attend_compute *c, size_t n, const float *x, real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(widen_numbers, cuda_blocks(n), CUDA_THREADS, 0, n, x, y);
}

/* One block: n is at most a few thousand. */
__global__ void sum_numbers(size_t n, const real *x, real *sum)
{
    __shared__ double slots[33];
    double total = 0;
    CUDA_EACH_THREAD(i, n) total += (double)x[i];
    total = cuda_block_sum(total, slots);
    if (threadIdx.x == 0) *sum = (real)total;
}

void attend_cuda_sum(const attend_compute *c, size_t n, const real *x, real *sum)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    CUDA_LAUNCH(sum_numbers, 1, CUDA_THREADS, 0, n, x, sum);
}

/* ---- a table of any precision ---- */

__global__ void gather_rows(size_t n, size_t width, const int *ids, device_table t, real *y)
{
    CUDA_EACH_ELEMENT(row, n, j, width)
    {
        const size_t i = (size_t)ids[row];
        y[row * width + j] = t.precision == ATTEND_FP32 ? t.value[i * width + j]
                             : t.precision == ATTEND_BFLOAT16
                                 ? cuda_bf16_value(static_cast<const uint16_t *>(t.quantized)[i * width + j])
                                 : (real) static_cast<const int8_t *>(t.quantized)[i * width + j] * (real)t.scales[i];
    }
}

void attend_cuda_gather(const attend_compute *c, size_t n, const int *ids, const device_table *table, size_t width,
                        real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n == 0 || width == 0) return;
    const int *rows = call.indices(ids, n);
    if (!rows) return cuda_fail("gathering rows", "no memory for their numbers");
    CUDA_LAUNCH(gather_rows, CUDA_GRID(n, width), CUDA_COLUMNS(width), 0, n, width, rows, *table, y);
}

/* ---- activation functions ---- */

static __device__ real normal_share(real x)
{
    return (real)0.5 * erfc(-x * (real)0.70710678118654752440);
}

static __device__ real relu(real x)
{
    return x > 0 || x != x ? x : 0;
}

static __device__ real activation(device_activation f, real x)
{
    switch (f) {
    case DEVICE_TANH:
        return tanh(x);
    case DEVICE_SIGMOID:
        return cuda_sigmoid(x);
    case DEVICE_RELU:
        return relu(x);
    case DEVICE_GELU:
        break;
    }
    return isinf(x) ? relu(x) : x * normal_share(x);
}

__global__ void activate(device_activation f, size_t n, const real *x, real *y)
{
    CUDA_EACH(i, n) y[i] = activation(f, x[i]);
}

void attend_cuda_activate(const attend_compute *c, device_activation f, size_t n, const real *x, real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(activate, cuda_blocks(n), CUDA_THREADS, 0, f, n, x, y);
}

__global__ void activate_backward(device_activation f, size_t n, const real *dy, const real *x, const real *y, real *dx)
{
    CUDA_EACH(i, n)
    {
        real slope = 0;
        switch (f) {
        case DEVICE_TANH:
            slope = 1 - y[i] * y[i];
            break;
        case DEVICE_SIGMOID:
            slope = y[i] * (1 - y[i]);
            break;
        case DEVICE_RELU:
            slope = y[i] > 0;
            break;
        case DEVICE_GELU: {
            const real v = x[i], bell = (real)0.39894228040143267794 * exp(-(real)0.5 * v * v);
            slope = isinf(v) ? (real)(v > 0) : normal_share(v) + v * bell;
            break;
        }
        }
        if (slope != 0 || f != DEVICE_RELU) dx[i] += dy[i] * slope;
    }
}

void attend_cuda_activate_backward(const attend_compute *c, device_activation f, size_t n, const real *dy,
                                   const real *x, const real *y, real *dx)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (n) CUDA_LAUNCH(activate_backward, cuda_blocks(n), CUDA_THREADS, 0, f, n, dy, x, y, dx);
}

/* ---- gated linear units ---- */

__global__ void swiglu(size_t rows, size_t width, const real *ab, real *y)
{
    CUDA_EACH(at, rows * width)
    {
        const real *a = ab + at / width * 2 * width + at % width;
        y[at] = a[0] * cuda_sigmoid(a[0]) * a[width];
    }
}

void attend_cuda_swiglu(const attend_compute *c, size_t rows, size_t width, const real *ab, real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (rows && width) CUDA_LAUNCH(swiglu, cuda_blocks(rows * width), CUDA_THREADS, 0, rows, width, ab, y);
}

__global__ void swiglu_backward(size_t rows, size_t width, const real *dy, const real *ab, real *dab)
{
    CUDA_EACH(at, rows * width)
    {
        const size_t first = at / width * 2 * width + at % width;
        const real a = ab[first], b = ab[first + width], s = cuda_sigmoid(a);
        dab[first] += dy[at] * b * s * (1 + a * (1 - s));
        dab[first + width] += dy[at] * a * s;
    }
}

void attend_cuda_swiglu_backward(const attend_compute *c, size_t rows, size_t width, const real *dy, const real *ab,
                                 real *dab)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (rows && width)
        CUDA_LAUNCH(swiglu_backward, cuda_blocks(rows * width), CUDA_THREADS, 0, rows, width, dy, ab, dab);
}
