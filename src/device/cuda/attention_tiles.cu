/* attention_tiles.cu: fused dot attention with soft selection. A warp has 16 queries, or in the gradients of keys and values 16
 * keys; a block has WARPS of them, which share tiles of 32 keys, or queries, in shared memory.
 *
 *     forward     s = scale q k'   m = running maximum   o = sum exp(s - m) v / sum exp(s - m)
 *     queries     p = exp(s - m) / l   dp = g v'   ds = p (dp - D), D = g o   dq = scale ds k
 *     keys        the same transposed: dv = p' g   dk = scale ds' q
 *
 * The rows of a tile beyond the end of a sequence are zero. A key that a query may not see has p = 0 by selection; where
 * such a tile holds numbers that are not finite, terms with p = 0 are left out of the products. */
#include "device/cuda/attention_tiles.h"

#ifdef ATTEND_DOUBLE

bool cuda_tiles_serve(cuda_call *, const cuda_attention &)
{
    return false;
}

bool cuda_tiles_forward(cuda_call *, const cuda_attention &)
{
    return true;
}

bool cuda_tiles_backward(cuda_call *, const cuda_attention &, real *)
{
    return true;
}

#else

#include "device/cuda/attention_flash.h"
#include "device/cuda/attention_tile_parts.h"

enum { TILE = 32, MAX_WARPS = 4, MAX_WIDTH = 128 };

/* The pointers and widths of q, k, v, g are such that four numbers can be read at once. */
struct tile_options {
    bool query_aligned, key_aligned, value_aligned, context_aligned;
    int tiles; /* of the grid, for each sequence and head */
};

/* ---- what a block has ---- */

struct tile_place {
    int b, head, key_head, first;
    cuda_sequence s;
    size_t row; /* of query 0 */
};

/* Heads of queries, or with `keys` heads of keys. */
static __device__ tile_place place_of(const cuda_attention &t, const tile_options &o, bool keys)
{
    const size_t heads = (size_t)(keys ? t.source.key_heads : t.source.heads), bh = blockIdx.x / (size_t)o.tiles;
    const int rows = (int)(blockDim.x / 32) * WARP_ROWS;
    tile_place p;
    p.b = (int)(bh / heads), p.head = (int)(bh % heads), p.key_head = keys ? p.head : p.head / t.share;
    /* the last queries first: with a causal mask they take longest */
    p.first = (keys ? (int)(blockIdx.x % (size_t)o.tiles) : o.tiles - 1 - (int)(blockIdx.x % (size_t)o.tiles)) * rows;
    p.s = t.sequences[p.b];
    p.row = bh * (size_t)t.a.max_queries;
    return p;
}

/* The factor of dropout of the weights of two adjacent keys. */
static __device__ __forceinline__ void drop_pair(const cuda_attention &t, uint64_t index, float factors[2])
{
    factors[0] = cuda_dropout_factor(t.a, index), factors[1] = cuda_dropout_factor(t.a, index + 1);
}

/* ---- forward ---- */

template <int MODE, int D>
__global__ void __launch_bounds__(MAX_WARPS * 32) tiles_forward(const cuda_attention t, const tile_options o)
{
    typedef typename mma_matrix<MODE>::element element;
    enum { STRIDE = D + mma_matrix<MODE>::PAD, PAIRS = TILE / 8 };
    CUDA_SHARED(element, shared);
    __shared__ int flag;
    const tile_place at = place_of(t, o, false);
    if (at.first >= at.s.queries) return;
    const int rows = (int)(blockDim.x / 32) * WARP_ROWS, lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int last = at.first + rows < at.s.queries ? at.first + rows : at.s.queries;
    element *const query = shared, *const key = query + rows * STRIDE, *const value = key + TILE * STRIDE;

    load_tile<MODE, D>(rows, last - at.first, t.a.query_width, o.query_aligned, cuda_query(t, at.s, at.head, at.first),
                       t.a.query_rows.row, query);
    const int keys_begin = cuda_key_range(t, at.s, at.first).first, keys_end = cuda_key_range(t, at.s, last - 1).last;
    /* the keys that all queries of the tile see */
    const int common_begin = cuda_key_range(t, at.s, last - 1).first,
              common_end = cuda_key_range(t, at.s, at.first).last;
    int i[2];
    cuda_range range[2];
    for (int h = 0; h < 2; h++) {
        i[h] = at.first + warp * WARP_ROWS + lane / 4 + 8 * h;
        range[h].first = range[h].last = 0;
        if (i[h] < at.s.queries) range[h] = cuda_key_range(t, at.s, i[h]);
    }
    float max[2] = { -INFINITY, -INFINITY }, sum[2] = { 0, 0 }, out[D / 8][4];
    for (int n = 0; n < D / 8; n++)
        for (int e = 0; e < 4; e++) out[n][e] = 0;

    for (int from = keys_begin; from < keys_end; from += TILE) {
        const int count = keys_end - from < TILE ? keys_end - from : TILE;
        __syncthreads();
        load_tile<MODE, D>(TILE, count, t.source.key_width, o.key_aligned, cuda_key(t, at.s, at.key_head, from),
                           t.source.key_rows.row, key);
        const bool strange =
            cuda_any_thread(load_tile<MODE, D>(TILE, count, t.source.value_width, o.value_aligned,
                                               cuda_value(t, at.s, at.key_head, from), t.source.value_rows.row, value),
                            &flag);
        float p[PAIRS][4];
        mma_product<MODE, PAIRS, D>(p, query + warp * WARP_ROWS * STRIDE, key);
        float largest[2] = { -INFINITY, -INFINITY };
#pragma unroll
        for (int n = 0; n < PAIRS; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int j = from + n * 8 + 2 * (lane % 4) + e % 2, h = e / 2;
                p[n][e] = j >= range[h].first && j < range[h].last ? p[n][e] * (float)t.a.scale : -INFINITY;
                largest[h] = fmaxf(largest[h], p[n][e]);
            }
        for (int h = 0; h < 2; h++) {
            const float before = max[h];
            max[h] = fmaxf(before, quad_max(largest[h]));
            const float factor = before == -INFINITY ? 0 : cuda_exp(before - max[h]);
            const float shift = max[h] == -INFINITY ? 0 : max[h];
            float part = 0;
#pragma unroll
            for (int n = 0; n < PAIRS; n++)
#pragma unroll
                for (int e = 2 * h; e < 2 * h + 2; e++) part += p[n][e] = cuda_exp(p[n][e] - shift);
            sum[h] = sum[h] * factor + part;
#pragma unroll
            for (int n = 0; n < D / 8; n++) out[n][2 * h] *= factor, out[n][2 * h + 1] *= factor;
        }
        if (t.a.dropout > 0)
#pragma unroll
            for (int n = 0; n < PAIRS; n++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    float factors[2];
                    const size_t index = (at.row + (size_t)i[h]) * t.keys + (size_t)(from + n * 8 + 2 * (lane % 4));
                    drop_pair(t, index, factors);
                    p[n][2 * h] *= factors[0], p[n][2 * h + 1] *= factors[1];
                }
        if (strange && (from < common_begin || from + count > common_end))
            mma_add_visible<MODE, D, TILE>(out, p, value);
        else
            mma_add_product<MODE, D, TILE>(out, p, value);
    }

#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (i[h] >= at.s.queries) sum[h] = 0;
        sum[h] = quad_sum(sum[h]);
        if (i[h] >= at.s.queries) continue;
        const float normalizer = max[h] == -INFINITY && sum[h] == 0 ? 0 : 1 / sum[h];
        float *to = t.a.context + cuda_context(t, at.s, at.head, i[h]);
#pragma unroll
        for (int n = 0; n < D / 8; n++)
            for (int e = 0; e < 2; e++) {
                const int c = n * 8 + 2 * (lane % 4) + e;
                if (c < t.source.value_width) to[c] = out[n][2 * h + e] * normalizer;
            }
        if (lane % 4 != 0) continue;
        selected state;
        state.max = sum[h] != sum[h] ? sum[h] : max[h], state.normalizer = normalizer, state.choice = -1;
        t.a.selected[at.row + (size_t)i[h]] = state;
    }
}

/* ---- backward ---- */

/* D = g o of all queries. A warp has one. */
__global__ void tiles_means(const cuda_attention t, real *means)
{
    const size_t warps = blockDim.x / 32;
    for (size_t row = (size_t)blockIdx.x * warps + threadIdx.x / 32; row < t.rows; row += (size_t)gridDim.x * warps) {
        const cuda_place at(t, row);
        const cuda_sequence s = t.sequences[at.b];
        if (at.i >= s.queries) continue;
        const size_t from = cuda_context(t, s, at.head, at.i);
        float sum = 0;
        for (int c = (int)(threadIdx.x % 32); c < t.source.value_width; c += 32)
            sum += t.a.context[from + (size_t)c] * t.a.dcontext[from + (size_t)c];
        sum = cuda_warp_sum(sum);
        if (threadIdx.x % 32 == 0) means[row] = sum;
    }
}

template <int MODE, int D>
__global__ void __launch_bounds__(MAX_WARPS * 32)
    tiles_query_gradients(const cuda_attention t, const tile_options o, const real *means)
{
    typedef typename mma_matrix<MODE>::element element;
    enum { STRIDE = D + mma_matrix<MODE>::PAD, PAIRS = TILE / 8 };
    CUDA_SHARED(element, shared);
    __shared__ int flag;
    const tile_place at = place_of(t, o, false);
    if (at.first >= at.s.queries) return;
    const int rows = (int)(blockDim.x / 32) * WARP_ROWS, lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int last = at.first + rows < at.s.queries ? at.first + rows : at.s.queries;
    element *const query = shared, *const g = query + rows * STRIDE;
    element *const key = g + rows * STRIDE, *const value = key + TILE * STRIDE;

    load_tile<MODE, D>(rows, last - at.first, t.a.query_width, o.query_aligned, cuda_query(t, at.s, at.head, at.first),
                       t.a.query_rows.row, query);
    load_tile<MODE, D>(rows, last - at.first, t.source.value_width, o.context_aligned,
                       t.a.dcontext + cuda_context(t, at.s, at.head, at.first), t.a.context_rows.row, g);
    const int keys_begin = cuda_key_range(t, at.s, at.first).first, keys_end = cuda_key_range(t, at.s, last - 1).last;
    int i[2];
    tile_row r[2];
    for (int h = 0; h < 2; h++) {
        i[h] = at.first + warp * WARP_ROWS + lane / 4 + 8 * h;
        r[h] = row_of(t, at.s, at.row, i[h], means);
    }
    float out[D / 8][4];
    for (int n = 0; n < D / 8; n++)
        for (int e = 0; e < 4; e++) out[n][e] = 0;

    for (int from = keys_begin; from < keys_end; from += TILE) {
        const int count = keys_end - from < TILE ? keys_end - from : TILE;
        __syncthreads();
        load_tile<MODE, D>(TILE, count, t.source.value_width, o.value_aligned, cuda_value(t, at.s, at.key_head, from),
                           t.source.value_rows.row, value);
        const bool strange =
            cuda_any_thread(load_tile<MODE, D>(TILE, count, t.source.key_width, o.key_aligned,
                                               cuda_key(t, at.s, at.key_head, from), t.source.key_rows.row, key),
                            &flag);
        float p[PAIRS][4], d[PAIRS][4];
        mma_product<MODE, PAIRS, D>(p, query + warp * WARP_ROWS * STRIDE, key);
        mma_product<MODE, PAIRS, D>(d, g + warp * WARP_ROWS * STRIDE, value);
#pragma unroll
        for (int n = 0; n < PAIRS; n++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int j = from + n * 8 + 2 * (lane % 4);
                float factors[2] = { 1, 1 };
                if (t.a.dropout > 0) drop_pair(t, (at.row + (size_t)i[h]) * t.keys + (size_t)j, factors);
                pair_gradient(t, r[h], j, factors[0], &p[n][2 * h], &d[n][2 * h]);
                pair_gradient(t, r[h], j + 1, factors[1], &p[n][2 * h + 1], &d[n][2 * h + 1]);
            }
        if (strange)
            mma_add_visible<MODE, D, TILE>(out, d, key);
        else
            mma_add_product<MODE, D, TILE>(out, d, key);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (i[h] >= at.s.queries) continue;
        float *to = t.a.dquery + (cuda_query(t, at.s, at.head, i[h]) - t.a.query);
#pragma unroll
        for (int n = 0; n < D / 8; n++)
            for (int e = 0; e < 2; e++) {
                const int c = n * 8 + 2 * (lane % 4) + e;
                if (c < t.a.query_width) to[c] += (float)t.a.scale * out[n][2 * h + e];
            }
    }
}

template <int MODE, int D>
__global__ void __launch_bounds__(MAX_WARPS * 32)
    tiles_key_gradients(const cuda_attention t, const tile_options o, const real *means)
{
    typedef typename mma_matrix<MODE>::element element;
    enum { STRIDE = D + mma_matrix<MODE>::PAD, PAIRS = TILE / 8 };
    CUDA_SHARED(element, shared);
    __shared__ int flag;
    __shared__ tile_row of_queries[TILE];
    const tile_place at = place_of(t, o, true);
    if (at.first >= at.s.keys) return;
    const int rows = (int)(blockDim.x / 32) * WARP_ROWS, lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int last = at.first + rows < at.s.keys ? at.first + rows : at.s.keys;
    element *const key = shared, *const value = key + rows * STRIDE;
    element *const query = value + rows * STRIDE, *const g = query + TILE * STRIDE;

    load_tile<MODE, D>(rows, last - at.first, t.source.key_width, o.key_aligned,
                       cuda_key(t, at.s, at.key_head, at.first), t.source.key_rows.row, key);
    load_tile<MODE, D>(rows, last - at.first, t.source.value_width, o.value_aligned,
                       cuda_value(t, at.s, at.key_head, at.first), t.source.value_rows.row, value);
    float dkey[D / 8][4], dvalue[D / 8][4];
    for (int n = 0; n < D / 8; n++)
        for (int e = 0; e < 4; e++) dkey[n][e] = dvalue[n][e] = 0;

    for (int head = at.key_head * t.share; head < (at.key_head + 1) * t.share; head++) {
        const size_t row0 = ((size_t)at.b * (size_t)t.source.heads + (size_t)head) * (size_t)t.a.max_queries;
        for (int from = 0; from < at.s.queries; from += TILE) {
            const int count = at.s.queries - from < TILE ? at.s.queries - from : TILE;
            if (cuda_key_range(t, at.s, from + count - 1).last <= at.first ||
                cuda_key_range(t, at.s, from).first >= last)
                continue;
            __syncthreads();
            bool strange = load_tile<MODE, D>(TILE, count, t.a.query_width, o.query_aligned,
                                              cuda_query(t, at.s, head, from), t.a.query_rows.row, query);
            strange = load_tile<MODE, D>(TILE, count, t.source.value_width, o.context_aligned,
                                         t.a.dcontext + cuda_context(t, at.s, head, from), t.a.context_rows.row, g) ||
                      strange;
            if (threadIdx.x < TILE) of_queries[threadIdx.x] = row_of(t, at.s, row0, from + (int)threadIdx.x, means);
            strange = cuda_any_thread(strange, &flag);
            float p[PAIRS][4], d[PAIRS][4];
            mma_product<MODE, PAIRS, D>(p, key + warp * WARP_ROWS * STRIDE, query);
            mma_product<MODE, PAIRS, D>(d, value + warp * WARP_ROWS * STRIDE, g);
#pragma unroll
            for (int n = 0; n < PAIRS; n++)
#pragma unroll
                for (int c = 0; c < 2; c++) {
                    const int x = n * 8 + 2 * (lane % 4) + c;
                    const tile_row r = of_queries[x];
#pragma unroll
                    for (int h = 0; h < 2; h++) {
                        const int j = at.first + warp * WARP_ROWS + lane / 4 + 8 * h;
                        float factor = 1;
                        if (t.a.dropout > 0)
                            factor = cuda_dropout_factor(t.a, (row0 + (size_t)(from + x)) * t.keys + (size_t)j);
                        pair_gradient(t, r, j, factor, &p[n][2 * h + c], &d[n][2 * h + c]);
                    }
                }
            if (strange) {
                mma_add_visible<MODE, D, TILE>(dvalue, p, g);
                mma_add_visible<MODE, D, TILE>(dkey, d, query);
            } else {
                mma_add_product<MODE, D, TILE>(dvalue, p, g);
                mma_add_product<MODE, D, TILE>(dkey, d, query);
            }
        }
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int j = at.first + warp * WARP_ROWS + lane / 4 + 8 * h;
        if (j >= at.s.keys) continue;
        float *dk = t.a.dkey ? t.a.dkey + (cuda_key(t, at.s, at.key_head, j) - t.source.keys) : nullptr;
        float *dv = t.a.dvalue ? t.a.dvalue + (cuda_value(t, at.s, at.key_head, j) - t.source.values) : nullptr;
#pragma unroll
        for (int n = 0; n < D / 8; n++)
            for (int e = 0; e < 2; e++) {
                const int c = n * 8 + 2 * (lane % 4) + e;
                if (dk && c < t.source.key_width) dk[c] += (float)t.a.scale * dkey[n][2 * h + e];
                if (dv && c < t.source.value_width) dv[c] += dvalue[n][2 * h + e];
            }
    }
}

/* ---- launches ---- */

#ifdef ATTEND_CUDA_EMULATED
static bool has_tensor_cores(void)
{
    return true;
}
#else
static bool has_tensor_cores(void)
{
    static int major = -1;
    int device = 0;
    if (major < 0 && (cudaGetDevice(&device) != cudaSuccess ||
                      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess))
        major = 0;
    return major >= 8;
}
#endif

static int mode_of(const cuda_call *call)
{
    const attend_compute_precision p = call->compute->precision;
    return p == ATTEND_COMPUTE_BF16 ? TILE_BF16 : p == ATTEND_COMPUTE_TF32 ? TILE_TF32 : TILE_FP32;
}

/* The smallest compiled width that both widths fit into. */
static int width_of(const cuda_attention &t)
{
    const int width = t.source.key_width > t.source.value_width ? t.source.key_width : t.source.value_width;
    return width <= 32 ? 32 : width <= 64 ? 64 : 128;
}

static bool rows_aligned(const real *data, const attention_rows &r, int width)
{
    const size_t all = r.first | r.head | r.row | (r.offsets ? 0 : r.sequence) | (size_t)width;
    return (reinterpret_cast<uintptr_t>(data) % 16 == 0) && all % 4 == 0;
}

struct tile_launch {
    tile_options options;
    unsigned threads;
    size_t blocks, shared;
};

/* Blocks of queries, or with `keys` of keys; a block holds `own` matrices of its rows and two of the others. */
static tile_launch launch_of(const cuda_call *call, const cuda_attention &t, bool keys, size_t own)
{
    const bool bf16 = mode_of(call) == TILE_BF16;
    const int most = keys ? t.source.max_keys : t.a.max_queries, warps = most <= 32 ? 2 : MAX_WARPS;
    const int rows = warps * WARP_ROWS, heads = keys ? t.source.key_heads : t.source.heads;
    const size_t stride = (size_t)width_of(t) * (bf16 ? 2 : 4) + 16;
    tile_launch l;
    l.options.query_aligned = rows_aligned(t.a.query, t.a.query_rows, t.a.query_width);
    l.options.key_aligned = rows_aligned(t.source.keys, t.source.key_rows, t.source.key_width);
    l.options.value_aligned = rows_aligned(t.source.values, t.source.value_rows, t.source.value_width);
    l.options.context_aligned = t.a.dcontext && rows_aligned(t.a.dcontext, t.a.context_rows, t.source.value_width);
    l.options.tiles = (most + rows - 1) / rows;
    l.threads = (unsigned)warps * 32;
    l.blocks = (size_t)t.source.count * (size_t)heads * (size_t)l.options.tiles;
    l.shared = stride * (own * (size_t)rows + 2 * (size_t)TILE);
    return l;
}

/* Runs a kernel template for the mode and width of the call. */
#define LAUNCH_WIDTH(kernel, MODE, D, l, ...)                                                                          \
    do {                                                                                                               \
        if (cuda_allow_shared((const void *)kernel<MODE, D>, (l).shared))                                              \
            CUDA_LAUNCH((kernel<MODE, D>), (unsigned)(l).blocks, (l).threads, (l).shared, __VA_ARGS__);                \
        else                                                                                                           \
            cuda_fail(#kernel, "the GPU has too little shared memory");                                                \
    } while (0)
#define LAUNCH_MODE(kernel, MODE, l, ...)                                                                              \
    do {                                                                                                               \
        const int width = width_of(t);                                                                                 \
        if (width == 32)                                                                                               \
            LAUNCH_WIDTH(kernel, MODE, 32, l, __VA_ARGS__);                                                            \
        else if (width == 64)                                                                                          \
            LAUNCH_WIDTH(kernel, MODE, 64, l, __VA_ARGS__);                                                            \
        else                                                                                                           \
            LAUNCH_WIDTH(kernel, MODE, 128, l, __VA_ARGS__);                                                           \
    } while (0)
#define LAUNCH_TILES(kernel, l, ...)                                                                                   \
    do {                                                                                                               \
        const int mode = mode_of(call);                                                                                \
        if (mode == TILE_BF16)                                                                                         \
            LAUNCH_MODE(kernel, TILE_BF16, l, __VA_ARGS__);                                                            \
        else if (mode == TILE_TF32)                                                                                    \
            LAUNCH_MODE(kernel, TILE_TF32, l, __VA_ARGS__);                                                            \
        else                                                                                                           \
            LAUNCH_MODE(kernel, TILE_FP32, l, __VA_ARGS__);                                                            \
    } while (0)

bool cuda_tiles_serve(cuda_call *call, const cuda_attention &t)
{
    const device_attention &a = t.a;
    if (t.score != CUDA_DOT || a.select.selection != ATTEND_SELECT_SOFT || t.source.soft_cap > 0) return false;
    if (a.weights || a.scores || a.dweights || a.bias || a.position || a.allowed) return false;
    if (t.source.key_width > MAX_WIDTH || t.source.value_width > MAX_WIDTH || a.max_queries < 2) return false;
    return has_tensor_cores() && launch_of(call, t, false, 2).blocks < ((size_t)1 << 31);
}

bool cuda_tiles_forward(cuda_call *call, const cuda_attention &t)
{
    if (t.rows == 0) return true;
    if (cuda_flash_serves(call, t)) return cuda_flash_forward(call, t);
    const tile_launch l = launch_of(call, t, false, 1);
    LAUNCH_TILES(tiles_forward, l, t, l.options);
    return true;
}

bool cuda_tiles_backward(cuda_call *call, const cuda_attention &t, real *means)
{
    if (!t.a.dcontext) return true;
    CUDA_LAUNCH(tiles_means, cuda_blocks(t.rows, CUDA_THREADS / 32), CUDA_THREADS, 0, t, means);
    if (cuda_flash_serves(call, t)) return cuda_flash_backward(call, t, means);
    if (t.a.dquery) {
        const tile_launch l = launch_of(call, t, false, 2);
        LAUNCH_TILES(tiles_query_gradients, l, t, l.options, means);
    }
    if (t.a.dkey || t.a.dvalue) {
        const tile_launch l = launch_of(call, t, true, 2);
        LAUNCH_TILES(tiles_key_gradients, l, t, l.options, means);
    }
    return true;
}

#endif
