/* vector_int8.c: the integer product: activations in int16, weights in int8.
 *
 * Each step multiplies two numbers of a row with two weights of every column of a panel and adds the two products: one
 * instruction for 2 VLANES products. Weights are extended to int16 when they are loaded. Activations in int16 cost no
 * more than int8 here and lose no measurable precision; the caller limits them so that no int32 sum overflows. */
#include ATTEND_VECTOR_HEADER
#include "kernel/tables.h"
#include "kernel/vector_tiles.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#define STEPS _Pragma("clang loop unroll_count(4)")
#else
#define STEPS _Pragma("GCC unroll 4")
#endif

enum {
    PANEL = 2 * VLANES,
    MAX_PANELS = 6,      /* in a tile */
    ROWS = VPACKED_ROWS, /* of a tile */
    A_BLOCK = 1 << 17,   /* numbers of A that stay in the second-level cache */
};

real VNAME(quantize)(size_t n, const real *x, int limit, int16_t *q)
{
    vf largest_lanes = vf_zero(), non_finite = vf_zero();
    size_t i = 0;
    for (; i < n; i += VLANES) {
        const vf v = n - i >= VLANES ? vf_load(x + i) : vf_load_first(x + i, n - i);
        largest_lanes = vf_max(largest_lanes, vf_max(v, vf_sub(vf_zero(), v)));
        non_finite = vf_fma(v, vf_zero(), non_finite); /* 0, or NaN if a number is not finite */
    }
    const float largest = vf_max_lane(largest_lanes), scale = largest / (float)limit, inverse = (float)limit / largest;
    if (!(vf_sum(non_finite) == 0)) {
        memset(q, 0, n * sizeof *q);
        return NAN;
    }
    if (!(scale > 0) || !isfinite(inverse)) {
        memset(q, 0, n * sizeof *q);
        return 0;
    }
    const vf factor = vf_set1(inverse);
    for (i = 0; i + VLANES <= n; i += VLANES) vf_store_shorts(q + i, vf_mul(vf_load(x + i), factor));
    if (i < n) {
        int16_t rest[VLANES];
        vf_store_shorts(rest, vf_mul(vf_load_first(x + i, n - i), factor));
        memcpy(q + i, rest, (n - i) * sizeof *q);
    }
    return scale;
}

/* ---- tiles ---- */

typedef struct int8_tile {
    const int8_product *p;
    size_t row, column; /* the tile's first */
    const int8_t *b;    /* its first panel */
} int8_tile;

INLINE int32_t pair_at(const int16_t *a)
{
    int32_t pair;
    memcpy(&pair, a, sizeof pair);
    return pair;
}

/* One vector of columns of one row. */
INLINE void finish(const int8_product *p, size_t row, size_t column, vi sum)
{
    float *to = p->c + row * p->ldc + column;
    const float *bias = p->bias + (p->bias ? column : 0), *b_scales = p->b_scales + column;
    const size_t left = p->n > column ? p->n - column : 0;
    const vf scale = vf_set1(p->a_scales[row]);
    if (left >= VLANES) {
        const vf start = p->start == PACKED_ADD ? vf_load(to) : p->start == PACKED_BIAS ? vf_load(bias) : vf_zero();
        vf_store(to, vf_add(start, vf_mul(vf_from_int(sum), vf_mul(scale, vf_load(b_scales)))));
    } else if (left > 0) {
        const vf start = p->start == PACKED_ADD    ? vf_load_first(to, left)
                         : p->start == PACKED_BIAS ? vf_load_first(bias, left)
                                                   : vf_zero();
        vf_store_first(to, vf_add(start, vf_mul(vf_from_int(sum), vf_mul(scale, vf_load_first(b_scales, left)))), left);
    }
}

INLINE void tile(const int rows, const int panels, const int8_tile *t)
{
    const int8_product *p = t->p;
    const size_t k = p->k, panel_stride = k * PANEL;
    const int16_t *a = p->a + t->row * k;
    const int8_t *b = t->b;
    vi sum[ROWS][2 * MAX_PANELS];
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < 2 * panels; v++) sum[r][v] = vi_zero();
    STEPS for (size_t l = 0; l < k; l += 2, b += 2 * PANEL)
    {
        vi pair[ROWS];
        if (panels > 1) UNROLL for (int r = 0; r < rows; r++) pair[r] = vi_set_pair(pair_at(a + (size_t)r * k + l));
        vi weights[2];
        if (panels == 1) {
            weights[0] = vi_load_bytes(b), weights[1] = vi_load_bytes(b + PANEL);
            UNROLL for (int r = 0; r < rows; r++)
            {
                const vi x = vi_set_pair(pair_at(a + (size_t)r * k + l));
                sum[r][0] = vi_add(sum[r][0], vi_multiply_pairs(x, weights[0]));
                sum[r][1] = vi_add(sum[r][1], vi_multiply_pairs(x, weights[1]));
            }
        } else {
            UNROLL for (int v = 0; v < 2 * panels; v++)
            {
                const vi w = vi_load_bytes(b + (size_t)(v / 2) * panel_stride + (size_t)(v % 2) * PANEL);
                UNROLL for (int r = 0; r < rows; r++) sum[r][v] = vi_add(sum[r][v], vi_multiply_pairs(pair[r], w));
            }
        }
    }
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < 2 * panels; v++)
        finish(p, t->row + (size_t)r, t->column + (size_t)v * VLANES, sum[r][v]);
}

INLINE int panels_for(size_t rows)
{
    return rows == 1 ? 4 : rows == 2 ? 2 : 1;
}

static void tile_of(size_t rows, bool all_panels, const int8_tile *t)
{
    switch (rows) {
    case 1:
        all_panels ? tile(1, 4, t) : tile(1, 1, t);
        break;
    case 2:
        all_panels ? tile(2, 2, t) : tile(2, 1, t);
        break;
    case 3:
        tile(3, 1, t);
        break;
#define CASE(rows)                                                                                                     \
    case rows:                                                                                                         \
        tile(rows, 1, t);                                                                                              \
        break;
        TALL_TILES(CASE)
#undef CASE
    default:
        break;
    }
}

/* A block of rows of C. The block of A stays in the second-level cache, and each panel in the first-level cache while
 * all rows use it. */
static void row_block(const int8_product *p, size_t first, size_t rows)
{
    size_t step = (size_t)panels_for(rows);
    for (size_t j = 0; j < p->n; j += step * PANEL) {
        if (p->n - j < step * PANEL) step = 1;
        int8_tile t = { .p = p, .column = j, .b = p->b + j * p->k };
        for (size_t i = 0, height; i < rows; i += height) {
            height = next_rows(rows - i, VPACKED_ROWS);
            t.row = first + i;
            tile_of(height, step > 1 && step == (size_t)panels_for(height), &t);
        }
    }
}

void VNAME(packed_int8)(const int8_product *p)
{
    const size_t max_rows = A_BLOCK / (p->k + 1) > 8 * ROWS ? A_BLOCK / (p->k + 1) : 8 * ROWS;
    for (size_t row = 0; row < p->m; row += max_rows) row_block(p, row, p->m - row < max_rows ? p->m - row : max_rows);
}
