/* beam_attention.cu: attention of hypotheses to the cached rows of their tokens. A block has one head of one hypothesis. */
#include "device/cuda/attention_math.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 128, MAX_ROW_BYTES = 40 << 10 };

struct beam {
    device_beam b; /* with index arrays in device memory; lists are max_length apart */
    real *scratch; /* (blocks, max_length), or NULL: shared memory */
};

static __device__ const real *row_at(const device_beam &b, int row)
{
    return b.blocks[(size_t)row / b.block] + (size_t)row % b.block * b.row_stride;
}

/* w = softmax(scale q . k_j) */
static __device__ void weights_of(const device_beam &b, const int *rows, int tokens, const real *query, size_t key,
                                  real *w, real *slots)
{
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32), warps = (int)(blockDim.x / 32);
    for (int j = warp; j < tokens; j += warps) {
        const real *k = row_at(b, rows[j]) + key;
        real sum = 0;
        for (int x = lane; x < (int)b.width; x += 32) sum += query[x] * k[x];
        sum = cuda_warp_sum(sum);
        if (lane == 0) w[j] = sum * b.scale;
    }
    __syncthreads();
    real max = (real)-INFINITY, sum = 0;
    for (int j = (int)threadIdx.x; j < tokens; j += (int)blockDim.x) max = cuda_larger(max, w[j]);
    max = cuda_block_max(max, slots);
    for (int j = (int)threadIdx.x; j < tokens; j += (int)blockDim.x) sum += w[j] = cuda_exp(w[j] - max);
    const real normalizer = 1 / cuda_block_sum(sum, slots);
    for (int j = (int)threadIdx.x; j < tokens; j += (int)blockDim.x) w[j] *= normalizer;
    __syncthreads();
}

__global__ void __launch_bounds__(THREADS) beam_attention(const beam s)
{
    const device_beam &b = s.b;
    CUDA_SHARED(real, shared);
    __shared__ real slots[34], parts[THREADS];
    const int width = (int)b.width, lanes = width < THREADS ? (width + 31) / 32 * 32 : THREADS;
    const int groups = THREADS / lanes, g = (int)threadIdx.x / lanes, lane = (int)threadIdx.x % lanes;
    real *const w = s.scratch ? s.scratch + (size_t)blockIdx.x * b.max_length : shared;
    CUDA_EACH_BLOCK(item, b.count * b.heads)
    {
        const size_t i = item / b.heads, at = item % b.heads * b.width;
        const int tokens = b.lengths[i], *rows = b.rows + i * b.list_stride;
        __syncthreads();
        weights_of(b, rows, tokens, b.query + i * b.query_stride + at, b.key + at, w, slots);
        real *context = b.context + i * b.context_stride + at;
        for (int from = 0; from < width; from += lanes) {
            const int x = from + lane;
            real sum = 0;
            if (x < width && g < groups)
                for (int j = g; j < tokens; j += groups) sum += w[j] * row_at(b, rows[j])[b.value + at + (size_t)x];
            __syncthreads();
            parts[threadIdx.x] = sum;
            __syncthreads();
            if (g == 0)
                for (int k = 1; k < groups; k++) sum += parts[k * lanes + lane];
            if (g == 0 && x < width) context[x] = sum;
        }
        if (b.weights) CUDA_EACH_THREAD(j, b.max_length)
        b.weights[item * b.max_length + j] = (int)j < tokens ? w[j] : 0;
    }
}

/* Blocks, lists and lengths in one piece of device memory: the blocks first, which are aligned like pointers. */
static bool upload(cuda_call *call, const device_beam *b, beam *s)
{
    int last = 0;
    for (size_t i = 0; i < b->count; i++)
        for (int j = 0; j < b->lengths[i]; j++)
            if (b->rows[i * b->list_stride + (size_t)j] > last) last = b->rows[i * b->list_stride + (size_t)j];
    const size_t blocks = (size_t)last / b->block + 1, ints = b->count * (b->max_length + 1);
    const size_t bytes = blocks * sizeof *b->blocks + ints * sizeof(int);
    unsigned char *const packed = static_cast<unsigned char *>(malloc(bytes));
    if (!packed) return false;
    memcpy(packed, b->blocks, blocks * sizeof *b->blocks);
    int *lengths = reinterpret_cast<int *>(packed + blocks * sizeof *b->blocks), *rows = lengths + b->count;
    memcpy(lengths, b->lengths, b->count * sizeof(int));
    for (size_t i = 0; i < b->count; i++)
        memcpy(rows + i * b->max_length, b->rows + i * b->list_stride, (size_t)b->lengths[i] * sizeof(int));
    const unsigned char *at = static_cast<const unsigned char *>(call->upload(packed, bytes));
    free(packed);
    s->b = *b;
    s->b.blocks = reinterpret_cast<const real *const *>(at);
    s->b.lengths = reinterpret_cast<const int *>(at + blocks * sizeof *b->blocks);
    s->b.rows = s->b.lengths + b->count, s->b.list_stride = b->max_length;
    return at != nullptr;
}

bool attend_cuda_beam_attention(const attend_compute *c, const device_beam *b)
{
    cuda_call call(c);
    beam s;
    if (b->count == 0 || b->heads == 0) return true;
    if (!upload(&call, b, &s)) return false;
    size_t blocks = cuda_blocks(b->count * b->heads, 1), shared = b->max_length * sizeof(real);
    s.scratch = nullptr;
    if (shared > MAX_ROW_BYTES) {
        if (blocks > 1024) blocks = 1024;
        shared = 0, s.scratch = call.reals(blocks * b->max_length);
        if (!s.scratch) return false;
    }
    CUDA_LAUNCH(beam_attention, (unsigned)blocks, THREADS, shared, s);
    return true;
}
