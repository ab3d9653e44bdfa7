/* vector_packed.c: the product with packed weights, C (m, n) = A (m, k) B, for few rows and for many.
 *
 * A tile is some rows of A times one or more panels of B (two vectors of columns each). Its sums stay in registers
 * while k runs; each step loads the panel's two vectors and broadcasts one number per row. Every element is summed over
 * k in ascending order, whatever the shape of the tile, so a row's result is bit-identical alone and in a batch. Tiles
 * of few rows take several panels at once, so that there are enough independent sums to hide the latency of the
 * multiply-add. */
#include ATTEND_VECTOR_HEADER
#include "kernel/tables.h"
#include "kernel/vector_tiles.h"
#include <string.h>

/* The loop over k is unrolled too: for a small k, such as 64 in attention scores, loop overhead is noticeable. */
#ifdef __clang__
#define STEPS _Pragma("clang loop unroll_count(8)")
#else
#define STEPS _Pragma("GCC unroll 8")
#endif

enum {
    PANEL = 2 * VLANES,
    MAX_PANELS = 6, /* in a tile */
    GROUP = 3,      /* rows of A that a tile addresses from one pointer: +0, +1 and +2 rows */
    GROUPS = (VPACKED_ROWS + GROUP - 1) / GROUP,
    K_BLOCK = 512,   /* rows of a panel that stay in the first- or second-level cache */
    A_BLOCK = 80000, /* numbers of A that stay in the second-level cache */
    MIN_ROWS = 48,   /* minimum number of rows of a block of A */
    LINE = 64,       /* bytes of a cache line */
    SET = 4096,      /* bytes between lines of the same set of the first-level cache */
    WAYS = 8,        /* lines per set */
};

typedef struct product {
    packed_start start;
    const float *bias; /* at the tile's first column */
    size_t k;
    const float *a;
    size_t a_row, a_step; /* from one row to the next, and from one k to the next */
    size_t a_tile;        /* from one tile of rows to the next if A is packed in tiles, else 0 */
    const void *b;        /* panel, at the first k of this block: floats, or bfloat16 */
    size_t panel_stride;
    const char *ahead; /* weights to prefetch into the second-level cache */
    size_t ahead_step; /* bytes to prefetch per step of k */
    float *c;
    size_t ldc;
    size_t columns;    /* of C from the tile's first column on; fewer than a panel only in the last panel */
    const float *from; /* initial sums of PACKED_ADD: the tile of C, or a copy of it */
    size_t from_row;
    const float *next_c; /* the next tile of C, of which keep_rows rows are copied to `kept` */
    size_t keep_rows;
    float *kept;
    const float *far_c; /* the tile after it, of as many rows, to prefetch */
} product;

/* The vector of weights at element `at` of b; `half`: bfloat16. */
INLINE vf load_weights(const bool half, const void *b, size_t at)
{
    return half ? vf_load_bf16((const uint16_t *)b + at) : vf_load((const float *)b + at);
}

INLINE const void *weights_at(const bool half, const void *b, size_t at)
{
    return half ? (const void *)((const uint16_t *)b + at) : (const void *)((const float *)b + at);
}

/* One step of k for many rows: the two vectors of the panel stay in registers. a[i] points to row i GROUP. */
INLINE void step_tall(const int rows, const bool half, const float *const a[], size_t a_row, const void *b,
                      vf sum[][2 * MAX_PANELS])
{
    vf b0 = load_weights(half, b, 0), b1 = load_weights(half, b, VLANES);
    KEEP_IN_REGISTER(b0);
    KEEP_IN_REGISTER(b1);
    UNROLL for (int r = 0; r < rows; r++)
    {
        const vnumber ar = vnumber_load(a[r / GROUP] + (size_t)(r % GROUP) * a_row);
        sum[r][0] = vf_fma_number(ar, b0, sum[r][0]);
        sum[r][1] = vf_fma_number(ar, b1, sum[r][1]);
    }
}

/* One step of k for few rows: the numbers of the rows stay in registers. */
INLINE void step_wide(const int rows, const int panels, const bool half, const float *a, size_t a_row, const void *b,
                      size_t panel_stride, vf sum[][2 * MAX_PANELS])
{
    vnumber ar[3];
    UNROLL for (int r = 0; r < rows; r++) ar[r] = vnumber_load(a + (size_t)r * a_row);
    UNROLL for (int v = 0; v < 2 * panels; v++)
    {
        vf bv = load_weights(half, b, (size_t)(v / 2) * panel_stride + (size_t)(v % 2) * VLANES);
        if (rows > 1) KEEP_IN_REGISTER(bv);
        UNROLL for (int r = 0; r < rows; r++) sum[r][v] = vf_fma_number(ar[r], bv, sum[r][v]);
    }
}

/* The sums of a wide tile. */
INLINE void sum_wide(const int rows, const int panels, const bool half, const product *t, vf sum[][2 * MAX_PANELS])
{
    const float *a = t->a;
    const void *b = t->b;
    const size_t a_row = t->a_row, a_step = t->a_step, k = t->k;
    STEPS for (size_t i = 0; i < k; i++, a += a_step, b = weights_at(half, b, PANEL))
        step_wide(rows, panels, half, a, a_row, b, t->panel_stride, sum);
}

/* The sums of a tall tile. The steps are divided into as many parts as there are rows; after each part, a row of the
 * next tile of C is copied, and one of the tile after that is prefetched. A load of C must wait for earlier stores whose
 * addresses have the same last 12 bits, which those of the previous tile have if rows are a power of two apart: the copy
 * is loaded instead (k = 256: 0.93 -> 0.96 of the peak). One row at a time leaves the buffers for cache misses to A and
 * B. */
INLINE void sum_tall(const int rows, const bool half, const product *t, vf sum[][2 * MAX_PANELS])
{
    enum { UNROLLED = 8 };
    const float *a[GROUPS], *next_c = t->next_c, *far_c = t->far_c;
    const void *b = t->b;
    float *kept = t->kept;
    const char *ahead = t->ahead;
    const size_t a_row = t->a_row, a_step = t->a_step, k = t->k, ahead_step = t->ahead_step, ldc = t->ldc,
                 keep_rows = t->keep_rows, part = k / (UNROLLED * (size_t)rows) * UNROLLED;
    UNROLL for (int g = 0; g * GROUP < rows; g++)
    {
        a[g] = t->a + (size_t)(g * GROUP) * a_row;
        KEEP_POINTER(a[g]);
    }
    for (size_t row = 1, i = 0; row <= (size_t)rows; row++) {
        const size_t end = row == (size_t)rows ? k : row * part;
        STEPS for (; i < end; i++, b = weights_at(half, b, PANEL))
        {
            __builtin_prefetch(ahead, 0, 2);
            if (ahead_step > LINE) __builtin_prefetch(ahead + LINE, 0, 2);
            ahead += ahead_step;
            step_tall(rows, half, a, a_row, b, sum);
            UNROLL for (int g = 0; g * GROUP < rows; g++) a[g] += a_step;
        }
        UNROLL for (size_t v = 0; v < PANEL; v += LINE / sizeof(float)) __builtin_prefetch(far_c + v, 0, 2);
        far_c += ldc;
        if (row > keep_rows) continue;
        vf_store(kept, vf_load(next_c));
        vf_store(kept + VLANES, vf_load(next_c + VLANES));
        next_c += ldc, kept += PANEL;
    }
}

INLINE void tile(const int rows, const int panels, const bool half, const product *t)
{
    vf sum[VPACKED_ROWS][2 * MAX_PANELS];
    UNROLL for (int r = 0; r < rows; r++)
    {
        const float *from = t->start == PACKED_ADD ? t->from + (size_t)r * t->from_row : t->bias;
        UNROLL for (int v = 0; v < 2 * panels; v++) sum[r][v] =
            t->start == PACKED_ZERO ? vf_zero() : vf_load(from + (size_t)v * VLANES);
    }
    if (panels > 1)
        sum_wide(rows, panels, half, t, sum);
    else
        sum_tall(rows, half, t, sum);
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < 2 * panels; v++)
        vf_store(t->c + (size_t)r * t->ldc + (size_t)v * VLANES, sum[r][v]);
}

/* The number of panels of a tile: as many as fill the registers. */
INLINE int panels_for(size_t rows)
{
    return rows == 1 ? 6 : rows == 2 ? 3 : rows == 3 ? 2 : 1;
}

/* A function for each shape and kind of weights: in one large function, the compiler allocates registers to each tile
 * less well. */
#define TILES(name, rows, panels)                                                                                      \
    static __attribute__((noinline)) void tile_##name(const product *t)                                                \
    {                                                                                                                  \
        tile(rows, panels, false, t);                                                                                  \
    }                                                                                                                  \
    static __attribute__((noinline)) void tile_bf16_##name(const product *t)                                           \
    {                                                                                                                  \
        tile(rows, panels, true, t);                                                                                   \
    }
#define TALL(rows) TILES(rows, rows, 1)
TILES(wide1, 1, 6)
TILES(wide2, 2, 3)
TILES(wide3, 3, 2)
TALL(1)
TALL(2)
TALL(3)
TALL_TILES(TALL)

/* A complete tile of a packed A, whose strides are constants. */
static __attribute__((noinline)) void tile_packed(const product *t)
{
    product p = *t;
    p.a_row = 1, p.a_step = VPACKED_ROWS;
    tile(VPACKED_ROWS, 1, false, &p);
}

INLINE void tile_of(const bool half, size_t rows, bool all_panels, const product *t)
{
    typedef void tile_function(const product *t);
#define ADDRESS(rows)      tile_##rows,
#define BF16_ADDRESS(rows) tile_bf16_##rows,
    static tile_function *const tall[] = { NULL, tile_1, tile_2, tile_3, TALL_TILES(ADDRESS) },
                                *const tall_bf16[] = { NULL, tile_bf16_1, tile_bf16_2, tile_bf16_3,
                                                       TALL_TILES(BF16_ADDRESS) },
                                *const wide[] = { NULL, tile_wide1, tile_wide2, tile_wide3 },
                                *const wide_bf16[] = { NULL, tile_bf16_wide1, tile_bf16_wide2, tile_bf16_wide3 };
    if (all_panels && rows < 4)
        (half ? wide_bf16 : wide)[rows](t);
    else if (t->a_tile && rows == VPACKED_ROWS)
        tile_packed(t);
    else
        (half ? tall_bf16 : tall)[rows](t);
}

/* A tile of the last panel, of which C has only some columns: computes a complete tile beside C. */
INLINE void edge_tile(const bool half, size_t rows, const product *t)
{
    _Alignas(LINE) float c[VPACKED_ROWS * PANEL] = { 0 }, bias[PANEL] = { 0 };
    const size_t bytes = t->columns * sizeof *c;
    product whole = *t;
    if (t->start == PACKED_BIAS) memcpy(bias, t->bias, bytes);
    for (size_t r = 0; t->start == PACKED_ADD && r < rows; r++) memcpy(c + r * PANEL, t->c + r * t->ldc, bytes);
    whole.bias = bias, whole.c = c, whole.ldc = whole.from_row = PANEL;
    whole.from = whole.next_c = whole.far_c = c, whole.keep_rows = 0;
    tile_of(half, rows, false, &whole);
    for (size_t r = 0; r < rows; r++) memcpy(t->c + r * t->ldc, c + r * PANEL, bytes);
}

/* Bytes of a panel's weights per step of k. */
INLINE size_t step_bytes(const bool half)
{
    return PANEL * (half ? sizeof(uint16_t) : sizeof(float));
}

/* The weights after those of block t, which is at column j and k = l; after the last panel, the first panel, for the
 * next rows. They are prefetched while the rows of t are computed, one line per step, so that they arrive in time even
 * from memory without competing for bandwidth. Tiles of few rows, which use several panels at once, rely on the
 * hardware prefetcher, which was faster. */
INLINE const char *next_weights(const bool half, const product *begin, const product *t, size_t j, size_t l)
{
    if (l + t->k < begin->k) return weights_at(half, t->b, t->k * PANEL);
    return weights_at(half, begin->b, t->columns > PANEL ? (j / PANEL + 1) * begin->panel_stride : 0);
}

/* The maximum number of rows of a tile: rows of A whose lines all fall into one cache set must fit into its ways. */
INLINE size_t max_tile_rows(const product *t)
{
    const bool same_set = t->a_step == 1 && t->a_row * sizeof(float) % SET == 0;
    const size_t max_rows = VPACKED_ROWS;
    return same_set && max_rows > WAYS ? WAYS : max_rows;
}

/* The rows of the next tile. Tiles in which A is packed are complete except for the last. */
INLINE size_t tile_height(const product *t, size_t left, size_t max_rows)
{
    if (!t->a_tile) return next_rows(left, max_rows);
    return left < VPACKED_ROWS ? left : VPACKED_ROWS;
}

/* Where the initial sums of tile t are, and the tiles of C after it, which is `height` rows high: the next one begins at
 * `row` and has `next` rows; 0: it is in the next panel. */
INLINE void set_c(product *t, size_t rows, size_t row, size_t height, size_t next)
{
    t->from = t->keep_rows ? t->kept : t->c;
    t->from_row = t->keep_rows ? PANEL : t->ldc;
    t->next_c = t->c + height * t->ldc;
    t->keep_rows = t->start == PACKED_ADD && t->columns >= PANEL && next <= height ? next : 0;
    if (row + next < rows)
        t->far_c = t->next_c + next * t->ldc;
    else
        t->far_c = t->columns <= PANEL ? t->c : t->c + PANEL - (row - height) * t->ldc + (next ? 0 : height) * t->ldc;
}

/* A block of rows of C, all n columns. The block of A stays in the second-level cache; of each panel, a block of k
 * stays in the first-level cache while all rows use it. */
INLINE void row_block(const bool half, product t, size_t rows, size_t n)
{
    const product begin = t;
    _Alignas(LINE) float kept[VPACKED_ROWS * PANEL];
    t.kept = kept, t.keep_rows = 0;
    const size_t max_rows = max_tile_rows(&t), k_blocks = (begin.k + K_BLOCK - 1) / K_BLOCK;
    const size_t k_block =
        rows <= VPACKED_ROWS || t.a_tile || k_blocks < 2 ? begin.k : (begin.k + k_blocks - 1) / k_blocks;
    size_t step = (size_t)panels_for(rows);
    for (size_t j = 0; j < n; j += step * PANEL) {
        if (n - j < step * PANEL) step = 1;
        t.columns = n - j;
        t.start = begin.start;
        t.bias = begin.bias ? begin.bias + j : NULL;
        /* The loop runs once even if k is 0, to set C to its initial value. */
        for (size_t l = 0; l < begin.k || l == 0; l += k_block) {
            t.k = begin.k - l < k_block ? begin.k - l : k_block;
            t.b = weights_at(half, begin.b, j / PANEL * begin.panel_stride + l * PANEL);
            const char *next = next_weights(half, &begin, &t, j, l), *const end = next + t.k * step_bytes(half);
            for (size_t i = 0, height; i < rows; i += height) {
                height = tile_height(&begin, rows - i, max_rows);
                t.ahead = next;
                t.ahead_step = next >= end ? 0 : height == rows || step_bytes(half) < LINE ? step_bytes(half) : LINE;
                next += t.ahead_step * t.k;
                t.a = begin.a + l * begin.a_step + (begin.a_tile ? i / VPACKED_ROWS * begin.a_tile : i * begin.a_row);
                t.c = begin.c + i * begin.ldc + j;
                set_c(&t, rows, i + height, height,
                      i + height < rows ? tile_height(&begin, rows - i - height, max_rows) : 0);
                if (t.columns < PANEL)
                    edge_tile(half, height, &t);
                else
                    tile_of(half, height, step == (size_t)panels_for(height), &t);
            }
            t.start = PACKED_ADD;
            if (k_block == 0) break;
        }
    }
}

/* One copy of the tiles for each kind of weights, which are most of the code of a table. */
static __attribute__((noinline)) void row_block_float(const product *t, size_t rows, size_t n)
{
    row_block(false, *t, rows, n);
}

static __attribute__((noinline)) void row_block_bf16(const product *t, size_t rows, size_t n)
{
    row_block(true, *t, rows, n);
}

/* Divides the rows into blocks of equal height. A block of A fits into the second-level cache. A transposed A, whose
 * rows are spread over many cache lines, has MIN_ROWS rows per block, which fit into the first-level cache. */
INLINE void all_rows(const bool half, product t, size_t m, size_t n)
{
    const size_t max_rows = t.a_step == 1 && A_BLOCK / (t.k + 1) > MIN_ROWS ? A_BLOCK / (t.k + 1) : MIN_ROWS;
    const size_t blocks = (m + max_rows - 1) / max_rows;
    const size_t height = ((m + blocks - 1) / blocks + VPACKED_ROWS - 1) / VPACKED_ROWS * VPACKED_ROWS;
    for (size_t row = 0; row < m; row += height) {
        product part = t;
        part.a += row * t.a_row;
        part.c += row * t.ldc;
        (half ? row_block_bf16 : row_block_float)(&part, m - row < height ? m - row : height, n);
    }
}

void VNAME(packed)(packed_start start, const float *bias, size_t m, size_t n, size_t k, const float *a, size_t a_row,
                   size_t a_step, const float *b, size_t panel_stride, float *c, size_t ldc)
{
    all_rows(false,
             (product){ .start = start,
                        .bias = bias,
                        .k = k,
                        .a = a,
                        .a_row = a_row,
                        .a_step = a_step,
                        .b = b,
                        .panel_stride = panel_stride,
                        .c = c,
                        .ldc = ldc },
             m, n);
}

void VNAME(packed_tiles)(packed_start start, size_t m, size_t n, size_t k, const float *a, const float *b, float *c,
                         size_t ldc)
{
    row_block_float(&(product){ .start = start,
                                .k = k,
                                .a = a,
                                .a_row = 1,
                                .a_step = VPACKED_ROWS,
                                .a_tile = k * VPACKED_ROWS,
                                .b = b,
                                .panel_stride = k * PANEL,
                                .c = c,
                                .ldc = ldc },
                    m, n);
}

void VNAME(packed_bf16)(packed_start start, const float *bias, size_t m, size_t n, size_t k, const float *a,
                        size_t a_row, const uint16_t *b, float *c, size_t ldc)
{
    all_rows(true,
             (product){ .start = start,
                        .bias = bias,
                        .k = k,
                        .a = a,
                        .a_row = a_row,
                        .a_step = 1,
                        .b = b,
                        .panel_stride = k * PANEL,
                        .c = c,
                        .ldc = ldc },
             m, n);
}
