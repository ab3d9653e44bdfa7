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
    FEW_ROWS = 4,             /* so few rows use the vector kernel of 8-bit numbers; not measured */
    ROW_BLOCK_BYTES = 1 << 19 /* of A, which stay in the second-level cache */
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

/* c = start + sum a_scale b_scale, as vector_int8.c computes it */
static void finish_integers(const int8_product *p, size_t row, size_t column, size_t rows, const int32_t *sums)
{
    const size_t columns = p->n - column < VLANES ? p->n - column : VLANES;
    for (size_t i = 0; i < rows; i++) {
        float *to = p->c + (row + i) * p->ldc + column;
        const uint32_t offset = 128u * (uint32_t)p->a_sums[row + i]; /* weights are stored 128 larger */
        const float scale = p->a_scales[row + i];
        for (size_t j = 0; j < columns; j++) {
            const float start = p->start == PACKED_ADD ? to[j] : p->start == PACKED_BIAS ? p->bias[column + j] : 0;
            const int32_t sum = (int32_t)((uint32_t)sums[i * VLANES + j] - offset);
            to[j] = start + (float)sum * (scale * p->b_scales[column + j]);
        }
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

/* Two tiles of rows from `row` on, times a panel. `second`: rows of the second tile. */
static void block_2x2(const tile_product *p, size_t row, size_t second, size_t panel)
{
    const size_t column = panel * PANEL, next = row + TILE_ROWS, distance = TILE_ROWS * p->a_row;
    const char *a = p->a + row * p->a_row, *b = p->b + panel * p->panel_stride;
    BEGIN_SUMS(0, row, column, TILE_ROWS);
    BEGIN_SUMS(1, row, column + VLANES, TILE_ROWS);
    BEGIN_SUMS(2, next, column, second);
    BEGIN_SUMS(3, next, column + VLANES, second);
    if (p->integers) {
        for (size_t l = 0; l < p->steps; l++) {
            LOAD_TWO(6, 7, b + l * B_STEP, STEP, B_ROW);
            LOAD_TWO(4, 5, a + l * STEP, distance, p->a_row);
            DOT_2X2(TILE_DOT_INT8);
        }
    } else if (!p->a_low) {
        for (size_t l = 0; l < p->steps; l++) {
            LOAD_TWO(6, 7, b + l * B_STEP, STEP, B_ROW);
            LOAD_TWO(4, 5, a + l * STEP, distance, p->a_row);
            DOT_2X2(TILE_DOT_BF16);
        }
    } else {
        const char *a_low = p->a_low + row * p->a_row, *b_low = p->b_low + panel * p->panel_stride;
        for (size_t l = 0; l < p->steps; l++) {
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

/* Rows [first, last), which are a multiple of 32, or the last ones. Each panel stays in the cache while all rows use it. */
static void row_block(const tile_product *p, size_t first, size_t last)
{
    const size_t panels = (p->n + PANEL - 1) / PANEL, count = last - first;
    const bool many = count > TILE_ROWS;
    const size_t second = many && count < 2 * TILE_ROWS ? count - TILE_ROWS : TILE_ROWS;
    configure(many ? TILE_ROWS : count, many ? second : 0);
    for (size_t j = 0; j < panels; j++) {
        if (many) {
            for (size_t i = first; i < last; i += 2 * TILE_ROWS) block_2x2(p, i, second, j);
        } else {
            const bool wide = j + 1 < panels;
            block_1x4(p, first, count, j, wide);
            j += wide;
        }
    }
}

/* The tiles of a thread are used by one product at a time, from its beginning to its end. */
static void all_rows(const tile_product *p, size_t m)
{
    const size_t both = p->a_low ? 2 : 1, unit = 2 * (size_t)TILE_ROWS;
    size_t height = ROW_BLOCK_BYTES / (both * p->steps * STEP + 1) / unit * unit;
    if (height < unit) height = unit;
    const size_t whole = m / unit * unit;
    for (size_t i = 0; i < whole; i += height) row_block(p, i, i + height < whole ? i + height : whole);
    if (whole < m) row_block(p, whole, m);
    TILE_RELEASE();
}

static void bf16_tiles(const bf16_product *p)
{
    all_rows(&(tile_product){ .a = (const char *)p->a,
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
