/* vector_int8.c: the product of 8-bit numbers.
 *
 * Each step multiplies VGROUP numbers of a row with VGROUP weights of every column of a panel and adds the products: with
 * VNNI and NEON four at a time, elsewhere two at a time, extended to 16 bits. */
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
    MAX_PANELS = 6,              /* in a tile */
    ROWS = VPACKED_ROWS,         /* of a tile */
    A_BLOCK = 1 << 17,           /* numbers of A that stay in the second-level cache */
    LINE = 64,                   /* bytes of a cache line */
    STEP_BYTES = VGROUP * PANEL, /* of a panel, per step of k */
};

static int32_t sum_lanes(vi a)
{
    int32_t lanes[VLANES], sum = 0;
    vi_store(lanes, a);
    for (int i = 0; i < VLANES; i++) sum += lanes[i];
    return sum;
}

real VINT8(quantize)(size_t n, const real *x, int limit, void *q, int32_t *sum)
{
    vq *to = q;
    vf largest_lanes = vf_zero(), non_finite = vf_zero();
    size_t i = 0;
    for (; i < n; i += VLANES) {
        const vf v = n - i >= VLANES ? vf_load(x + i) : vf_load_first(x + i, n - i);
        largest_lanes = vf_max(largest_lanes, vf_max(v, vf_sub(vf_zero(), v)));
        non_finite = vf_fma(v, vf_zero(), non_finite); /* 0, or NaN if a number is not finite */
    }
    const float largest = vf_max_lane(largest_lanes), scale = largest / (float)limit, inverse = (float)limit / largest;
    const bool finite = vf_sum(non_finite) == 0;
    *sum = 0;
    if (!finite || !(scale > 0) || !isfinite(inverse)) {
        memset(to, 0, n * sizeof *to);
        return finite ? 0 : NAN;
    }
    const vf factor = vf_set1(inverse);
    vi sums = vi_zero();
    for (i = 0; i + VLANES <= n; i += VLANES) {
        const vi whole = vf_to_int(vf_mul(vf_load(x + i), factor));
        sums = vi_add(sums, whole);
        vq_store(to + i, whole);
    }
    if (i < n) {
        vq rest[VLANES];
        const vi whole = vf_to_int(vf_mul(vf_load_first(x + i, n - i), factor));
        sums = vi_add(sums, whole);
        vq_store(rest, whole);
        memcpy(to + i, rest, (n - i) * sizeof *to);
    }
    *sum = sum_lanes(sums);
    return scale;
}

/* ---- tiles ---- */

typedef struct int8_tile {
    const int8_product *p;
    size_t row, column;  /* the tile's first */
    const int8_t *b;     /* its first panel */
    const char *ahead;   /* weights to prefetch into the second-level cache */
    size_t ahead_step;   /* bytes to prefetch per step of k */
    const float *next_c; /* the next tile of C, of as many rows, to prefetch */
} int8_tile;

INLINE vf load_columns(const float *p, size_t left)
{
    return left >= VLANES ? vf_load(p) : left > 0 ? vf_load_first(p, left) : vf_zero();
}

/* One vector of columns of all rows. `full`: no column is outside of C. */
INLINE void finish(const int rows, const bool full, const int8_tile *t, const int v, vi sum[][2 * MAX_PANELS])
{
    const int8_product *p = t->p;
    const size_t column = t->column + (size_t)v * VLANES, left = full ? VLANES : p->n > column ? p->n - column : 0;
    const vf b_scale = load_columns(p->b_scales + column, left);
    const vf bias = p->start == PACKED_BIAS ? load_columns(p->bias + column, left) : vf_zero();
    UNROLL for (int r = 0; r < rows; r++)
    {
        float *to = p->c + (t->row + (size_t)r) * p->ldc + column;
        const vf start = p->start == PACKED_ADD ? load_columns(to, left) : bias;
        const vf scale = vf_mul(vf_set1(p->a_scales[t->row + (size_t)r]), b_scale);
        const vf result = vf_add(start, vf_mul(vf_from_int(sum[r][v]), scale));
        if (left >= VLANES)
            vf_store(to, result);
        else if (left > 0)
            vf_store_first(to, result, left);
    }
}

INLINE void tile(const int rows, const int panels, const int8_tile *t)
{
    const int8_product *p = t->p;
    enum { HALF = VLANES * VGROUP }; /* bytes of a vector of weights */
    const size_t k = p->k, panel_stride = k * PANEL, ahead_step = t->ahead_step;
    const vq *a = (const vq *)p->a + t->row * k;
    const int8_t *b = t->b;
    const char *ahead = t->ahead;
    vi sum[ROWS][2 * MAX_PANELS];
    UNROLL for (int r = 0; r < rows; r++)
    {
        /* without the 128 that are added to each weight */
        const vi start =
            VUNSIGNED ? vi_set1((int32_t)(0u - 128u * (uint32_t)p->a_sums[t->row + (size_t)r])) : vi_zero();
        UNROLL for (int v = 0; v < 2 * panels; v++) sum[r][v] = start;
    }
    if (panels == 1)
        UNROLL for (int r = 0; r < rows; r++) UNROLL for (size_t v = 0; v < PANEL; v += LINE / sizeof(float))
            __builtin_prefetch(t->next_c + (size_t)r * p->ldc + v, 0, 2);
    STEPS for (size_t l = 0; l < k; l += VGROUP, b += VGROUP * PANEL)
    {
        if (panels == 1) {
            __builtin_prefetch(ahead, 0, 2);
            if (ahead_step > LINE) __builtin_prefetch(ahead + LINE, 0, 2);
            ahead += ahead_step;
            const vi weights[2] = { vi_load_weights(b), vi_load_weights(b + HALF) };
            UNROLL for (int r = 0; r < rows; r++)
            {
                const vi x = vi_load_group(a + (size_t)r * k + l);
                sum[r][0] = vi_dot(sum[r][0], x, weights[0]);
                sum[r][1] = vi_dot(sum[r][1], x, weights[1]);
            }
        } else {
            vi group[ROWS];
            UNROLL for (int r = 0; r < rows; r++) group[r] = vi_load_group(a + (size_t)r * k + l);
            UNROLL for (int v = 0; v < 2 * panels; v++)
            {
                const vi w = vi_load_weights(b + (size_t)(v / 2) * panel_stride + (size_t)(v % 2) * HALF);
                UNROLL for (int r = 0; r < rows; r++) sum[r][v] = vi_dot(sum[r][v], group[r], w);
            }
        }
    }
    if (p->n >= t->column + (size_t)panels * PANEL)
        UNROLL for (int v = 0; v < 2 * panels; v++) finish(rows, true, t, v, sum);
    else
        UNROLL for (int v = 0; v < 2 * panels; v++) finish(rows, false, t, v, sum);
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
 * all rows use it. Meanwhile the next panel is prefetched, a line or two per step. */
static void row_block(const int8_product *p, size_t first, size_t rows)
{
    size_t step = (size_t)panels_for(rows);
    for (size_t j = 0; j < p->n; j += step * PANEL) {
        if (p->n - j < step * PANEL) step = 1;
        const bool more = p->n - j > PANEL;
        int8_tile t = { .p = p, .column = j, .b = (const int8_t *)p->b + j * p->k };
        const char *next = (const char *)p->b + (more ? (j + PANEL) * p->k : 0), *const end = next + p->k * PANEL;
        for (size_t i = 0, height; i < rows; i += height) {
            height = next_rows(rows - i, VPACKED_ROWS);
            t.row = first + i;
            t.ahead = next;
            t.ahead_step = next >= end ? 0 : height == rows || STEP_BYTES < LINE ? STEP_BYTES : LINE;
            next += t.ahead_step * (p->k / VGROUP);
            const float *c = p->c + (first + i) * p->ldc + j;
            t.next_c = i + height < rows ? c + height * p->ldc : more ? p->c + first * p->ldc + j + PANEL : c;
            tile_of(height, step > 1 && step == (size_t)panels_for(height), &t);
        }
    }
}

void VINT8(packed_int8)(const int8_product *p)
{
    const size_t max_rows = A_BLOCK / (p->k + 1) > 8 * ROWS ? A_BLOCK / (p->k + 1) : 8 * ROWS;
    for (size_t row = 0; row < p->m; row += max_rows) row_block(p, row, p->m - row < max_rows ? p->m - row : max_rows);
}
