/* vector_bf16.c: products of bfloat16 numbers, alone (bf16) or as halves of floats (bf16x3).
 *
 * Each step multiplies a pair of numbers of a row with a pair of weights of every column of a panel. Every element is summed
 * over k in ascending order, whatever the shape of the tile; with halves, a step adds low high, high high and high low. */
#include ATTEND_VECTOR_HEADER
#include "kernel/tables.h"
#include "kernel/vector_tiles.h"

#ifdef __clang__
#define STEPS _Pragma("clang loop unroll_count(2)")
#else
#define STEPS _Pragma("GCC unroll 2")
#endif

enum {
    PANEL = 2 * VLANES,
    MAX_PANELS = 6,      /* in a tile */
    ROWS = VPACKED_ROWS, /* of a tile */
    K_BLOCK = 512,       /* rows of a panel that stay in the first-level cache */
    A_BLOCK = 1 << 17,   /* numbers of A that stay in the second-level cache */
};

/* ---- rounding ---- */

INLINE vf load_first(const float *x, size_t n)
{
    return n >= VLANES ? vf_load(x) : vf_load_first(x, n);
}

INLINE vi low_of(vf x, vi high)
{
    return vf_round_bf16(vf_sub(x, vf_from_bits(high)));
}

static void store_upper(uint16_t *to, vi a, size_t n)
{
    uint16_t rest[VLANES];
    vi_store_upper(rest, a);
    memcpy(to, rest, n * sizeof *to);
}

void VBF16(split)(size_t n, const real *x, uint16_t *high, uint16_t *low)
{
    size_t i = 0;
    for (; i + VLANES <= n; i += VLANES) {
        const vf v = vf_load(x + i);
        const vi upper = vf_round_bf16(v);
        vi_store_upper(high + i, upper);
        if (low) vi_store_upper(low + i, low_of(v, upper));
    }
    if (i == n) return;
    const vf v = vf_load_first(x + i, n - i);
    const vi upper = vf_round_bf16(v);
    store_upper(high + i, upper, n - i);
    if (low) store_upper(low + i, low_of(v, upper), n - i);
}

static void store_pairs(uint16_t *to, vi pairs, size_t n)
{
    uint32_t rest[VLANES];
    if (n >= VLANES) {
        vi_store(to, pairs);
    } else {
        vi_store(rest, pairs);
        memcpy(to, rest, n * sizeof *rest);
    }
}

void VBF16(split_pairs)(size_t n, const real *x, const real *y, uint16_t *high, uint16_t *low)
{
    for (size_t i = 0; i < n; i += VLANES) {
        const vf a = load_first(x + i, n - i), b = load_first(y + i, n - i);
        const vi a_high = vf_round_bf16(a), b_high = vf_round_bf16(b);
        store_pairs(high + 2 * i, vi_pair_upper(a_high, b_high), n - i);
        if (low) store_pairs(low + 2 * i, vi_pair_upper(low_of(a, a_high), low_of(b, b_high)), n - i);
    }
}

/* ---- tiles ---- */

/* A tile: its first row and column, and the first panel. */
typedef struct bf16_tile {
    packed_start start;
    const float *bias;
    const uint16_t *a, *a_low, *b, *b_low;
    size_t k, a_row, panel_stride;
    float *c;
    size_t ldc, columns; /* columns of C from the first one of the tile on */
} bf16_tile;

/* How many columns of vector v there are. Every vector is loaded and stored with a mask: branches for complete vectors made
 * up half of the code. */
INLINE size_t lanes(const bf16_tile *t, int v)
{
    const size_t first = (size_t)v * VLANES;
    return t->columns <= first ? 0 : t->columns - first < VLANES ? t->columns - first : VLANES;
}

/* sum += a b for one pair of k and one vector of columns; a: high and low, b: high and low */
INLINE vf dot(const bool both, vf sum, vi a, vi a_low, vi b, vi b_low)
{
    if (both) sum = vf_dot_bf16(sum, a_low, b);
    sum = vf_dot_bf16(sum, a, b);
    return both ? vf_dot_bf16(sum, a, b_low) : sum;
}

/* One pair of k for many rows: the weights stay in registers. */
INLINE void step_tall(const int rows, const bool both, const bf16_tile *t, size_t l, vf sum[][2 * MAX_PANELS])
{
    const size_t at = l * PANEL;
    vi b0 = vi_load(t->b + at), b1 = vi_load(t->b + at + 2 * VLANES), low0 = b0, low1 = b1;
    if (both) low0 = vi_load(t->b_low + at), low1 = vi_load(t->b_low + at + 2 * VLANES);
    KEEP_IN_REGISTER(b0);
    KEEP_IN_REGISTER(b1);
    if (both) KEEP_IN_REGISTER(low0);
    if (both) KEEP_IN_REGISTER(low1);
    UNROLL for (int r = 0; r < rows; r++)
    {
        const size_t from = (size_t)r * t->a_row + l;
        const vi x = vi_load_group(t->a + from), x_low = both ? vi_load_group(t->a_low + from) : x;
        sum[r][0] = dot(both, sum[r][0], x, x_low, b0, low0);
        sum[r][1] = dot(both, sum[r][1], x, x_low, b1, low1);
    }
}

/* One pair of k for few rows: the numbers of the rows stay in registers. */
INLINE void step_wide(const int rows, const int panels, const bool both, const bf16_tile *t, size_t l,
                      vf sum[][2 * MAX_PANELS])
{
    vi x[3], x_low[3];
    UNROLL for (int r = 0; r < rows; r++)
    {
        x[r] = vi_load_group(t->a + (size_t)r * t->a_row + l);
        x_low[r] = both ? vi_load_group(t->a_low + (size_t)r * t->a_row + l) : x[r];
    }
    UNROLL for (int v = 0; v < 2 * panels; v++)
    {
        const size_t at = (size_t)(v / 2) * t->panel_stride + l * PANEL + (size_t)(v % 2) * 2 * VLANES;
        const vi w = vi_load(t->b + at), w_low = both ? vi_load(t->b_low + at) : w;
        UNROLL for (int r = 0; r < rows; r++) sum[r][v] = dot(both, sum[r][v], x[r], x_low[r], w, w_low);
    }
}

INLINE void step(const int rows, const int panels, const bool both, const bf16_tile *t, size_t l,
                 vf sum[][2 * MAX_PANELS])
{
    if (panels == 1)
        step_tall(rows, both, t, l, sum);
    else
        step_wide(rows, panels, both, t, l, sum);
}

INLINE void tile(const int rows, const int panels, const bool both, const bf16_tile *at)
{
    const bf16_tile t = *at;
    vf sum[ROWS][2 * MAX_PANELS];
    const float *from = t.start == PACKED_ADD ? t.c : t.bias;
    const size_t from_row = t.start == PACKED_ADD ? t.ldc : 0;
    UNROLL for (int v = 0; v < 2 * panels; v++)
    {
        const size_t count = t.start == PACKED_ZERO ? 0 : lanes(&t, v);
        UNROLL for (int r = 0; r < rows; r++) sum[r][v] =
            count ? vf_load_first(from + (size_t)r * from_row + (size_t)v * VLANES, count) : vf_zero();
    }
    if (both) /* three products in a step: unrolling it would only make the code larger */
        for (size_t l = 0; l < t.k; l += 2) step(rows, panels, true, &t, l, sum);
    else
        STEPS for (size_t l = 0; l < t.k; l += 2) step(rows, panels, false, &t, l, sum);
    UNROLL for (int v = 0; v < 2 * panels; v++)
    {
        const size_t count = lanes(&t, v);
        if (count)
            UNROLL for (int r = 0; r < rows; r++)
                vf_store_first(t.c + (size_t)r * t.ldc + (size_t)v * VLANES, sum[r][v], count);
    }
}

INLINE int panels_for(size_t rows)
{
    return rows == 1 ? 4 : rows == 2 ? 3 : rows == 3 ? 2 : 1;
}

INLINE void tile_of(const bool both, size_t rows, bool all_panels, const bf16_tile *t)
{
    switch (rows) {
    case 1:
        all_panels ? tile(1, 4, both, t) : tile(1, 1, both, t);
        break;
    case 2:
        all_panels ? tile(2, 3, both, t) : tile(2, 1, both, t);
        break;
    case 3:
        all_panels ? tile(3, 2, both, t) : tile(3, 1, both, t);
        break;
#define CASE(rows)                                                                                                     \
    case rows:                                                                                                         \
        tile(rows, 1, both, t);                                                                                        \
        break;
        TALL_TILES(CASE)
#undef CASE
    default:
        break;
    }
}

/* A block of rows of C, all n columns. The block of A stays in the second-level cache; of each panel, a block of k stays in
 * the first-level cache while all rows use it. */
INLINE void row_block(const bool both, const bf16_product *p, size_t first, size_t rows)
{
    const size_t k_block = rows <= ROWS ? p->k : K_BLOCK;
    size_t step = (size_t)panels_for(rows);
    for (size_t j = 0; j < p->n; j += step * PANEL) {
        if (p->n - j < step * PANEL) step = 1;
        const size_t panel = j / PANEL * p->panel_stride;
        /* The loop runs once even if k is 0, to set C to its initial value. */
        for (size_t l = 0; l < p->k || l == 0; l += k_block) {
            bf16_tile t = { .start = l ? PACKED_ADD : p->start,
                            .bias = p->bias ? p->bias + j : NULL,
                            .k = p->k - l < k_block ? p->k - l : k_block,
                            .a_row = p->a_row,
                            .b = p->b + panel + l * PANEL,
                            .b_low = both ? p->b_low + panel + l * PANEL : NULL,
                            .panel_stride = p->panel_stride,
                            .ldc = p->ldc,
                            .columns = p->n - j };
            for (size_t i = 0, height; i < rows; i += height) {
                height = next_rows(rows - i, ROWS);
                t.a = p->a + (first + i) * p->a_row + l;
                t.a_low = both ? p->a_low + (first + i) * p->a_row + l : NULL;
                t.c = p->c + (first + i) * p->ldc + j;
                tile_of(both, height, step > 1 && step == (size_t)panels_for(height), &t);
            }
            if (k_block == 0) break;
        }
    }
}

static __attribute__((noinline)) void rows_of_one(const bf16_product *p, size_t first, size_t rows)
{
    row_block(false, p, first, rows);
}

static __attribute__((noinline)) void rows_of_both(const bf16_product *p, size_t first, size_t rows)
{
    row_block(true, p, first, rows);
}

static void product(const bf16_product *p)
{
    const size_t max_rows = A_BLOCK / (p->k + 1) > 8 * ROWS ? A_BLOCK / (p->k + 1) / ROWS * ROWS : 8 * ROWS;
    for (size_t row = 0; row < p->m; row += max_rows)
        (p->a_low ? rows_of_both : rows_of_one)(p, row, p->m - row < max_rows ? p->m - row : max_rows);
}

const bf16_kernels
    VBF16(kernels) = { .depth = 2, .split = VBF16(split), .split_pairs = VBF16(split_pairs), .product = product };
