/* attention_additive.cu: additive scores of many queries and keys. With x = exp(2a) exp(2 beta) and r = 1 / (1 + x),
 * tanh(a + beta) = 1 - 2r and 1 - tanh^2 = 4 (r - r^2), so that exponentials are taken once for each row of a tile, and pairs
 * need a division, which two of them share:
 *     e_ij = scale sum_c u_c (1 - 2r)     da_c = 4 scale u_c sum_j de_ij (r - r^2)     du_c = scale sum de_ij (1 - 2r)
 * Where |a| or |beta| exceeds LIMIT the exponentials could overflow, and tanh is computed of the sum. */
#include "device/cuda/attention_math.h"
#include "device/cuda/attention_rows.h"

enum { THREADS = 256, CHANNELS = 32, SIDE = 64, OWN = 32, OTHER = 32, LIMIT = 20, MIN_SIDE = 16, MAX_PRODUCTS = 512 };

/* Four adjacent numbers. */
struct alignas(16) vector4 {
    real x[4];
};

static __device__ __forceinline__ const vector4 &vector_at(const real *p)
{
    return *reinterpret_cast<const vector4 *>(p);
}

static __device__ __forceinline__ bool is_large(real x)
{
    return !(x <= LIMIT && x >= -LIMIT);
}

/* Channel c, which lane `channel` of each warp has, of rows [first, first + SIDE) of which `count` exist; absent rows are 0.
 * Thread (warp w, lane) gets rows w, w + 8, ... */
template <int ROWS>
static __device__ __forceinline__ bool load_rows(const real *from, size_t stride, int count, bool has_channel,
                                                 real x[ROWS / (THREADS / 32)])
{
    bool large = false;
    const int warp = (int)(threadIdx.x / 32);
#pragma unroll
    for (int i = 0; i < ROWS / (THREADS / 32); i++) {
        const int row = warp + i * (THREADS / 32);
        x[i] = has_channel && row < count ? from[(size_t)row * stride] : 0;
        large = large || is_large(x[i]);
    }
    return large;
}

/* ---- scores ---- */

/* sum += u (1 - 2r) of four channels of a pair. */
static __device__ __forceinline__ void add_four(const vector4 &a, const vector4 &b, const vector4 &u, real *sum)
{
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const real d0 = 1 + a.x[i] * b.x[i], d1 = 1 + a.x[i + 1] * b.x[i + 1];
        *sum += cuda_divide(u.x[i] * d1 + u.x[i + 1] * d0, d0 * d1);
    }
}

/* Blocks of 64 queries and 64 keys; a thread has 4 of each. */
__global__ void __launch_bounds__(THREADS)
    additive_scores(const cuda_attention t, const cuda_chunk c, size_t first_tile, size_t tiles, size_t key_tiles)
{
    enum { STRIDE = CHANNELS + 4, ROWS = SIDE / (THREADS / 32) };
    alignas(16) __shared__ real query[SIDE][STRIDE], key[SIDE][STRIDE], u[CHANNELS];
    __shared__ real u_sum;
    __shared__ int flag;
    const size_t tile = first_tile + blockIdx.x / key_tiles, bh = tile / tiles, heads = (size_t)t.source.heads;
    const int b = (int)(bh / heads), head = (int)(bh % heads), key_head = head / t.share, n = t.a.query_width;
    const cuda_sequence s = t.sequences[b];
    const int i0 = (int)(tile % tiles) * SIDE, j0 = (int)(blockIdx.x % key_tiles) * SIDE;
    if (i0 >= s.queries || j0 >= s.keys) return;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    const int tx = (int)(threadIdx.x % 16), ty = (int)(threadIdx.x / 16);
    const real *weights = t.source.parameters[CUDA_U] + (size_t)head * (size_t)n;
    real e[4][4];
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 4; k++) e[r][k] = 0;

    for (int from = 0; from < n; from += CHANNELS) {
        real x[ROWS], y[ROWS];
        const bool has_channel = from + lane < n;
        const int channel = has_channel ? from + lane : 0;
        bool large =
            load_rows<SIDE>(cuda_query(t, s, head, i0) + channel, t.a.query_rows.row, s.queries - i0, has_channel, x);
        large = load_rows<SIDE>(cuda_key(t, s, key_head, j0) + channel, t.source.key_rows.row, s.keys - j0, has_channel,
                                y) ||
                large;
        large = cuda_any_thread(large, &flag);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            const int row = warp + i * (THREADS / 32);
            query[row][lane] = large ? x[i] : exp(2 * x[i]), key[row][lane] = large ? y[i] : exp(2 * y[i]);
        }
        if (warp == 0) {
            const real weight = has_channel ? weights[channel] : 0, sum = cuda_warp_sum(weight);
            u[lane] = weight;
            if (lane == 0) u_sum = sum;
        }
        __syncthreads();
        if (large) {
            for (int l = 0; l < CHANNELS; l++)
                for (int r = 0; r < 4; r++)
                    for (int k = 0; k < 4; k++)
                        e[r][k] += u[l] * cuda_tanh(query[ty + 16 * r][l] + key[tx + 16 * k][l]);
            continue;
        }
        real sums[4][4];
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int k = 0; k < 4; k++) sums[r][k] = 0;
#pragma unroll 2
        for (int l = 0; l < CHANNELS; l += 4) {
            const vector4 weight = vector_at(&u[l]);
            vector4 keys[4];
#pragma unroll
            for (int k = 0; k < 4; k++) keys[k] = vector_at(&key[tx + 16 * k][l]);
#pragma unroll
            for (int r = 0; r < 4; r++) {
                const vector4 a = vector_at(&query[ty + 16 * r][l]);
#pragma unroll
                for (int k = 0; k < 4; k++) add_four(a, keys[k], weight, &sums[r][k]);
            }
        }
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int k = 0; k < 4; k++) e[r][k] += u_sum - 2 * sums[r][k];
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int i = i0 + ty + 16 * r, j = j0 + tx + 16 * k;
            const size_t row = bh * (size_t)t.a.max_queries + (size_t)i;
            if (i < s.queries && j < s.keys && row >= c.first && row < c.last)
                c.p[(row - c.first) * t.keys + (size_t)j] = (real)t.a.scale * e[r][k];
        }
}

/* The tiles of `side` queries that a chunk meets: [*first, *end) of (sequence, head, tile). Returns the tiles of a head. */
static size_t tiles_of(const cuda_attention &t, const cuda_chunk &c, size_t side, size_t *first, size_t *end)
{
    const size_t queries = (size_t)t.a.max_queries, tiles = (queries + side - 1) / side, last = c.last - 1;
    *first = c.first / queries * tiles + c.first % queries / side;
    *end = last / queries * tiles + last % queries / side + 1;
    return tiles;
}

static void scores(const cuda_attention &t, const cuda_chunk &c)
{
    size_t first, end;
    const size_t tiles = tiles_of(t, c, SIDE, &first, &end), key_tiles = (t.keys + SIDE - 1) / SIDE;
    CUDA_LAUNCH(additive_scores, (unsigned)((end - first) * key_tiles), THREADS, 0, t, c, first, tiles, key_tiles);
}

/* ---- gradients ---- */

/* One side of the pairs, queries or keys: a block owns 32 of its rows and 32 channels, and meets all rows of the other
 * side. A warp has 4 of its rows, a lane a channel. */
struct own_rows {
    real exps[4], values[4];
    bool large;
};

/* Adds to sums (r - r^2) of the pairs of one row of the other side, and to *du the terms 1 - 2r. */
static __device__ __forceinline__ void add_pairs(const own_rows &own, bool large, real other, const vector4 &de,
                                                 real sums[4], real *du)
{
    if (large) {
        for (int i = 0; i < 4; i++) {
            const real y = cuda_tanh(own.values[i] + other);
            sums[i] += de.x[i] * (1 - y * y) / 4, *du += de.x[i] * y;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const real d0 = 1 + own.exps[i] * other, d1 = 1 + own.exps[i + 1] * other, both = cuda_divide(1, d0 * d1);
        const real r0 = both * d1, r1 = both * d0;
        sums[i] += de.x[i] * (r0 - r0 * r0), sums[i + 1] += de.x[i + 1] * (r1 - r1 * r1);
        *du += de.x[i] * (1 - 2 * r0) + de.x[i + 1] * (1 - 2 * r1);
    }
}

/* The gradients of 32 queries, or with KEYS of 32 keys. */
template <bool KEYS>
__global__ void __launch_bounds__(THREADS)
    additive_gradients(const cuda_attention t, const cuda_chunk c, size_t first_tile, size_t tiles, size_t pieces,
                       real *parts)
{
    enum { STRIDE = OWN + 4, ROWS = OWN / (THREADS / 32) };
    alignas(16) __shared__ real other[OTHER][CHANNELS], de[OTHER][STRIDE];
    __shared__ real du_sums[THREADS / 32][CHANNELS];
    __shared__ int flag;
    const size_t tile = first_tile + blockIdx.x / pieces, bh = tile / tiles;
    const size_t heads = (size_t)(KEYS ? t.source.key_heads : t.source.heads);
    const int b = (int)(bh / heads), own_head = (int)(bh % heads), n = t.a.query_width;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32), own0 = (int)(tile % tiles) * OWN;
    const int channel = (int)(blockIdx.x % pieces) * CHANNELS + lane;
    const bool has_channel = channel < n;
    const size_t safe = has_channel ? (size_t)channel : 0;
    const cuda_sequence s = t.sequences[b];
    const int own_count = KEYS ? s.keys : s.queries, other_count = KEYS ? s.queries : s.keys;
    const size_t own_stride = KEYS ? t.source.key_rows.row : t.a.query_rows.row;
    const size_t other_stride = KEYS ? t.a.query_rows.row : t.source.key_rows.row;
    const int first_head = KEYS ? own_head * t.share : own_head, end_head = KEYS ? first_head + t.share : own_head + 1;
    const int key_head = KEYS ? own_head : own_head / t.share;

    /* own rows warp * 4 + i: other than load_rows distributes them, so that a vector of de belongs to a warp */
    own_rows own;
    own.large = false;
    for (int i = 0; i < 4; i++) {
        const int row = own0 + warp * 4 + i;
        const real *from = KEYS ? cuda_key(t, s, key_head, 0) : cuda_query(t, s, own_head, 0);
        own.values[i] = has_channel && row < own_count ? from[(size_t)row * own_stride + safe] : 0;
        own.large = own.large || is_large(own.values[i]);
        own.exps[i] = exp(2 * own.values[i]);
    }
    own.large = cuda_any_thread(own.large, &flag);

    real total[4] = { 0, 0, 0, 0 }, du = 0;
    for (int head = first_head; head < end_head; head++) {
        const size_t row0 = ((size_t)b * (size_t)t.source.heads + (size_t)head) * (size_t)t.a.max_queries;
        const real *others = (KEYS ? cuda_query(t, s, head, 0) : cuda_key(t, s, key_head, 0)) + safe;
        real sums[4] = { 0, 0, 0, 0 };
        for (int from = 0; from < other_count; from += OTHER) {
            real x[ROWS], d[ROWS];
            bool large = load_rows<OTHER>(others + (size_t)from * other_stride, other_stride, other_count - from,
                                          has_channel, x);
#pragma unroll
            for (int i = 0; i < ROWS; i++) { /* lanes have adjacent keys */
                const int major = warp + i * (THREADS / 32);
                const int query = KEYS ? from + major : own0 + major, key = KEYS ? own0 + lane : from + lane;
                const size_t row = row0 + (size_t)query;
                d[i] = query < s.queries && key < s.keys && row >= c.first && row < c.last
                           ? c.de[(row - c.first) * t.keys + (size_t)key]
                           : 0;
            }
            large = cuda_any_thread(large, &flag) || own.large;
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                const int major = warp + i * (THREADS / 32);
                other[major][lane] = large ? x[i] : exp(2 * x[i]);
                if (KEYS)
                    de[major][lane] = d[i];
                else
                    de[lane][major] = d[i];
            }
            __syncthreads();
            if (large)
                for (int o = 0; o < OTHER; o++)
                    add_pairs(own, true, other[o][lane], vector_at(&de[o][warp * 4]), sums, &du);
            else
#pragma unroll 4
                for (int o = 0; o < OTHER; o++)
                    add_pairs(own, false, other[o][lane], vector_at(&de[o][warp * 4]), sums, &du);
        }
        const real u = t.source.parameters[CUDA_U][(size_t)head * (size_t)n + safe] * (real)t.a.scale * 4;
        for (int i = 0; i < 4; i++) total[i] += u * sums[i];
    }
    real *to = KEYS ? t.a.dkey : t.a.dquery;
    const real *base = KEYS ? t.source.keys : t.a.query;
    for (int i = 0; to && i < 4; i++) {
        const int row = own0 + warp * 4 + i;
        const real *at = KEYS ? cuda_key(t, s, key_head, 0) : cuda_query(t, s, own_head, 0);
        if (has_channel && row < own_count) to[(size_t)(at - base) + (size_t)row * own_stride + safe] += total[i];
    }
    if (KEYS || !parts) return;
    du_sums[warp][lane] = du;
    __syncthreads();
    if (warp != 0 || !has_channel) return;
    for (int w = 1; w < THREADS / 32; w++) du += du_sums[w][lane];
    /* a tile that a chunk cuts is met again in the next one */
    const bool starts = c.first <= bh * (size_t)t.a.max_queries + (size_t)own0;
    real *part = parts + (((size_t)b * tiles + tile % tiles) * heads + (size_t)own_head) * (size_t)n + safe;
    *part = (real)t.a.scale * du + (starts ? 0 : *part);
}

size_t cuda_additive_parts(const cuda_attention &t)
{
    return (size_t)t.source.count * (((size_t)t.a.max_queries + OWN - 1) / OWN);
}

static void gradients(const cuda_attention &t, const cuda_chunk &c, real *parts)
{
    const size_t pieces = ((size_t)t.a.query_width + CHANNELS - 1) / CHANNELS;
    if (t.a.dquery || parts) {
        size_t first, end;
        const size_t tiles = tiles_of(t, c, OWN, &first, &end);
        CUDA_LAUNCH(additive_gradients<false>, (unsigned)((end - first) * pieces), THREADS, 0, t, c, first, tiles,
                    pieces, parts);
    }
    if (!t.a.dkey) return;
    const size_t tiles = (t.keys + OWN - 1) / OWN;
    const size_t rows = (size_t)t.share * (size_t)t.a.max_queries; /* of a key head */
    const size_t first = c.first / rows * tiles, end = ((c.last - 1) / rows + 1) * tiles;
    CUDA_LAUNCH(additive_gradients<true>, (unsigned)((end - first) * pieces), THREADS, 0, t, c, first, tiles, pieces,
                static_cast<real *>(nullptr));
}

/* ---- passes ---- */

bool cuda_additive_serves(const cuda_attention &t)
{
    const size_t products = (size_t)t.source.count * (size_t)t.source.heads;
    return t.score == CUDA_ADDITIVE && t.source.window == ATTEND_WINDOW_GLOBAL && !t.source.causal && !t.a.allowed &&
           !t.a.bias && t.a.max_queries >= MIN_SIDE && t.source.max_keys >= MIN_SIDE && products <= MAX_PRODUCTS;
}

enum pass { CONTEXT, VALUE_PRODUCTS, VALUE_GRADIENTS };

/* o = w v, de = g v', or dv += w' g, for the queries of one head of one sequence that are in the chunk. */
static bool one_product(cuda_call *call, const cuda_attention &t, const cuda_chunk &c, pass which, size_t bh)
{
    const size_t queries = (size_t)t.a.max_queries, begin = bh * queries, heads = (size_t)t.source.heads;
    const int b = (int)(bh / heads), head = (int)(bh % heads);
    const size_t end = begin + (size_t)t.a.query_rows.lengths[b];
    const size_t first = begin > c.first ? begin : c.first, last = end < c.last ? end : c.last;
    if (first >= last) return true;
    const size_t rows = last - first, keys = (size_t)t.source.key_rows.lengths[b], width = (size_t)t.source.value_width;
    const size_t at = (first - c.first) * t.keys, ldv = t.source.value_rows.row, ldo = t.a.context_rows.row;
    const size_t value = attention_row(&t.source.value_rows, b, head / t.share, 0);
    const size_t context = attention_row(&t.a.context_rows, b, head, (int)(first - begin));
    cuda_call inner(call->compute); /* its scratch memory lives for one product */
    if (which == CONTEXT)
        return cuda_gemm(&inner, false, false, false, rows, width, keys, c.w + at, t.keys, t.source.values + value, ldv,
                         t.a.context + context, ldo);
    if (which == VALUE_PRODUCTS)
        return cuda_gemm(&inner, false, true, false, rows, keys, width, t.a.dcontext + context, ldo,
                         t.source.values + value, ldv, c.de + at, t.keys);
    return cuda_gemm(&inner, true, false, true, keys, width, rows, c.w + at, t.keys, t.a.dcontext + context, ldo,
                     t.a.dvalue + value, ldv);
}

static bool products(cuda_call *call, const cuda_attention &t, const cuda_chunk &c, pass which)
{
    for (size_t bh = c.first / (size_t)t.a.max_queries; bh <= (c.last - 1) / (size_t)t.a.max_queries; bh++)
        if (!one_product(call, t, c, which, bh)) return false;
    return true;
}

bool cuda_additive_forward(cuda_call *call, const cuda_attention &t, const cuda_chunk &c)
{
    scores(t, c);
    cuda_rows_select(t, c);
    return products(call, t, c, CONTEXT);
}

bool cuda_additive_backward(cuda_call *call, const cuda_attention &t, const cuda_chunk &c, real *parts)
{
    if (!t.a.stored_weights) scores(t, c);
    if (t.a.dcontext && !products(call, t, c, VALUE_PRODUCTS)) return false;
    cuda_rows_backward(t, c, true);
    if (t.a.dvalue && t.a.dcontext && !products(call, t, c, VALUE_GRADIENTS)) return false;
    gradients(t, c, parts);
    return true;
}
