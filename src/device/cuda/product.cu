/* product.cu: matrix products. Large ones are cuBLAS's, with a workspace and an order of work that do not change from run to
 * run.
 *
 * Packed weights are a copy of op(B) (k, n): fp32 in rows of n; bf16 likewise, in bf16; int8 as (n, k padded to a multiple
 * of 4), for the dot products of four bytes. */
#include "device/cuda/launch.h"
#include "device/cuda/runtime.h"

#ifndef ATTEND_CUDA_EMULATED
#include <cublas_v2.h>
#endif

enum { INT8_STEP = 4, TILE = 16 };

static size_t int8_row(size_t k)
{
    return (k + INT8_STEP - 1) / INT8_STEP * INT8_STEP;
}

/* The precision in which a product runs. */
static attend_compute_precision precision_of(const attend_compute *c)
{
    return sizeof(real) == sizeof(float) ? c->precision : ATTEND_COMPUTE_FP32;
}

/* ---- C = alpha op(A) op(B) + beta C, of rows ---- */

typedef enum factor_type { FACTORS_REAL, FACTORS_BF16 } factor_type;

#ifdef ATTEND_CUDA_EMULATED

extern "C" bool cuda_products_open(void)
{
    return true;
}

static real number_at(const void *x, factor_type type, size_t at)
{
    return type == FACTORS_BF16 ? cuda_bf16_value(static_cast<const uint16_t *>(x)[at])
                                : static_cast<const real *>(x)[at];
}

static void multiply(const attend_compute *, factor_type type, bool ta, bool tb, bool add, size_t m, size_t n, size_t k,
                     const void *a, size_t lda, const void *b, size_t ldb, real *c, size_t ldc)
{
    for (size_t i = 0; i < m && cuda_is_well(); i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t l = 0; l < k; l++)
                sum += (double)number_at(a, type, ta ? l * lda + i : i * lda + l) *
                       (double)number_at(b, type, tb ? j * ldb + l : l * ldb + j);
            c[i * ldc + j] = (real)sum + (add ? c[i * ldc + j] : 0);
        }
}

#else

static cublasHandle_t handle;

static bool ok(cublasStatus_t status, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS) return true;
    cuda_fail(what, cublasGetStatusString(status));
    return false;
}

extern "C" bool cuda_products_open(void)
{
    enum { WORKSPACE = 64 << 20 };
    void *workspace = nullptr;
    if (cudaMalloc(&workspace, WORKSPACE) != cudaSuccess) {
        cuda_fail("the workspace of cuBLAS", "no memory on the GPU");
        return false;
    }
    return ok(cublasCreate(&handle), "cuBLAS") && ok(cublasSetStream(handle, (cudaStream_t)cuda_stream()), "cuBLAS") &&
           ok(cublasSetWorkspace(handle, workspace, WORKSPACE), "cuBLAS") &&
           ok(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_NOT_ALLOWED), "cuBLAS");
}

/* Rows are columns for cuBLAS: C' = op(B)' op(A)'. */
static void multiply(const attend_compute *compute, factor_type type, bool ta, bool tb, bool add, size_t m, size_t n,
                     size_t k, const void *a, size_t lda, const void *b, size_t ldb, real *c, size_t ldc)
{
    const real one = 1, beta = add ? 1 : 0;
    const cudaDataType numbers = sizeof(real) == 8 ? CUDA_R_64F : CUDA_R_32F;
    const cudaDataType factors = type == FACTORS_BF16 ? CUDA_R_16BF : numbers;
    const cublasComputeType_t computation = sizeof(real) == 8      ? CUBLAS_COMPUTE_64F
                                            : type == FACTORS_BF16 ? CUBLAS_COMPUTE_32F
                                            : precision_of(compute) == ATTEND_COMPUTE_TF32
                                                ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                : CUBLAS_COMPUTE_32F_PEDANTIC;
    if (!cuda_is_well()) return;
    ok(cublasGemmEx(handle, tb ? CUBLAS_OP_T : CUBLAS_OP_N, ta ? CUBLAS_OP_T : CUBLAS_OP_N, (int)n, (int)m, (int)k,
                    &one, b, factors, (int)ldb, a, factors, (int)lda, &beta, c, numbers, (int)ldc, computation,
                    CUBLAS_GEMM_DEFAULT),
       "a product of cuBLAS");
    cuda_launched(type == FACTORS_BF16 ? "cublas bf16" : ta ? "cublas A'B" : tb ? "cublas AB'" : "cublas AB");
}

#endif

/* ---- conversions ---- */

__global__ void round_rows(size_t rows, size_t columns, const real *x, size_t ldx, uint16_t *y)
{
    CUDA_EACH_ELEMENT(i, rows, j, columns) y[i * columns + j] = cuda_bf16((float)x[i * ldx + j]);
}

/* A (rows, columns) in bf16, contiguous; NULL: memory ran out. */
static const uint16_t *rounded(cuda_call *call, size_t rows, size_t columns, const real *x, size_t ldx)
{
    uint16_t *y = static_cast<uint16_t *>(call->take(rows * columns * sizeof *y));
    if (y && rows && columns)
        CUDA_LAUNCH(round_rows, CUDA_GRID(rows, columns), CUDA_COLUMNS(columns), 0, rows, columns, x, ldx, y);
    return y;
}

__global__ void clear_rows(size_t rows, size_t columns, real *y, size_t ldy)
{
    CUDA_EACH_ELEMENT(i, rows, j, columns) y[i * ldy + j] = 0;
}

bool cuda_gemm(cuda_call *call, bool transpose_a, bool transpose_b, bool add, size_t m, size_t n, size_t k,
               const real *a, size_t lda, const real *b, size_t ldb, real *c, size_t ldc)
{
    if (m == 0 || n == 0) return true;
    if (k == 0) {
        if (!add) CUDA_LAUNCH(clear_rows, CUDA_GRID(m, n), CUDA_COLUMNS(n), 0, m, n, c, ldc);
        return true;
    }
    if (precision_of(call->compute) != ATTEND_COMPUTE_BF16) {
        multiply(call->compute, FACTORS_REAL, transpose_a, transpose_b, add, m, n, k, a, lda, b, ldb, c, ldc);
        return true;
    }
    const size_t a_rows = transpose_a ? k : m, a_columns = transpose_a ? m : k, b_rows = transpose_b ? n : k,
                 b_columns = transpose_b ? k : n;
    const uint16_t *x = rounded(call, a_rows, a_columns, a, lda), *y = rounded(call, b_rows, b_columns, b, ldb);
    if (!x || !y) return false;
    multiply(call->compute, FACTORS_BF16, transpose_a, transpose_b, add, m, n, k, x, a_columns, y, b_columns, c, ldc);
    return true;
}

bool attend_cuda_gemm(const attend_compute *c, const device_gemm *g)
{
    cuda_call call(c);
    return cuda_gemm(&call, g->transpose_a, g->transpose_b, g->start == PACKED_ADD, g->m, g->n, g->k, g->a, g->lda,
                     g->b, g->ldb, g->c, g->ldc);
}

/* ---- packed weights ---- */

const void *attend_cuda_packed_layout(void)
{
    static const char layout = 0;
    return &layout;
}

/* How the numbers of packed weights are stored. */
static attend_precision stored_as(attend_precision weights, const attend_compute *c)
{
    if (weights == ATTEND_INT8) return ATTEND_INT8;
    if (sizeof(real) == sizeof(float) && (weights == ATTEND_BFLOAT16 || precision_of(c) == ATTEND_COMPUTE_BF16))
        return ATTEND_BFLOAT16;
    return ATTEND_FP32;
}

size_t attend_cuda_packed_bytes(const attend_compute *c, attend_precision precision, size_t k, size_t n)
{
    switch (stored_as(precision, c)) {
    case ATTEND_INT8:
        return n * int8_row(k) + 1;
    case ATTEND_BFLOAT16:
        return (n * k + 1) * sizeof(uint16_t);
    case ATTEND_FP32:
        break;
    }
    return (n * k + 1) * sizeof(real);
}

static __device__ void store_weight(real x, real *to)
{
    *to = x;
}

static __device__ void store_weight(real x, uint16_t *to)
{
    *to = cuda_bf16((float)x);
}

static __device__ void store_weight(uint16_t x, uint16_t *to)
{
    *to = x;
}

static __device__ void store_weight(uint16_t x, real *to)
{
    *to = cuda_bf16_value(x);
}

/* to (k, n) = w, which with `transpose` is (n, k); through shared memory, so that rows are read and written whole. */
enum { TURN = 32, TURN_ROWS = 8 };
template <class From, class To> __global__ void turn_weights(bool transpose, size_t k, size_t n, const From *w, To *to)
{
    __shared__ From tile[TURN][TURN + 1];
    const size_t column = (size_t)blockIdx.x * TURN, row = (size_t)blockIdx.y * TURN; /* of op(B) */
    for (unsigned i = threadIdx.y; i < TURN; i += TURN_ROWS) {
        const size_t r = transpose ? column + i : row + i, j = (transpose ? row : column) + threadIdx.x;
        if (r < (transpose ? n : k) && j < (transpose ? k : n)) tile[i][threadIdx.x] = w[r * (transpose ? k : n) + j];
    }
    __syncthreads();
    for (unsigned i = threadIdx.y; i < TURN; i += TURN_ROWS) {
        const size_t r = row + i, j = column + threadIdx.x;
        if (r < k && j < n) store_weight(transpose ? tile[threadIdx.x][i] : tile[i][threadIdx.x], to + r * n + j);
    }
}

/* (n, k) -> (n, k padded) */
__global__ void pad_bytes(size_t k, size_t n, size_t row, const int8_t *w, int8_t *to)
{
    CUDA_EACH(at, n * row) to[at] = at % row < k ? w[at / row * k + at % row] : (int8_t)0;
}

void attend_cuda_pack(const attend_compute *c, attend_precision precision, bool transpose, size_t k, size_t n,
                      const void *w, void *packed)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    if (k == 0 || n == 0) return;
    const attend_precision to = stored_as(precision, c);
    const dim3 grid((n + TURN - 1) / TURN, (k + TURN - 1) / TURN), block(TURN, TURN_ROWS);
    const real *numbers = static_cast<const real *>(w);
    const uint16_t *halves = static_cast<const uint16_t *>(w);
    if (to == ATTEND_INT8)
        CUDA_LAUNCH(pad_bytes, cuda_blocks(n * int8_row(k)), CUDA_THREADS, 0, k, n, int8_row(k),
                    static_cast<const int8_t *>(w), static_cast<int8_t *>(packed));
    else if (precision == ATTEND_BFLOAT16 && to == ATTEND_BFLOAT16)
        CUDA_LAUNCH((turn_weights<uint16_t, uint16_t>), grid, block, 0, true, k, n, halves,
                    static_cast<uint16_t *>(packed));
    else if (precision == ATTEND_BFLOAT16)
        CUDA_LAUNCH((turn_weights<uint16_t, real>), grid, block, 0, true, k, n, halves, static_cast<real *>(packed));
    else if (to == ATTEND_BFLOAT16)
        CUDA_LAUNCH((turn_weights<real, uint16_t>), grid, block, 0, transpose, k, n, numbers,
                    static_cast<uint16_t *>(packed));
    else
        CUDA_LAUNCH((turn_weights<real, real>), grid, block, 0, transpose, k, n, numbers, static_cast<real *>(packed));
}

__global__ void pack_column_numbers(size_t k, size_t all, size_t n, const int *columns, const real *from, real *to)
{
    CUDA_EACH(at, k * n) to[at] = from[at / n * all + (size_t)columns[at % n]];
}

__global__ void pack_column_halves(size_t k, size_t all, size_t n, const int *columns, const uint16_t *from,
                                   uint16_t *to)
{
    CUDA_EACH(at, k * n) to[at] = from[at / n * all + (size_t)columns[at % n]];
}

__global__ void pack_column_bytes(size_t row, size_t n, const int *columns, const int8_t *from, int8_t *to)
{
    CUDA_EACH(at, n * row) to[at] = from[(size_t)columns[at / row] * row + at % row];
}

void attend_cuda_pack_columns(const attend_compute *c, const packed_matrix *from, size_t n, const int *columns,
                              void *packed)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    const size_t k = from->k, row = int8_row(k);
    const int *on_gpu = call.indices(columns, n);
    if (!on_gpu) return cuda_fail("packing columns", "no memory for their numbers");
    const attend_compute own = { nullptr, nullptr, from->compute };
    if (n == 0 || k == 0) return;
    switch (stored_as(from->precision, &own)) {
    case ATTEND_INT8:
        CUDA_LAUNCH(pack_column_bytes, cuda_blocks(n * row), CUDA_THREADS, 0, row, n, on_gpu,
                    static_cast<const int8_t *>(from->data), static_cast<int8_t *>(packed));
        break;
    case ATTEND_BFLOAT16:
        CUDA_LAUNCH(pack_column_halves, cuda_blocks(n * k), CUDA_THREADS, 0, k, from->n, n, on_gpu,
                    static_cast<const uint16_t *>(from->data), static_cast<uint16_t *>(packed));
        break;
    case ATTEND_FP32:
        CUDA_LAUNCH(pack_column_numbers, cuda_blocks(n * k), CUDA_THREADS, 0, k, from->n, n, on_gpu,
                    static_cast<const real *>(from->data), static_cast<real *>(packed));
        break;
    }
}

/* ---- products with packed weights ---- */

__global__ void set_bias(size_t rows, size_t columns, const real *bias, real *y, size_t ldy)
{
    CUDA_EACH_ELEMENT(i, rows, j, columns) y[i * ldy + j] = bias[j];
}

/* Rows of activations in 8 bits, as the kernels of the CPU quantise them: x = scale q, q in [-127, 127]. The sums of 133,000
 * products of them fit 32 bits; wider rows do not occur. */
__global__ void quantize_rows(size_t k, size_t row, const real *x, size_t ldx, int8_t *q, real *scales)
{
    __shared__ real slots[33];
    const real *from = x + blockIdx.x * ldx;
    real largest = 0;
    CUDA_EACH_THREAD(i, k) largest = cuda_larger(largest, (real)fabs(from[i]));
    largest = cuda_block_max(largest, slots);
    const real scale = largest / 127, inverse = 127 / largest;
    const bool is_zero = !(scale > 0) || !isfinite(inverse) || !isfinite(largest);
    CUDA_EACH_THREAD(i, row)
    q[blockIdx.x * row + i] = i < k && !is_zero ? (int8_t)(int)rint(from[i] * inverse) : (int8_t)0;
    if (threadIdx.x == 0) scales[blockIdx.x] = isfinite(largest) ? is_zero ? 0 : scale : (real)NAN;
}

__global__ void multiply_bytes(packed_start start, const real *bias, size_t m, size_t n, size_t row, const int8_t *a,
                               const real *a_scales, const int8_t *b, const real *b_scales, real *y, size_t ldy)
{
    __shared__ int left[TILE][TILE + 1], right[TILE][TILE + 1];
    const size_t i = (size_t)blockIdx.y * TILE + threadIdx.y, j = (size_t)blockIdx.x * TILE + threadIdx.x;
    const size_t other = (size_t)blockIdx.x * TILE + threadIdx.y, words = row / INT8_STEP;
    int sum = 0;
    for (size_t first = 0; first < words; first += TILE) {
        const size_t l = first + threadIdx.x;
        left[threadIdx.y][threadIdx.x] = i < m && l < words ? reinterpret_cast<const int *>(a + i * row)[l] : 0;
        right[threadIdx.y][threadIdx.x] =
            other < n && l < words ? reinterpret_cast<const int *>(b + other * row)[l] : 0;
        __syncthreads();
        for (int t = 0; t < TILE; t++) sum = __dp4a(left[threadIdx.y][t], right[threadIdx.x][t], sum);
        __syncthreads();
    }
    if (i >= m || j >= n) return;
    real *to = y + i * ldy + j;
    const real product = (real)sum * (a_scales[i] * b_scales[j]);
    *to = start == PACKED_ADD ? *to + product : start == PACKED_BIAS ? bias[j] + product : product;
}

static bool product_of_bytes(cuda_call *call, packed_start start, const real *bias, size_t m, const real *x, size_t ldx,
                             const packed_matrix *w, real *y, size_t ldy)
{
    const size_t row = int8_row(w->k);
    int8_t *q = static_cast<int8_t *>(call->take(m * row + 1));
    real *scales = call->reals(m);
    if (!q || !scales) return false;
    CUDA_LAUNCH(quantize_rows, (unsigned)m, CUDA_THREADS, 0, w->k, row, x, ldx, q, scales);
    const dim3 grid((w->n + TILE - 1) / TILE, (m + TILE - 1) / TILE), block(TILE, TILE);
    CUDA_LAUNCH(multiply_bytes, grid, block, 0, start, bias, m, w->n, row, q, scales,
                static_cast<const int8_t *>(w->data), w->scales, y, ldy);
    return true;
}

bool cuda_product(cuda_call *call, packed_start start, const real *bias, size_t m, const real *x, size_t ldx,
                  const packed_matrix *w, real *y, size_t ldy)
{
    const attend_compute own = { nullptr, nullptr, w->compute };
    if (m == 0 || w->n == 0) return true;
    if (w->precision == ATTEND_INT8) return product_of_bytes(call, start, bias, m, x, ldx, w, y, ldy);
    if (start == PACKED_BIAS)
        CUDA_LAUNCH(set_bias, CUDA_GRID(m, w->n), CUDA_COLUMNS(w->n), 0, m, w->n, bias, y, ldy);
    else if (start == PACKED_ZERO && w->k == 0)
        CUDA_LAUNCH(clear_rows, CUDA_GRID(m, w->n), CUDA_COLUMNS(w->n), 0, m, w->n, y, ldy);
    if (w->k == 0) return true;
    const bool add = start != PACKED_ZERO;
    if (stored_as(w->precision, &own) == ATTEND_BFLOAT16) {
        const uint16_t *a = rounded(call, m, w->k, x, ldx);
        if (!a) return false;
        multiply(call->compute, FACTORS_BF16, false, false, add, m, w->n, w->k, a, w->k, w->data, w->n, y, ldy);
    } else {
        multiply(&own, FACTORS_REAL, false, false, add, m, w->n, w->k, x, ldx, w->data, w->n, y, ldy);
    }
    return true;
}

bool attend_cuda_product(const attend_compute *c, packed_start start, const real *bias, size_t m, const real *x,
                         size_t ldx, const packed_matrix *w, real *y, size_t ldy)
{
    cuda_call call(c);
    return cuda_product(&call, start, bias, m, x, ldx, w, y, ldy);
}
