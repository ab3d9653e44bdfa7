/* vector_amx.c: products of bfloat16 and of 8-bit numbers with the tiles of AMX, and the table of AMX. The other functions of the
 * table are those of AVX-512 with VNNI and BF16, and so is the layout of packed weights: a tile of B is 16 rows of one half
 * of a panel.
 *
 * A block of C is two tiles of rows by two tiles of columns; for at most 16 rows, one tile of rows by four tiles of columns.
 * Its sums stay in tiles while k runs, 64 bytes of a row at a time. Every element is summed over k in the same order,
 * whatever the block. */
#include ATTEND_VECTOR_HEADER
#include "kernel/amx_tiles.h"
#include "kernel/tables.h"
#include "kernel/vector_fields.h"

#include <string.h>

enum {
    PANEL = 2 * VLANES,
    TILE_ROWS = 16,
    STEP = 64,         /* bytes of a row of A in a tile; numbers of a group or pair times 16 */
    B_ROW = PANEL * 4, /* bytes of a row of a panel */
    B_STEP = TILE_ROWS * B_ROW,
    FEW_ROWS = 4, /* so few rows use the vector kernel of 8-bit numbers; not measured */
    LINE = 64,
    /* Every processor with AMX has a second-level cache of at least 2 MiB for each core. */
    ROW_BLOCK_BYTES = 5 << 18,   /* of A, which stay in it */
    PANEL_GROUP_BYTES = 1 << 18, /* of B, which are multiplied with all rows of a block, then with the last few */
    MAX_STEPS = 32               /* of k, in a block of bfloat16 numbers */
};

/* A product in bytes, for both kinds of numbers. */
typedef struct tile_product {
    const char *a, *a_low, *b, *b_low; /* low: NULL, or the low halves */
    size_t a_row, panel_stride, steps; /* steps: of k */
    packed_start start;                /* of sums in fp32; sums of integers start at 0 */
    const float *bias;
    float *c;
    size_t ldc, n;
    const int8_product *integers; /* NULL: bfloat16 */
    size_t ahead_lines;           /* cache lines of the next panel to prefetch in each step */
    bool single;                  /* one block of rows: A stays in the first-level cache, not B */
} tile_product;

/* Tiles 0 to 3 are sums. With two tiles of rows, 4 and 5 are A and 6 and 7 B; with one, 4 is A. */
static void configure(size_t first_rows, size_t second_rows)
{
    tile_shapes shapes = { .palette = 1 };
    for (int t = 0; t < 8; t++) {
        const bool second = second_rows && (t == 2 || t == 3 || t == 5), is_b = t >= 6;
        shapes.row_bytes[t] = STEP;
        shapes.rows[t] = (uint8_t)(is_b ? TILE_ROWS : second ? second_rows : first_rows);
    }
    TILE_CONFIGURE(&shapes);
}

/* ---- one tile of sums ---- */

/* The first values of `rows` x 16 sums from row and column on, whose address is returned; its rows are *stride bytes apart.
 * Incomplete tiles are copied to a buffer. NULL: zeros. */
static const void *start_of(const tile_product *p, size_t row, size_t column, size_t rows,
                            float buffer[TILE_ROWS][VLANES], size_t *stride)
{
    const size_t columns = p->n > column ? p->n - column : 0;
    if (p->start == PACKED_ZERO || p->integers || columns == 0) return NULL;
    const float *from = p->start == PACKED_ADD ? p->c + row * p->ldc + column : p->bias + column;
    const size_t step = p->start == PACKED_ADD ? p->ldc : 0;
    *stride = step * sizeof(float);
    if (columns >= VLANES) return from;
    for (size_t i = 0; i < rows; i++) {
        memset(buffer[i], 0, sizeof buffer[i]);
        memcpy(buffer[i], from + i * step, columns * sizeof(float));
    }
    *stride = sizeof buffer[0];
    return buffer;
}

static inline vf load_columns(const float *p, size_t left)
{
    return left >= VLANES ? vf_load(p) : vf_load_first(p, left);
}

/* c = start + sum a_scale b_scale, as vector_int8.c computes it */
static inline void finish_integers(const int8_product *p, size_t row, size_t column, size_t rows, const int32_t *sums)
{
    const size_t left = p->n - column;
    const vf b_scale = load_columns(p->b_scales + column, left),
             bias = p->start == PACKED_BIAS ? load_columns(p->bias + column, left) : vf_zero();
    for (size_t i = 0; i < rows; i++) {
        float *to = p->c + (row + i) * p->ldc + column;
        const vf start = p->start == PACKED_ADD ? load_columns(to, left) : bias;
        /* without the 128 that are added to each weight */
        const vi offset = vi_set1((int32_t)(0u - 128u * (uint32_t)p->a_sums[row + i]));
        const vf scale = vf_mul(vf_set1(p->a_scales[row + i]), b_scale);
        const vf result = vf_add(start, vf_mul(vf_from_int(vi_add(vi_load(sums + i * VLANES), offset)), scale));
        if (left >= VLANES)
            vf_store(to, result);
        else
            vf_store_first(to, result, left);
    }
}

/* Writes sums that were stored to a buffer. */
static void finish(const tile_product *p, size_t row, size_t column, size_t rows, const float *sums)
{
    if (p->n <= column) return;
    if (p->integers) {
        finish_integers(p->integers, row, column, rows, (const int32_t *)(const void *)sums);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        memcpy(p->c + (row + i) * p->ldc + column, sums + i * VLANES, (p->n - column) * sizeof(float));
}

#define BEGIN_SUMS(t, row, column, rows)                                                                               \
    do {                                                                                                               \
        float buffer[TILE_ROWS][VLANES];                                                                               \
        size_t stride = 0;                                                                                             \
        const void *from = start_of(p, row, column, rows, buffer, &stride);                                            \
        if (from)                                                                                                      \
            TILE_LOAD_WRITTEN(t, from, stride);                                                                        \
        else                                                                                                           \
            TILE_ZERO(t);                                                                                              \
    } while (0)

#define END_SUMS(t, row, column, rows)                                                                                 \
    do {                                                                                                               \
        if (!p->integers && p->n >= (column) + VLANES) {                                                               \
            TILE_STORE(t, p->c + (row)*p->ldc + (column), p->ldc * sizeof(float));                                     \
        } else {                                                                                                       \
            float sums[TILE_ROWS * VLANES];                                                                            \
            TILE_STORE(t, sums, VLANES * sizeof(float));                                                               \
            finish(p, row, column, rows, sums);                                                                        \
        }                                                                                                              \
    } while (0)

/* ---- blocks ---- */

#define LOAD_TWO(t, u, p, distance, stride)                                                                            \
    do {                                                                                                               \
        TILE_LOAD(t, p, stride);                                                                                       \
        TILE_LOAD(u, (p) + (distance), stride);                                                                        \
    } while (0)

#define DOT_2X2(DOT)                                                                                                   \
    do {                                                                                                               \
        DOT(0, 4, 6);                                                                                                  \
        DOT(1, 4, 7);                                                                                                  \
        DOT(2, 5, 6);                                                                                                  \
        DOT(3, 5, 7);                                                                                                  \
    } while (0)

#define STREAM_TWO(t, u, p, distance, stride)                                                                          \
    do {                                                                                                               \
        TILE_STREAM(t, p, stride);                                                                                     \
        TILE_STREAM(u, (p) + (distance), stride);                                                                      \
    } while (0)

/* Prefetches the lines of the next panel, and of C, that belong to this step. */
#define PREFETCH_B(from)                                                                                               \
    for (size_t q = 0; q < lines; q++) __builtin_prefetch((from) + (l * lines + q) * LINE, 0, 2)
#define PREFETCH_C()                                                                                                   \
    for (size_t q = 0; q < c_rows; q++, c += p->ldc) {                                                                 \
        __builtin_prefetch(c, 1, 2);                                                                                   \
        __builtin_prefetch(c + VLANES, 1, 2);                                                                          \
    }

/* What to prefetch during a block: weights of the next panel, of which the high halves are given, and the next block of C,
 * a few rows in each step. */
typedef struct upcoming {
    const char *b;
    const float *c; /* NULL: none */
} upcoming;

/* Two tiles of rows from `row` on, times a panel. `second`: rows of the second tile.
 *
 * A is read once for each panel, B for each block of rows: without low halves, B stays in the first-level cache if A is
 * not stored there (16 steps: 1,370 -> 1,700 GFLOP/s). A single block of A is stored there instead. */
static void block_2x2(const tile_product *p, size_t row, size_t second, size_t panel, upcoming ahead)
{
    const size_t column = panel * PANEL, next = row + TILE_ROWS, distance = TILE_ROWS * p->a_row,
                 lines = p->ahead_lines, c_rows = ahead.c ? 2 * TILE_ROWS / p->steps : 0;
    const float *c = ahead.c;
    const char *a = p->a + row * p->a_row, *b = p->b + panel * p->panel_stride;
    BEGIN_SUMS(0, row, column, TILE_ROWS);
    BEGIN_SUMS(1, row, column + VLANES, TILE_ROWS);
    BEGIN_SUMS(2, next, column, second);
    BEGIN_SUMS(3, next, column + VLANES, second);
    if (p->integers) {
        for (size_t l = 0; l < p->steps; l++) {
            PREFETCH_B(ahead.b);
            PREFETCH_C();
            if (p->single) {
                STREAM_TWO(6, 7, b + l * B_STEP, STEP, B_ROW);
                LOAD_TWO(4, 5, a + l * STEP, distance, p->a_row);
            } else {
                LOAD_TWO(6, 7, b + l * B_STEP, STEP, B_ROW);
                STREAM_TWO(4, 5, a + l * STEP, distance, p->a_row);
            }
            DOT_2X2(TILE_DOT_INT8);
        }
    } else if (!p->a_low) {
        for (size_t l = 0; l < p->steps; l++) {
            PREFETCH_B(ahead.b);
            PREFETCH_C();
            if (p->single) {
                STREAM_TWO(6, 7, b + l * B_STEP, STEP, B_ROW);
                LOAD_TWO(4, 5, a + l * STEP, distance, p->a_row);
            } else {
                LOAD_TWO(6, 7, b + l * B_STEP, STEP, B_ROW);
                STREAM_TWO(4, 5, a + l * STEP, distance, p->a_row);
            }
            DOT_2X2(TILE_DOT_BF16);
        }
    } else {
        const char *a_low = p->a_low + row * p->a_row, *b_low = p->b_low + panel * p->panel_stride;
        const char *b_low_ahead = ahead.b + (p->b_low - p->b);
        for (size_t l = 0; l < p->steps; l++) {
            PREFETCH_B(ahead.b);
            PREFETCH_B(b_low_ahead);
            PREFETCH_C();
            LOAD_TWO(6, 7, b + l * B_STEP, STEP, B_ROW);
            LOAD_TWO(4, 5, a_low + l * STEP, distance, p->a_row);
            DOT_2X2(TILE_DOT_BF16);
            LOAD_TWO(4, 5, a + l * STEP, distance, p->a_row);
            DOT_2X2(TILE_DOT_BF16);
            LOAD_TWO(6, 7, b_low + l * B_STEP, STEP, B_ROW);
            DOT_2X2(TILE_DOT_BF16);
        }
    }
    END_SUMS(0, row, column, TILE_ROWS);
    END_SUMS(1, row, column + VLANES, TILE_ROWS);
    END_SUMS(2, next, column, second);
    END_SUMS(3, next, column + VLANES, second);
}

/* Tile 4, A, times both halves of two panels of B. */
#define DOT_1X4(DOT, b, l)                                                                                             \
    do {                                                                                                               \
        LOAD_TWO(6, 7, (b) + (l)*B_STEP, STEP, B_ROW);                                                                 \
        DOT(0, 4, 6);                                                                                                  \
        DOT(1, 4, 7);                                                                                                  \
        if (wide) {                                                                                                    \
            LOAD_TWO(6, 7, (b) + p->panel_stride + (l)*B_STEP, STEP, B_ROW);                                           \
            DOT(2, 4, 6);                                                                                              \
            DOT(3, 4, 7);                                                                                              \
        }                                                                                                              \
    } while (0)

/* One tile of rows times one panel, or two if `wide`. */
static void block_1x4(const tile_product *p, size_t row, size_t rows, size_t panel, bool wide)
{
    const size_t column = panel * PANEL;
    const char *a = p->a + row * p->a_row, *b = p->b + panel * p->panel_stride;
    BEGIN_SUMS(0, row, column, rows);
    BEGIN_SUMS(1, row, column + VLANES, rows);
    if (wide) BEGIN_SUMS(2, row, column + PANEL, rows);
    if (wide) BEGIN_SUMS(3, row, column + PANEL + VLANES, rows);
    for (size_t l = 0; p->integers && l < p->steps; l++) {
        TILE_LOAD(4, a + l * STEP, p->a_row);
        DOT_1X4(TILE_DOT_INT8, b, l);
    }
    for (size_t l = 0; !p->integers && l < p->steps; l++) {
        if (p->a_low) {
            TILE_LOAD(4, p->a_low + row * p->a_row + l * STEP, p->a_row);
            DOT_1X4(TILE_DOT_BF16, b, l);
        }
        TILE_LOAD(4, a + l * STEP, p->a_row);
        DOT_1X4(TILE_DOT_BF16, b, l);
        if (p->a_low) DOT_1X4(TILE_DOT_BF16, p->b_low + panel * p->panel_stride, l);
    }
    END_SUMS(0, row, column, rows);
    END_SUMS(1, row, column + VLANES, rows);
    if (wide) END_SUMS(2, row, column + PANEL, rows);
    if (wide) END_SUMS(3, row, column + PANEL + VLANES, rows);
}

/* Rows [first, last), a multiple of 32, times some panels. */
static void whole_rows(const tile_product *p, size_t first, size_t last, size_t panel, size_t end, size_t panels)
{
    for (size_t j = panel; j < end; j++) {
        const bool next_panel = j + 1 < panels;
        upcoming ahead = { .b = p->b + (next_panel ? j + 1 : j) * p->panel_stride };
        for (size_t i = first; i < last; i += 2 * TILE_ROWS, ahead.b += p->steps * p->ahead_lines * LINE) {
            if (i + 2 * TILE_ROWS < last)
                ahead.c = p->c + (i + 2 * TILE_ROWS) * p->ldc + j * PANEL;
            else
                ahead.c = next_panel ? p->c + first * p->ldc + (j + 1) * PANEL : NULL;
            block_2x2(p, i, TILE_ROWS, j, ahead);
        }
    }
}

/* Rows [first, last), at most 31, times some panels. */
static void last_rows(const tile_product *p, size_t first, size_t last, size_t panel, size_t end)
{
    const size_t count = last - first;
    for (size_t j = panel; j < end; j++) {
        const bool wide = j + 1 < end;
        if (count > TILE_ROWS) {
            block_2x2(p, first, count - TILE_ROWS, j, (upcoming){ .b = p->b });
        } else {
            block_1x4(p, first, count, j, wide);
            j += wide;
        }
    }
}

/* Rows [first, last): a multiple of 32, then at most 31, which are multiplied with a group of panels while it is in the
 * second-level cache. Each panel stays in the first-level cache while all rows use it. */
static void row_block(const tile_product *product, size_t first, size_t last)
{
    enum { MAX_LINES = 8 }; /* to prefetch in a step */
    const size_t unit = 2 * (size_t)TILE_ROWS, panels = (product->n + PANEL - 1) / PANEL,
                 blocks = (last - first) / unit, whole = first + blocks * unit, few = last - whole,
                 second = few > TILE_ROWS ? few - TILE_ROWS : 0;
    const size_t panel_bytes = (product->a_low ? 2 : 1) * product->steps * B_STEP,
                 fit = PANEL_GROUP_BYTES / (panel_bytes + 1);
    const size_t group = blocks == 0 || few == 0 ? panels : fit < 2 ? 2 : fit / 2 * 2;
    tile_product p = *product;
    p.single = blocks + (few > 0) == 1;
    if (blocks) p.ahead_lines = (B_STEP / LINE + blocks - 1) / blocks;
    if (p.ahead_lines > MAX_LINES) p.ahead_lines = 0;
    for (size_t j = 0; j < panels; j += group) {
        const size_t end = j + group < panels ? j + group : panels;
        if (blocks && (j == 0 || few)) configure(TILE_ROWS, TILE_ROWS);
        whole_rows(&p, first, whole, j, end, panels);
        if (few == 0) continue;
        if (blocks || j == 0) configure(second ? TILE_ROWS : few, second);
        p.ahead_lines = 0;
        last_rows(&p, whole, last, j, end);
    }
}

/* All rows, in blocks of about equal height. The tiles of a thread are used by one product at a time, from its beginning
 * to its end. */
static void all_rows(const tile_product *p, size_t m)
{
    const size_t both = p->a_low ? 2 : 1, unit = 2 * (size_t)TILE_ROWS;
    const size_t fit = ROW_BLOCK_BYTES / (both * p->steps * STEP + 1) / unit * unit, most = fit < unit ? unit : fit,
                 count = (m + most - 1) / most, height = ((m + count - 1) / count + unit - 1) / unit * unit;
    for (size_t i = 0; i < m; i += height) row_block(p, i, i + height < m ? i + height : m);
    TILE_RELEASE();
}

/* All k, in blocks of about equal depth: each adds to C what a single block would add to the sums in tiles. */
static void all_steps(const tile_product *product, size_t m)
{
    const size_t all = product->steps, count = all ? (all + MAX_STEPS - 1) / MAX_STEPS : 1,
                 depth = (all + count - 1) / count;
    for (size_t l = 0; l < all || l == 0; l += depth) {
        tile_product p = *product;
        p.steps = all - l < depth ? all - l : depth;
        p.a += l * STEP, p.b += l * B_STEP;
        if (p.a_low) p.a_low += l * STEP, p.b_low += l * B_STEP;
        if (l) p.start = PACKED_ADD;
        all_rows(&p, m);
        if (depth == 0) break;
    }
}

static void bf16_tiles(const bf16_product *p)
{
    all_steps(&(tile_product){ .a = (const char *)p->a,
                               .a_low = (const char *)p->a_low,
                               .b = (const char *)p->b,
                               .b_low = (const char *)p->b_low,
                               .a_row = p->a_row * sizeof *p->a,
                               .panel_stride = p->panel_stride * sizeof *p->b,
                               .steps = p->k * sizeof *p->a / STEP,
                               .start = p->start,
                               .bias = p->bias,
                               .c = p->c,
                               .ldc = p->ldc,
                               .n = p->n },
              p->m);
}

/* The same integers as those of the vector kernel, so that either can be used. */
static void int8_tiles(const int8_product *p)
{
    if (p->m <= FEW_ROWS) {
        VINT8(packed_int8)(p);
        return;
    }
    all_rows(&(tile_product){ .a = p->a,
                              .b = p->b,
                              .a_row = p->k,
                              .panel_stride = p->k * PANEL,
                              .steps = p->k / STEP,
                              .n = p->n,
                              .integers = p },
             p->m);
}

#ifdef ATTEND_TILE_EMULATION
#define TABLE      attend_plaintiles_table
#define TABLE_NAME "plaintiles"
#else
#define TABLE      attend_amx_table
#define TABLE_NAME "amx"
#endif

static const bf16_kernels kernels = { .depth = STEP / sizeof(uint16_t),
                                      .fast_halves = true,
                                      .split = VBF16(split),
                                      .split_pairs = VBF16(split_pairs),
                                      .product = bf16_tiles };

extern const attend_kernel_table TABLE;
const attend_kernel_table TABLE = { .name = TABLE_NAME,
                                    ATTEND_VECTOR_FIELDS,
                                    .int8_group = VGROUP,
                                    .int8_depth = STEP,
                                    .int8_bytes = sizeof(vq),
                                    .int8_unsigned = VUNSIGNED,
                                    .quantize = VINT8(quantize),
                                    .packed_int8 = int8_tiles,
                                    .bf16 = &kernels };
