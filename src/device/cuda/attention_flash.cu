/* attention_flash.cu: fused dot attention of long sequences in bf16. Queries, keys, values and gradients are rounded to bf16 once,
 * into padded rows; blocks of 8 warps copy tiles of them to shared memory while they compute with the tile before. The
 * equations are those of attention_tiles.cu. */
#include "device/cuda/attention_flash.h"

#ifdef ATTEND_DOUBLE

bool cuda_flash_serves(const cuda_call *, const cuda_attention &)
{
    return false;
}

bool cuda_flash_forward(cuda_call *, const cuda_attention &)
{
    return true;
}

bool cuda_flash_backward(cuda_call *, const cuda_attention &, const real *)
{
    return true;
}

#else

#include "device/cuda/attention_tile_parts.h"

enum { THREADS = 256, ROWS = THREADS / 32 * WARP_ROWS, CONVERTED = 32, PAD = mma_matrix<TILE_BF16>::PAD };
#define LOG2_E 1.4426950408889634f

/* ---- operands in bf16 ---- */

enum operand { QUERY, KEY, VALUE, GRADIENT };

/* Rows of D numbers, `rows` for each sequence and head, zero beyond its end, and for each 32 rows whether a number is not
 * finite. */
struct flash_rows {
    uint16_t *data;
    int *strange;
    size_t rows;
};

struct flash_arrays {
    flash_rows of[4];
};

template <int D>
__global__ void __launch_bounds__(128) flash_convert(const cuda_attention t, operand which, const flash_rows to)
{
    __shared__ int flag;
    const size_t tiles = to.rows / CONVERTED, bh = blockIdx.x / tiles;
    const bool of_query = which == QUERY || which == GRADIENT;
    const size_t heads = (size_t)(of_query ? t.source.heads : t.source.key_heads);
    const int b = (int)(bh / heads), head = (int)(bh % heads), first = (int)(blockIdx.x % tiles) * CONVERTED;
    const cuda_sequence s = t.sequences[b];
    const int count = of_query ? s.queries : s.keys, valid = count - first < CONVERTED ? count - first : CONVERTED;
    const int width = which == QUERY ? t.a.query_width : which == KEY ? t.source.key_width : t.source.value_width;
    const attention_rows &r = which == QUERY   ? t.a.query_rows
                              : which == KEY   ? t.source.key_rows
                              : which == VALUE ? t.source.value_rows
                                               : t.a.context_rows;
    const size_t at = (which == QUERY   ? s.query
                       : which == KEY   ? s.key
                       : which == VALUE ? s.value
                                        : s.context) +
                      (size_t)head * r.head + (size_t)first * r.row;
    const real *from = (which == QUERY   ? t.a.query
                        : which == KEY   ? t.source.keys
                        : which == VALUE ? t.source.values
                                         : t.a.dcontext) +
                       at;
    const bool aligned = reinterpret_cast<uintptr_t>(from) % 16 == 0 && r.row % 4 == 0 && width % 4 == 0;
    const bool strange = load_tile<TILE_BF16, D, D>(CONVERTED, valid, width, aligned, from, r.row,
                                                    to.data + (bh * to.rows + (size_t)first) * D);
    const bool any = cuda_any_thread(strange, &flag);
    if (threadIdx.x == 0) to.strange[bh * tiles + (size_t)first / CONVERTED] = any;
}

/* Starts copying rows [first, first + N) of a sequence and head. */
template <int D, int N>
static __device__ __forceinline__ void copy_rows(const flash_rows &from, size_t bh, int first, uint16_t *to)
{
    const uint16_t *data = from.data + (bh * from.rows + (size_t)first) * D;
#pragma unroll
    for (int x = (int)threadIdx.x; x < N * D / 8; x += THREADS) {
        const int row = x / (D / 8) * (D + PAD), column = x % (D / 8) * 8, at = x * 8;
        mma_copy(to + row + column, data + at);
    }
}

static __device__ __forceinline__ bool is_strange(const flash_rows &r, size_t bh, int first, int n)
{
    bool any = false;
    for (int i = 0; i < n; i += CONVERTED)
        any = any || r.strange[bh * (r.rows / CONVERTED) + (size_t)(first + i) / CONVERTED] != 0;
    return any;
}

/* ---- blocks ---- */

/* A block has 128 queries of a head, or with `keys` 128 keys of a key head. */
struct flash_place {
    int b, head, key_head, first, last;
    size_t own, other; /* among the heads of all sequences: of the rows that the block owns, and of the others */
    cuda_sequence s;
};

static __device__ flash_place place_of(const cuda_attention &t, int tiles, bool keys)
{
    flash_place p;
    const size_t heads = (size_t)(keys ? t.source.key_heads : t.source.heads);
    const int tile = (int)(blockIdx.x % (unsigned)tiles);
    p.own = blockIdx.x / (unsigned)tiles;
    p.b = (int)(p.own / heads), p.head = (int)(p.own % heads), p.key_head = keys ? p.head : p.head / t.share;
    p.other = keys ? p.own * (size_t)t.share : (size_t)p.b * (size_t)t.source.key_heads + (size_t)p.key_head;
    p.first = (keys ? tile : tiles - 1 - tile) * ROWS; /* with a causal mask, what takes longest comes first */
    p.s = t.sequences[p.b];
    const int count = keys ? p.s.keys : p.s.queries;
    p.last = p.first + ROWS < count ? p.first + ROWS : count;
    return p;
}

template <int D> static __device__ __forceinline__ void clear(float (*sums)[4])
{
#pragma unroll
    for (int n = 0; n < D / 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) sums[n][e] = 0;
}

/* to[c] += scale sums of row h of a lane's two */
template <int D>
static __device__ __forceinline__ void add_row(float *to, int width, float scale, const float (*sums)[4], int h)
{
#pragma unroll
    for (int n = 0; n < D / 8; n++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int c = n * 8 + 2 * (int)(threadIdx.x % 4) + e;
            if (c < width) to[c] += scale * (h ? sums[n][2 + e] : sums[n][e]);
        }
}

/* ---- forward ---- */

/* New maxima and sums of a lane's two rows; p becomes exp(s - max). */
template <int D, int PAIRS>
static __device__ __forceinline__ void online_softmax(float (*p)[4], float scale, float max[2], float sum[2],
                                                      float (*out)[4])
{
    float largest[2] = { max[0], max[1] }, factors[2];
#pragma unroll
    for (int n = 0; n < PAIRS; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) largest[e / 2] = fmaxf(largest[e / 2], p[n][e]);
    largest[0] = quad_max(largest[0]), largest[1] = quad_max(largest[1]);
    if (__ballot_sync(0xffffffffu, largest[0] != max[0] || largest[1] != max[1])) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            factors[h] = max[h] == -INFINITY ? 0 : mma_exp2((max[h] - largest[h]) * scale);
            max[h] = largest[h], sum[h] *= factors[h];
        }
#pragma unroll
        for (int n = 0; n < D / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) out[n][e] *= factors[e / 2];
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const float shift = max[h] == -INFINITY ? 0 : max[h] * scale;
#pragma unroll
        for (int n = 0; n < PAIRS; n++)
#pragma unroll
            for (int e = 2 * h; e < 2 * h + 2; e++) sum[h] += p[n][e] = mma_exp2(p[n][e] * scale - shift);
    }
}

template <int D>
__global__ void __launch_bounds__(THREADS, 1) flash_forward(const cuda_attention t, const flash_arrays f, int tiles)
{
    enum { TILE = 64, PAIRS = TILE / 8, STRIDE = D + PAD, STAGE = 2 * TILE * STRIDE };
    CUDA_SHARED(uint16_t, shared);
    const flash_place at = place_of(t, tiles, false);
    if (at.first >= at.s.queries) return;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    uint16_t *const query = shared, *const stages = shared + ROWS * STRIDE;
    const cuda_range begin_range = cuda_key_range(t, at.s, at.first), end_range = cuda_key_range(t, at.s, at.last - 1);
    const int begin = begin_range.first / TILE * TILE, end = end_range.last;

    copy_rows<D, ROWS>(f.of[QUERY], at.own, at.first, query);
    if (begin < end) {
        copy_rows<D, TILE>(f.of[KEY], at.other, begin, stages);
        copy_rows<D, TILE>(f.of[VALUE], at.other, begin, stages + TILE * STRIDE);
    }
    mma_copies_end();
    int i[2];
    cuda_range range[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        i[h] = at.first + warp * WARP_ROWS + lane / 4 + 8 * h;
        range[h].first = range[h].last = 0;
        if (i[h] < at.s.queries) range[h] = cuda_key_range(t, at.s, i[h]);
    }
    float max[2] = { -INFINITY, -INFINITY }, sum[2] = { 0, 0 }, out[D / 8][4];
    clear<D>(out);
    const float scale = (float)t.a.scale * LOG2_E;

    for (int from = begin, stage = 0; from < end; from += TILE, stage ^= 1) {
        mma_wait<0>();
        __syncthreads();
        if (from + TILE < end) {
            uint16_t *next = stages + (stage ? 0 : STAGE);
            copy_rows<D, TILE>(f.of[KEY], at.other, from + TILE, next);
            copy_rows<D, TILE>(f.of[VALUE], at.other, from + TILE, next + TILE * STRIDE);
            mma_copies_end();
        }
        const uint16_t *key = stages + (stage ? STAGE : 0), *value = key + TILE * STRIDE;
        float p[PAIRS][4];
        mma_product<TILE_BF16, PAIRS, D>(p, query + warp * WARP_ROWS * STRIDE, key);
        const bool partial = from < end_range.first || from + TILE > begin_range.last;
        if (partial) {
#pragma unroll
            for (int n = 0; n < PAIRS; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int j = from + n * 8 + 2 * (lane % 4) + e % 2;
                    if (j < range[e / 2].first || j >= range[e / 2].last) p[n][e] = -INFINITY;
                }
        }
        online_softmax<D, PAIRS>(p, scale, max, sum, out);
        if (partial && is_strange(f.of[VALUE], at.other, from, TILE))
            mma_add_visible<TILE_BF16, D, TILE>(out, p, value);
        else
            mma_add_product<TILE_BF16, D, TILE>(out, p, value);
    }

#pragma unroll
    for (int h = 0; h < 2; h++) {
        const float all = quad_sum(sum[h]);
        if (i[h] >= at.s.queries) continue;
        const float normalizer = max[h] == -INFINITY && all == 0 ? 0 : 1 / all;
        float *to = t.a.context + cuda_context(t, at.s, at.head, i[h]);
#pragma unroll
        for (int n = 0; n < D / 8; n++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int c = n * 8 + 2 * (lane % 4) + e;
                if (c < t.source.value_width) to[c] = out[n][2 * h + e] * normalizer;
            }
        if (lane % 4 != 0) continue;
        selected state;
        state.max = all != all ? all : max[h] * (float)t.a.scale, state.normalizer = normalizer, state.choice = -1;
        t.a.selected[at.own * (size_t)t.a.max_queries + (size_t)i[h]] = state;
    }
}

/* ---- backward ---- */

/* A row for exponents of 2: a row without a visible key has p = 0. */
static __device__ __forceinline__ tile_row flash_row(const cuda_attention &t, const cuda_sequence &s, size_t row0,
                                                     int i, const real *means)
{
    tile_row r = row_of(t, s, row0, i, means);
    r.max = r.max == -INFINITY ? INFINITY : r.max * LOG2_E;
    return r;
}

/* p, and ds / scale, of one pair. */
static __device__ __forceinline__ void flash_pair(const tile_row &r, float scale, bool is_visible, float *p, float *d)
{
    const float w = is_visible ? mma_exp2(*p * scale - r.max) * r.normalizer : 0;
    *d = is_visible ? w * (*d - r.mean) : 0;
    *p = w;
}

template <int D>
__global__ void __launch_bounds__(THREADS, 1)
    flash_query_gradients(const cuda_attention t, const flash_arrays f, int tiles, const real *means)
{
    enum { TILE = 64, PAIRS = TILE / 8, STRIDE = D + PAD, STAGE = 2 * TILE * STRIDE };
    CUDA_SHARED(uint16_t, shared);
    const flash_place at = place_of(t, tiles, false);
    if (at.first >= at.s.queries) return;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    uint16_t *const query = shared, *const g = query + ROWS * STRIDE, *const stages = g + ROWS * STRIDE;
    const cuda_range begin_range = cuda_key_range(t, at.s, at.first), end_range = cuda_key_range(t, at.s, at.last - 1);
    const int begin = begin_range.first / TILE * TILE, end = end_range.last;

    copy_rows<D, ROWS>(f.of[QUERY], at.own, at.first, query);
    copy_rows<D, ROWS>(f.of[GRADIENT], at.own, at.first, g);
    if (begin < end) {
        copy_rows<D, TILE>(f.of[KEY], at.other, begin, stages);
        copy_rows<D, TILE>(f.of[VALUE], at.other, begin, stages + TILE * STRIDE);
    }
    mma_copies_end();
    int i[2];
    tile_row r[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        i[h] = at.first + warp * WARP_ROWS + lane / 4 + 8 * h;
        r[h] = flash_row(t, at.s, at.own * (size_t)t.a.max_queries, i[h], means);
    }
    float out[D / 8][4];
    clear<D>(out);
    const float scale = (float)t.a.scale * LOG2_E;

    for (int from = begin, stage = 0; from < end; from += TILE, stage ^= 1) {
        mma_wait<0>();
        __syncthreads();
        if (from + TILE < end) {
            uint16_t *next = stages + (stage ? 0 : STAGE);
            copy_rows<D, TILE>(f.of[KEY], at.other, from + TILE, next);
            copy_rows<D, TILE>(f.of[VALUE], at.other, from + TILE, next + TILE * STRIDE);
            mma_copies_end();
        }
        const uint16_t *key = stages + (stage ? STAGE : 0), *value = key + TILE * STRIDE;
        float p[PAIRS][4], d[PAIRS][4];
        mma_product<TILE_BF16, PAIRS, D>(p, query + warp * WARP_ROWS * STRIDE, key);
        mma_product<TILE_BF16, PAIRS, D>(d, g + warp * WARP_ROWS * STRIDE, value);
        const bool partial = from < end_range.first || from + TILE > begin_range.last || at.last - at.first < ROWS;
#pragma unroll
        for (int n = 0; n < PAIRS; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int j = from + n * 8 + 2 * (lane % 4) + e % 2;
                const cuda_range &see = r[e / 2].range;
                flash_pair(r[e / 2], scale, !partial || (j >= see.first && j < see.last), &p[n][e], &d[n][e]);
            }
        if (partial && is_strange(f.of[KEY], at.other, from, TILE))
            mma_add_visible<TILE_BF16, D, TILE>(out, d, key);
        else
            mma_add_product<TILE_BF16, D, TILE>(out, d, key);
    }
#pragma unroll
    for (int h = 0; h < 2; h++)
        if (i[h] < at.s.queries)
            add_row<D>(t.a.dquery + (cuda_query(t, at.s, at.head, i[h]) - t.a.query), t.a.query_width, (float)t.a.scale,
                       out, h);
}

/* Tiles of queries that see a key of the block, in the heads that share its key head. */
struct query_cursor {
    int share, from;
};

template <int TILE> static __device__ bool sees_block(const cuda_attention &t, const flash_place &at, int from)
{
    const int count = at.s.queries - from < TILE ? at.s.queries - from : TILE;
    return cuda_key_range(t, at.s, from + count - 1).last > at.first && cuda_key_range(t, at.s, from).first < at.last;
}

/* The first such tile from the cursor on; share == t.share: there is none. */
template <int TILE>
static __device__ query_cursor find_tile(const cuda_attention &t, const flash_place &at, query_cursor c)
{
    while (c.share < t.share) {
        while (c.from < at.s.queries && !sees_block<TILE>(t, at, c.from)) c.from += TILE;
        if (c.from < at.s.queries) return c;
        c.share++, c.from = 0;
    }
    return c;
}

template <int D, int TILE>
static __device__ __forceinline__ void copy_queries(const flash_arrays &f, const flash_place &at, query_cursor c,
                                                    uint16_t *to)
{
    copy_rows<D, TILE>(f.of[QUERY], at.other + (size_t)c.share, c.from, to);
    copy_rows<D, TILE>(f.of[GRADIENT], at.other + (size_t)c.share, c.from, to + (size_t)TILE * (D + PAD));
    mma_copies_end();
}

template <int D>
__global__ void __launch_bounds__(THREADS, 1)
    flash_key_gradients(const cuda_attention t, const flash_arrays f, int tiles, const real *means)
{
    enum { TILE = 32, PAIRS = TILE / 8, STRIDE = D + PAD, STAGE = 2 * TILE * STRIDE };
    CUDA_SHARED(uint16_t, shared);
    __shared__ tile_row of_queries[2][TILE];
    const flash_place at = place_of(t, tiles, true);
    if (at.first >= at.s.keys) return;
    const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
    uint16_t *const key = shared, *const value = key + ROWS * STRIDE, *const stages = value + ROWS * STRIDE;
    query_cursor now = { 0, 0 };
    now = find_tile<TILE>(t, at, now);
    copy_rows<D, ROWS>(f.of[KEY], at.own, at.first, key);
    copy_rows<D, ROWS>(f.of[VALUE], at.own, at.first, value);
    if (now.share < t.share) copy_queries<D, TILE>(f, at, now, stages);
    mma_copies_end();
    float dkey[D / 8][4], dvalue[D / 8][4];
    clear<D>(dkey), clear<D>(dvalue);
    const float scale = (float)t.a.scale * LOG2_E;

    for (int stage = 0; now.share < t.share; stage ^= 1) {
        const size_t query_head = at.other + (size_t)now.share;
        if (threadIdx.x < TILE)
            of_queries[stage][threadIdx.x] =
                flash_row(t, at.s, query_head * (size_t)t.a.max_queries, now.from + (int)threadIdx.x, means);
        mma_wait<0>();
        __syncthreads();
        query_cursor next = { now.share, now.from + TILE };
        next = find_tile<TILE>(t, at, next);
        if (next.share < t.share) copy_queries<D, TILE>(f, at, next, stages + (stage ? 0 : STAGE));
        const uint16_t *query = stages + (stage ? STAGE : 0), *g = query + TILE * STRIDE;
        float p[PAIRS][4], d[PAIRS][4];
        mma_product<TILE_BF16, PAIRS, D>(p, key + warp * WARP_ROWS * STRIDE, query);
        mma_product<TILE_BF16, PAIRS, D>(d, value + warp * WARP_ROWS * STRIDE, g);
        const int end = now.from + TILE < at.s.queries ? now.from + TILE : at.s.queries;
        const cuda_range first_range = cuda_key_range(t, at.s, now.from), last_range = cuda_key_range(t, at.s, end - 1);
        const bool partial = last_range.first > at.first || first_range.last < at.first + ROWS || end < now.from + TILE;
#pragma unroll
        for (int n = 0; n < PAIRS; n++)
#pragma unroll
            for (int c = 0; c < 2; c++) {
                const tile_row r = of_queries[stage][n * 8 + 2 * (lane % 4) + c];
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const int j = at.first + warp * WARP_ROWS + lane / 4 + 8 * h;
                    flash_pair(r, scale, !partial || (j >= r.range.first && j < r.range.last), &p[n][2 * h + c],
                               &d[n][2 * h + c]);
                }
            }
        if (partial && (is_strange(f.of[QUERY], query_head, now.from, TILE) ||
                        is_strange(f.of[GRADIENT], query_head, now.from, TILE))) {
            mma_add_visible<TILE_BF16, D, TILE>(dvalue, p, g);
            mma_add_visible<TILE_BF16, D, TILE>(dkey, d, query);
        } else {
            mma_add_product<TILE_BF16, D, TILE>(dvalue, p, g);
            mma_add_product<TILE_BF16, D, TILE>(dkey, d, query);
        }
        now = next;
    }
    mma_wait<0>();
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int j = at.first + warp * WARP_ROWS + lane / 4 + 8 * h;
        if (j >= at.s.keys) continue;
        if (t.a.dkey)
            add_row<D>(t.a.dkey + (cuda_key(t, at.s, at.key_head, j) - t.source.keys), t.source.key_width,
                       (float)t.a.scale, dkey, h);
        if (t.a.dvalue)
            add_row<D>(t.a.dvalue + (cuda_value(t, at.s, at.key_head, j) - t.source.values), t.source.value_width, 1,
                       dvalue, h);
    }
}

/* ---- launches ---- */

static int width_of(const cuda_attention &t)
{
    return t.source.key_width <= 64 && t.source.value_width <= 64 ? 64 : 128;
}

bool cuda_flash_serves(const cuda_call *call, const cuda_attention &t)
{
    enum { MIN_LENGTH = 256 };
    return call->compute->precision == ATTEND_COMPUTE_BF16 && t.a.max_queries >= MIN_LENGTH &&
           t.source.max_keys >= MIN_LENGTH && t.a.dropout == 0 && t.a.scale > 0;
}

static unsigned tile_count(int rows)
{
    return (unsigned)((rows + ROWS - 1) / ROWS);
}

/* Rounds one operand to bf16. Returns false if memory runs out. */
static bool convert(cuda_call *call, const cuda_attention &t, operand which, flash_arrays *f)
{
    const bool of_query = which == QUERY || which == GRADIENT;
    const size_t heads = (size_t)t.source.count * (size_t)(of_query ? t.source.heads : t.source.key_heads);
    flash_rows *r = &f->of[which];
    r->rows = (size_t)tile_count(of_query ? t.a.max_queries : t.source.max_keys) * ROWS;
    const size_t blocks = heads * (r->rows / CONVERTED), numbers = heads * r->rows * (size_t)width_of(t);
    r->data = static_cast<uint16_t *>(call->take(numbers * sizeof *r->data));
    r->strange = static_cast<int *>(call->take(blocks * sizeof *r->strange));
    if (!r->data || !r->strange) return false;
    if (width_of(t) == 64)
        CUDA_LAUNCH(flash_convert<64>, (unsigned)blocks, 128, 0, t, which, *r);
    else
        CUDA_LAUNCH(flash_convert<128>, (unsigned)blocks, 128, 0, t, which, *r);
    return true;
}

#define LAUNCH_WIDTH(kernel, D, blocks, shared, ...)                                                                   \
    do {                                                                                                               \
        if (cuda_allow_shared((const void *)kernel<D>, (shared) * sizeof(uint16_t[D + PAD])))                          \
            CUDA_LAUNCH(kernel<D>, blocks, THREADS, (shared) * sizeof(uint16_t[D + PAD]), __VA_ARGS__);                \
        else                                                                                                           \
            cuda_fail(#kernel, "the GPU has too little shared memory");                                                \
    } while (0)
/* `shared`: rows in shared memory. */
#define LAUNCH_FLASH(kernel, blocks, shared, ...)                                                                      \
    do {                                                                                                               \
        if (width_of(t) == 64)                                                                                         \
            LAUNCH_WIDTH(kernel, 64, blocks, shared, __VA_ARGS__);                                                     \
        else                                                                                                           \
            LAUNCH_WIDTH(kernel, 128, blocks, shared, __VA_ARGS__);                                                    \
    } while (0)

bool cuda_flash_forward(cuda_call *call, const cuda_attention &t)
{
    flash_arrays f = flash_arrays();
    if (!convert(call, t, QUERY, &f) || !convert(call, t, KEY, &f) || !convert(call, t, VALUE, &f)) return false;
    const unsigned tiles = tile_count(t.a.max_queries),
                   blocks = tiles * (unsigned)t.source.count * (unsigned)t.source.heads;
    LAUNCH_FLASH(flash_forward, blocks, (size_t)ROWS + (size_t)4 * 64, t, f, (int)tiles);
    return true;
}

bool cuda_flash_backward(cuda_call *call, const cuda_attention &t, const real *means)
{
    flash_arrays f = flash_arrays();
    for (int i = QUERY; i <= GRADIENT; i++)
        if (!convert(call, t, (operand)i, &f)) return false;
    if (t.a.dquery) {
        const unsigned tiles = tile_count(t.a.max_queries);
        const unsigned blocks = tiles * (unsigned)t.source.count * (unsigned)t.source.heads;
        LAUNCH_FLASH(flash_query_gradients, blocks, 2 * (size_t)ROWS + (size_t)4 * 64, t, f, (int)tiles, means);
    }
    if (t.a.dkey || t.a.dvalue) {
        const unsigned tiles = tile_count(t.source.max_keys);
        const unsigned blocks = tiles * (unsigned)t.source.count * (unsigned)t.source.key_heads;
        LAUNCH_FLASH(flash_key_gradients, blocks, 2 * (size_t)ROWS + (size_t)4 * 32, t, f, (int)tiles, means);
    }
    return true;
}

#endif
