/* launch.h: what the functions of the CUDA device share: calls, launches, scratch memory, and index arrays of the host.
 *
 * Order      All work of the process goes into one stream, so that memory may be reused as soon as the host has launched
 *            what reads it. A call holds the lock of the device while it launches.
 * Bits       No function uses floating-point atomics, and sums have an order that depends on shapes only.
 * Failure    A launch that fails is remembered (cuda_fault): later calls do nothing, and the library reports it where it
 *            reads results. */
#ifndef ATTEND_DEVICE_CUDA_LAUNCH_H
#define ATTEND_DEVICE_CUDA_LAUNCH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <vector>

extern "C" {
#include "device/functions.h"
#include "device/cuda/plugin.h"
#define ATTEND_PROTOTYPE(name, parameters, arguments)              void attend_cuda_##name parameters;
#define ATTEND_RESULT_PROTOTYPE(type, name, parameters, arguments) type attend_cuda_##name parameters;
ATTEND_DEVICE_FUNCTIONS(ATTEND_PROTOTYPE, ATTEND_RESULT_PROTOTYPE)
ATTEND_DEVICE_QUERIES(ATTEND_RESULT_PROTOTYPE)
#undef ATTEND_PROTOTYPE
#undef ATTEND_RESULT_PROTOTYPE
}

#ifdef ATTEND_CUDA_EMULATED
#include "device/cuda/emulation.h"
#else
#include <cuda_runtime.h>
/* Runs kernel(...) on `grid` blocks of `block` threads with `shared` bytes of dynamic shared memory. */
#define CUDA_LAUNCH(kernel, grid, block, shared, ...)                                                                  \
    do {                                                                                                               \
        if (cuda_is_well()) {                                                                                          \
            kernel<<<(grid), (block), (shared), (cudaStream_t)cuda_stream()>>>(__VA_ARGS__);                           \
            cuda_launched(#kernel);                                                                                    \
        }                                                                                                              \
    } while (0)
/* The dynamic shared memory of a block, as an array `name` of `type`. */
#define CUDA_SHARED(type, name)                                                                                        \
    extern __shared__ __align__(16) unsigned char cuda_shared_memory[];                                                \
    type *const name = reinterpret_cast<type *>(cuda_shared_memory)
#endif

/* ---- runtime.cu ---- */

bool cuda_is_well(void);
void *cuda_stream(void);
/* After a launch. */
void cuda_launched(const char *kernel);
/* Remembers a failure of the CUDA runtime; the first one counts. */
void cuda_fail(const char *what, const char *why);
/* Lets a kernel use this much dynamic shared memory (above 48 KiB it must be asked for); false: the GPU has less. */
bool cuda_allow_shared(const void *kernel, size_t bytes);
const cuda_scores *cuda_builtin_scores(void);
int cuda_multiprocessors(void);

/* A call of a device function: from its construction to its end the device is locked, and scratch memory is taken until
 * its end. */
enum cuda_failure { CUDA_CAN_FAIL, CUDA_CANNOT_FAIL };
class cuda_call
{
  public:
    /* CUDA_CANNOT_FAIL: the function has no result, so that tests do not refuse its memory, and lack of it is a fault. */
    explicit cuda_call(const attend_compute *c, cuda_failure failure = CUDA_CAN_FAIL);
    ~cuda_call();
    /* Device memory until the end of the call; NULL: memory ran out. */
    void *take(size_t bytes);
    real *reals(size_t n)
    {
        return static_cast<real *>(take(n * sizeof(real)));
    }
    /* A copy of host memory that kernels of this call can read; NULL only if more than 64 KiB do not fit. */
    const void *upload(const void *from, size_t bytes);
    const int *indices(const int *from, size_t n)
    {
        return from ? static_cast<const int *>(upload(from, n * sizeof(int))) : nullptr;
    }
    /* Copies to host memory; waits for the GPU. */
    void download(void *to, const void *from, size_t bytes);
    const attend_compute *compute;

  private:
    std::vector<void *> blocks;
    bool can_fail;
    cuda_call(const cuda_call &);
    cuda_call &operator=(const cuda_call &);
};

/* ---- sizes of launches ---- */

enum { CUDA_THREADS = 256 };

/* Blocks for n items of which a block takes `per` at once; kernels loop if there are more. */
static inline unsigned cuda_blocks(size_t n, size_t per = CUDA_THREADS)
{
    const size_t blocks = (n + per - 1) / per, most = (size_t)1 << 16;
    return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* for i in [0, n), divided among all threads of the grid */
#define CUDA_EACH(i, n)                                                                                                \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, cuda_step = (size_t)gridDim.x * blockDim.x;         \
         i < (n); i += cuda_step)
/* for row i and column j of (n, width): rows by gridDim.y, columns by the threads in x. Launched with CUDA_GRID(n, width),
 * CUDA_COLUMNS(width). Row indices are thus read once, and nothing is divided. */
#define CUDA_EACH_ELEMENT(i, n, j, width)                                                                              \
    for (size_t i = blockIdx.y; i < (n); i += gridDim.y)                                                               \
        for (size_t j = (size_t)blockIdx.x * blockDim.x + threadIdx.x, cuda_columns = (size_t)gridDim.x * blockDim.x;  \
             j < (width); j += cuda_columns)
static inline unsigned cuda_columns_of(size_t width)
{
    return width <= 32 ? 32 : width <= 64 ? 64 : width <= 128 ? 128 : CUDA_THREADS;
}
#define CUDA_COLUMNS(width) cuda_columns_of(width)
#define CUDA_GRID(n, width)                                                                                            \
    dim3((unsigned)(((width) + cuda_columns_of(width) - 1) / cuda_columns_of(width)),                                  \
         (unsigned)((n) < 65535 ? (n) : 65535))

/* for i in [0, n), divided among the blocks, or among the threads of a block */
#define CUDA_EACH_BLOCK(i, n)  for (size_t i = blockIdx.x; i < (n); i += gridDim.x)
#define CUDA_EACH_THREAD(i, n) for (size_t i = threadIdx.x; i < (n); i += blockDim.x)

/* ---- products (product.cu), within a call ---- */

/* C (m, n) = op(A) op(B), or += with `add`: rows lda, ldb, ldc apart. */
bool cuda_gemm(cuda_call *call, bool transpose_a, bool transpose_b, bool add, size_t m, size_t n, size_t k,
               const real *a, size_t lda, const real *b, size_t ldb, real *c, size_t ldc);
/* Y (m, n) = X W' with packed weights. */
bool cuda_product(cuda_call *call, packed_start start, const real *bias, size_t m, const real *x, size_t ldx,
                  const packed_matrix *w, real *y, size_t ldy);

/* ---- arithmetic in kernels ---- */

static __device__ __forceinline__ real cuda_sigmoid(real x)
{
    return 1 / (1 + exp(-x));
}

/* d s (1 - s): backward through s = sigmoid(.) */
static __device__ __forceinline__ real cuda_through_sigmoid(real d, real s)
{
    return d * (s * (1 - s));
}

static __device__ __forceinline__ real cuda_bf16_value(uint16_t x)
{
    union {
        uint32_t bits;
        float value;
    } u;
    u.bits = (uint32_t)x << 16;
    return (real)u.value;
}

/* Rounds to nearest, half to even; NaN stays NaN. */
static __device__ __forceinline__ uint16_t cuda_bf16(float x)
{
    union {
        float value;
        uint32_t bits;
    } u;
    u.value = x;
    if ((u.bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((u.bits >> 16) | 0x40);
    return (uint16_t)((u.bits + 0x7fffu + ((u.bits >> 16) & 1)) >> 16);
}

/* The sum, or the maximum, over the threads of a block, for all of them. `slots` is shared memory for 33 numbers; blocks
 * have whole warps. The order of the sum depends on the size of the block only. */
template <class T> static __device__ T cuda_block_sum(T x, T *slots)
{
    for (int d = 16; d > 0; d >>= 1) x += __shfl_xor_sync(0xffffffffu, x, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = x;
    __syncthreads();
    T sum = 0;
    for (unsigned i = 0; i < blockDim.x / 32; i++) sum += slots[i];
    return sum;
}

template <class T> static __device__ T cuda_larger(T a, T b)
{
    return isnan(a) || isnan(b) ? a + b : a > b ? a : b; /* NaN if either is */
}

template <class T> static __device__ T cuda_block_max(T x, T *slots)
{
    for (int d = 16; d > 0; d >>= 1) x = cuda_larger(x, (T)__shfl_xor_sync(0xffffffffu, x, d));
    __syncthreads();
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = x;
    __syncthreads();
    T largest = slots[0];
    for (unsigned i = 1; i < blockDim.x / 32; i++) largest = cuda_larger(largest, slots[i]);
    return largest;
}

/* The same over the 32 lanes of a warp. */
template <class T> static __device__ T cuda_warp_sum(T x)
{
    for (int d = 16; d > 0; d >>= 1) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

template <class T> static __device__ T cuda_warp_max(T x)
{
    for (int d = 16; d > 0; d >>= 1) x = cuda_larger(x, (T)__shfl_xor_sync(0xffffffffu, x, d));
    return x;
}

/* Rows of device_input and device_output for kernels, with their indices on the device. */
struct cuda_rows {
    real *data;
    size_t stride;
    const int *rows;
    __device__ real *at(size_t i) const
    {
        if (!rows) return data + i * stride;
        return rows[i] < 0 ? nullptr : data + (size_t)rows[i] * stride;
    }
};

static inline cuda_rows cuda_input(cuda_call *call, const device_input *x, size_t n)
{
    return cuda_rows{ const_cast<real *>(x->data), x->stride, call->indices(x->rows, n) };
}

static inline cuda_rows cuda_output(cuda_call *call, const device_output *y, size_t n)
{
    return cuda_rows{ y->data, y->stride, call->indices(y->rows, n) };
}

#endif
