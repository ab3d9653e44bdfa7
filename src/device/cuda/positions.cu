/* positions.cu: sinusoidal and learned positional encodings, and rotary embeddings. Angles are computed in double, as on the
 * CPU. */
#include "device/cuda/sequences.h"

/* 10000^(-2i / width): the angle of pair i per position. */
static __device__ double frequency_of(size_t i, size_t width)
{
    return pow(10000.0, -2.0 * (double)i / (double)width);
}

__global__ void rotary_angles(size_t positions, size_t width, int first, real *cosines, real *sines)
{
    CUDA_EACH(n, positions * (width / 2))
    {
        const size_t t = n / (width / 2), i = n % (width / 2), at = t * width + 2 * i;
        const double angle = ((double)first + (double)t) * frequency_of(i, width);
        cosines[at] = cosines[at + 1] = (real)cos(angle);
        sines[at + 1] = (real)sin(angle);
        sines[at] = -sines[at + 1];
    }
}

void attend_cuda_rotary_angles(const attend_compute *c, size_t positions, size_t width, int first, real *cosines,
                               real *sines)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (positions && width > 1)
        CUDA_LAUNCH(rotary_angles, cuda_blocks(positions * (width / 2)), CUDA_THREADS, 0, positions, width, first,
                    cosines, sines);
}

__global__ void rotate_rows(size_t n, size_t width, size_t head, const int *position, const real *cosines,
                            const real *sines, const real *x, real *y, bool backward)
{
    CUDA_EACH_ELEMENT(row, n, column, width)
    {
        const size_t at = row * width + column, j = column % head, angle = (size_t)position[row] * head + j;
        const real other = x[j % 2 ? at - 1 : at + 1];
        if (backward)
            y[at] += cosines[angle] * x[at] - sines[angle] * other;
        else
            y[at] = cosines[angle] * x[at] + sines[angle] * other;
    }
}

void attend_cuda_rotary(const attend_compute *c, const device_rotary *r, const real *x, real *y, bool backward)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    const size_t n = (size_t)r->sequences->rows;
    if (n == 0 || r->width == 0) return;
    const int *position = cuda_position_of_rows(&call, r->sequences);
    if (position)
        CUDA_LAUNCH(rotate_rows, CUDA_GRID(n, r->width), CUDA_COLUMNS(r->width), 0, n, r->width, r->head, position,
                    r->cosines, r->sines, x, y, backward);
}

__global__ void sinusoid_rows(size_t positions, size_t width, int first, real *rows)
{
    CUDA_EACH(at, positions * width)
    {
        const size_t t = at / width, j = at % width;
        const double angle = ((double)first + (double)t) * frequency_of(j / 2, width);
        rows[at] = (real)(j % 2 ? cos(angle) : sin(angle));
    }
}

void attend_cuda_sinusoids(const attend_compute *c, size_t positions, size_t width, int first, real *rows)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (positions && width)
        CUDA_LAUNCH(sinusoid_rows, cuda_blocks(positions * width), CUDA_THREADS, 0, positions, width, first, rows);
}

__global__ void add_position_rows(size_t n, size_t width, const int *position, real scale, const real *rows,
                                  const real *x, real *y)
{
    CUDA_EACH_ELEMENT(i, n, j, width)
    y[i * width + j] = rows[(size_t)position[i] * width + j] + scale * x[i * width + j];
}

void attend_cuda_add_positions(const attend_compute *c, const attend_ragged *s, size_t width, real scale,
                               const real *rows, const real *x, real *y)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    const size_t n = (size_t)s->rows;
    if (n == 0 || width == 0) return;
    const int *position = cuda_position_of_rows(&call, s);
    if (position)
        CUDA_LAUNCH(add_position_rows, CUDA_GRID(n, width), CUDA_COLUMNS(width), 0, n, width, position, scale, rows, x,
                    y);
}

/* Each block adds position t of all sequences, in order. */
__global__ void add_to_positions(int count, int max_length, const int *lengths, const int *offsets, size_t width,
                                 const real *dy, real *drows)
{
    CUDA_EACH_BLOCK(t, (size_t)max_length)
    CUDA_EACH_THREAD(j, width)
    {
        real sum = drows[t * width + j];
        for (int b = 0; b < count; b++)
            if (t < (size_t)lengths[b]) sum += dy[((size_t)offsets[b] + t) * width + j];
        drows[t * width + j] = sum;
    }
}

void attend_cuda_add_positions_backward(const attend_compute *c, const attend_ragged *s, size_t width, const real *dy,
                                        real *drows)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (s->rows == 0 || width == 0) return;
    const int *lengths = call.indices(s->lengths, (size_t)s->count),
              *offsets = call.indices(s->offsets, (size_t)s->count);
    if (!lengths || !offsets) return cuda_fail("positions", "no memory for the lengths of sequences");
    CUDA_LAUNCH(add_to_positions, cuda_blocks((size_t)s->max_length, 1), CUDA_THREADS, 0, s->count, s->max_length,
                lengths, offsets, width, dy, drows);
}
