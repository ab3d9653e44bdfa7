#include "kernel/gemm.h"

#include "kernel/halves.h"
#include <string.h>

/* Four numbers, in one vector register if the processor has vector registers. */
typedef real real4 __attribute__((vector_size(4 * sizeof(real)), may_alias));

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Panels of `panel` columns, one after another; a panel has k rows of `panel` numbers. The last panel is padded with
 * zero columns. */
size_t attend_packed_size(size_t k, size_t n)
{
    size_t panel = (size_t)attend_kernel()->panel;
    return (n + panel - 1) / panel * panel * k;
}

/* Transposes (rows, k), rows ldx apart, to (k, rows), rows `width` apart. Blocks of 4 x 4 keep both sides in registers
 * and on few cache lines. */
static void transpose(size_t rows, size_t k, const real *x, size_t ldx, real *to, size_t width)
{
    size_t j = 0;
    for (; j + 4 <= rows; j += 4) {
        size_t l = 0;
        for (; l + 4 <= k; l += 4) {
            real4 r0, r1, r2, r3;
            memcpy(&r0, x + j * ldx + l, sizeof r0);
            memcpy(&r1, x + (j + 1) * ldx + l, sizeof r1);
            memcpy(&r2, x + (j + 2) * ldx + l, sizeof r2);
            memcpy(&r3, x + (j + 3) * ldx + l, sizeof r3);
            const real4 a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5),
                        b = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
            const real4 c = __builtin_shufflevector(r2, r3, 0, 4, 1, 5),
                        d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
            r0 = __builtin_shufflevector(a, c, 0, 1, 4, 5), r1 = __builtin_shufflevector(a, c, 2, 3, 6, 7);
            r2 = __builtin_shufflevector(b, d, 0, 1, 4, 5), r3 = __builtin_shufflevector(b, d, 2, 3, 6, 7);
            real *at = to + l * width + j;
            memcpy(at, &r0, sizeof r0);
            memcpy(at + width, &r1, sizeof r1);
            memcpy(at + 2 * width, &r2, sizeof r2);
            memcpy(at + 3 * width, &r3, sizeof r3);
        }
        for (; l < k; l++)
            for (size_t i = 0; i < 4; i++) to[l * width + j + i] = x[(j + i) * ldx + l];
    }
    for (; j < rows; j++)
        for (size_t l = 0; l < k; l++) to[l * width + j] = x[j * ldx + l];
}

/* One panel from the columns [0, columns) of (k, n). */
static void copy_panel(size_t columns, size_t k, const real *x, size_t ldx, real *to, size_t width)
{
    for (size_t i = 0; i < k; i++, x += ldx, to += width) {
        size_t j = 0;
        for (; j + 16 <= columns; j += 16) memcpy(to + j, x + j, 4 * sizeof(real4));
        for (; j + 4 <= columns; j += 4) memcpy(to + j, x + j, sizeof(real4));
        for (; j < columns; j++) to[j] = x[j];
    }
}

static void prefetch(size_t rows, size_t columns, const real *x, size_t ldx)
{
    enum { LINE = 64 / sizeof(real) };
    for (size_t i = 0; i < rows; i++, x += ldx)
        for (size_t j = 0; j < columns; j += LINE) __builtin_prefetch(x + j, 0, 3);
}

/* Divides (k, n), or its transpose (n, k), into panels of `width` columns; the last one is padded with zeros. Without
 * transposition, ROWS rows at a time are copied to all panels, so that their cache lines and pages are used completely;
 * the next ROWS are prefetched, because the hardware does not recognise this order. More rows would not fit into a set of
 * the first-level cache if they are 4 KiB apart. */
static void pack_panels(bool transposed, size_t width, size_t k, size_t n, const real *x, size_t ldx, real *packed)
{
    enum { ROWS = 8 };
    const size_t rest = n % width;
    for (size_t j = 0; rest && j < k; j++)
        memset(packed + (n - rest) * k + j * width + rest, 0, (width - rest) * sizeof *packed);
    for (size_t l = 0; !transposed && l < k; l += ROWS)
        for (size_t j = 0; j < n; j += width) {
            if (l + ROWS < k)
                prefetch(smaller(k - l - ROWS, ROWS), smaller(n - j, width), x + (l + ROWS) * ldx + j, ldx);
            copy_panel(smaller(n - j, width), smaller(k - l, ROWS), x + l * ldx + j, ldx, packed + j * k + l * width,
                       width);
        }
    for (size_t j = 0; transposed && j < n; j += width)
        transpose(smaller(n - j, width), k, x + j * ldx, ldx, packed + j * k, width);
}

void attend_pack(bool transposed, size_t k, size_t n, const real *b, size_t ldb, real *packed)
{
    pack_panels(transposed, (size_t)attend_kernel()->panel, k, n, b, ldb, packed);
}

/* ---- two arbitrary matrices ---- */

/* The sizes of blocks. A block of A, of A_BLOCK numbers and at most M_BLOCK rows, stays in the second-level cache while
 * it is multiplied with the panels of a block of B, which stays in the third level. The larger K_BLOCK, the less often C
 * is read and written; the larger N_BLOCK, the less often A is read. */
enum { K_BLOCK = 704, N_BLOCK = 1024, M_BLOCK = 144, A_BLOCK = 144 * 512 };

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Divides n into blocks of about equal size, multiples of `unit` and at most `largest`, which is one too. */
static size_t equal_blocks(size_t n, size_t largest, size_t unit)
{
    const size_t blocks = (n + largest - 1) / largest;
    return blocks ? round_up((n + blocks - 1) / blocks, unit) : largest;
}

/* The size, in numbers, of a packed block of B. */
static size_t block_of_b(size_t n, size_t k)
{
    return attend_packed_size(smaller(k, K_BLOCK), smaller(n, N_BLOCK));
}

size_t attend_gemm_scratch(size_t m, size_t n, size_t k)
{
    const size_t rows = (size_t)attend_kernel()->tile_rows;
    return block_of_b(n, k) + round_up(smaller(m, M_BLOCK), rows) * smaller(k, K_BLOCK);
}

/* The maximum number of rows of a block of A. */
static size_t max_rows(size_t k)
{
    const size_t rows = (size_t)attend_kernel()->tile_rows, fit = A_BLOCK / (k ? k : 1) / rows * rows;
    return smaller(M_BLOCK, fit > rows ? fit : rows);
}

/* C (=, +=) op(A) B for a block of k, with B packed. Packs A, a block of rows of op(A) at a time. */
static void row_blocks(bool transpose_a, packed_start start, size_t m, size_t n, size_t k, const real *a, size_t lda,
                       const real *b, real *c, size_t ldc, real *tiles)
{
    const attend_kernel_table *t = attend_kernel();
    const size_t block = equal_blocks(m, max_rows(k), (size_t)t->tile_rows);
    for (size_t i = 0; i < m; i += block) {
        const size_t rows = smaller(m - i, block);
        pack_panels(!transpose_a, (size_t)t->tile_rows, k, rows, a + (transpose_a ? i : i * lda), lda, tiles);
        t->packed_tiles(start, rows, n, k, tiles, b, c + i * ldc, ldc);
    }
}

/* Whether blocks of A are packed. The elements of a row of a transposed A are far apart. Rows that are a multiple of
 * 4 KiB apart share the sets of the first-level cache, which has room for a tile of eight of them only. */
static bool packs_a(bool transpose_a, size_t m, size_t lda)
{
    enum { FEW = 48, SET = 4096 / sizeof(real) };
    return transpose_a || (lda % SET == 0 && m >= FEW);
}

void attend_gemm(bool transpose_a, bool transpose_b, packed_start start, size_t m, size_t n, size_t k, const real *a,
                 size_t lda, const real *b, size_t ldb, real *c, size_t ldc, real *scratch)
{
    if (m == 0 || n == 0) return;
    const attend_kernel_table *t = attend_kernel();
    real *tiles = scratch + block_of_b(n, k);
    const size_t k_block = equal_blocks(k, K_BLOCK, 16);
    for (size_t j = 0; j < n; j += N_BLOCK) {
        const size_t columns = smaller(n - j, N_BLOCK);
        for (size_t l = 0; l < k || l == 0; l += k_block) { /* runs once if k is 0, to set C */
            const size_t depth = smaller(k - l, k_block);
            const packed_start from = l ? PACKED_ADD : start;
            attend_pack(transpose_b, depth, columns, b + (transpose_b ? j * ldb + l : l * ldb + j), ldb, scratch);
            const real *part = a + (transpose_a ? l * lda : l);
            if (packs_a(transpose_a, m, lda))
                row_blocks(transpose_a, from, m, columns, depth, part, lda, scratch, c + j, ldc, tiles);
            else
                t->packed(from, NULL, m, columns, depth, part, lda, 1, scratch, depth * (size_t)t->panel, c + j, ldc);
        }
    }
}

/* ---- packed weights ---- */

void attend_gemm_packed(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a, size_t lda,
                        const real *packed, real *c, size_t ldc)
{
    if (m == 0 || n == 0) return;
    const attend_kernel_table *t = attend_kernel();
    t->packed(start, bias, m, n, k, a, lda, 1, packed, k * (size_t)t->panel, c, ldc);
}

void attend_gemm_packed_rows(packed_start start, size_t m, size_t n, size_t first, size_t k, size_t all_k,
                             const real *a, size_t lda, const real *packed, real *c, size_t ldc)
{
    if (m == 0 || n == 0) return;
    const attend_kernel_table *t = attend_kernel();
    const size_t panel = (size_t)t->panel;
    t->packed(start, NULL, m, n, k, a, lda, 1, packed + first * panel, all_k * panel, c, ldc);
}

void attend_gemm_packed_transposed(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *packed, real *c,
                                   size_t ldc)
{
    if (m == 0 || n == 0) return;
    const attend_kernel_table *t = attend_kernel();
    t->packed(PACKED_ADD, NULL, m, n, k, a, 1, lda, packed, k * (size_t)t->panel, c, ldc);
}

/* ---- weights of any precision ---- */

size_t attend_int8_depth(size_t k)
{
    return round_up(k, (size_t)attend_kernel()->int8_depth);
}

size_t attend_packed_bytes(attend_precision precision, size_t k, size_t n)
{
    if (precision == ATTEND_INT8) return attend_packed_size(attend_int8_depth(k), n);
    return attend_packed_size(k, n) * (precision == ATTEND_BFLOAT16 ? sizeof(uint16_t) : sizeof(real));
}

static void pack_bf16(size_t k, size_t n, const uint16_t *w, uint16_t *packed)
{
    const size_t panel = (size_t)attend_kernel()->panel;
    memset(packed, 0, attend_packed_bytes(ATTEND_BFLOAT16, k, n));
    for (size_t j = 0; j < n; j++)
        for (size_t l = 0; l < k; l++) packed[(j / panel * k + l) * panel + j % panel] = w[j * k + l];
}

static void pack_int8(size_t k, size_t n, const int8_t *w, uint8_t *packed)
{
    const attend_kernel_table *t = attend_kernel();
    const size_t panel = (size_t)t->panel, depth = attend_int8_depth(k), group = (size_t)t->int8_group;
    const uint8_t flip = t->int8_unsigned ? 0x80 : 0; /* adds 128 */
    memset(packed, 0, attend_packed_bytes(ATTEND_INT8, k, n));
    for (size_t j = 0; j < n; j++) {
        uint8_t *column = packed + j / panel * panel * depth + j % panel * group;
        for (size_t l = 0; l < k; l++) column[l / group * group * panel + l % group] = (uint8_t)w[j * k + l] ^ flip;
    }
}

void attend_pack_as(attend_precision precision, size_t k, size_t n, const void *w, void *packed)
{
    if (precision == ATTEND_INT8)
        pack_int8(k, n, w, packed);
    else if (precision == ATTEND_BFLOAT16)
        pack_bf16(k, n, w, packed);
    else
        attend_pack(true, k, n, w, k, packed);
}

/* The elements of a column (with int8, groups of elements) are `panel` elements apart. */
void attend_pack_columns(const packed_matrix *from, size_t n, const int *columns, void *packed)
{
    if (from->compute != ATTEND_COMPUTE_FP32) {
        attend_halves_pack_columns(from, n, columns, packed);
        return;
    }
    const size_t panel = (size_t)attend_kernel()->panel, group = (size_t)attend_kernel()->int8_group;
    const bool int8 = from->precision == ATTEND_INT8;
    const size_t size = int8 ? group : from->precision == ATTEND_FP32 ? sizeof(real) : sizeof(uint16_t);
    const size_t k = int8 ? attend_int8_depth(from->k) / group : from->k;
    memset(packed, 0, attend_packed_bytes(from->precision, from->k, n));
    for (size_t j = 0; j < n; j++) {
        const size_t column = (size_t)columns[j];
        const char *source = (const char *)from->data + (column / panel * k * panel + column % panel) * size;
        char *to = (char *)packed + (j / panel * k * panel + j % panel) * size;
        if (size == sizeof(uint16_t))
            for (size_t l = 0; l < k; l++) memcpy(to + l * panel * size, source + l * panel * size, sizeof(uint16_t));
        else if (size == sizeof(uint32_t))
            for (size_t l = 0; l < k; l++) memcpy(to + l * panel * size, source + l * panel * size, sizeof(uint32_t));
        else
            for (size_t l = 0; l < k; l++) memcpy(to + l * panel * size, source + l * panel * size, size);
    }
}

int attend_int8_limit(size_t k)
{
    const size_t limit = INT32_MAX / INT8_MAX / (k ? k : 1);
    return limit > INT8_MAX ? INT8_MAX : limit < 1 ? 1 : (int)limit;
}

activations attend_activation_rows(const activations *a, size_t first, size_t count, const packed_matrix *w)
{
    activations rows = { .m = count, .row = a->row, .values = a->values + first * a->row };
    if (a->halves) rows.halves = (const char *)a->halves + first * attend_halves_row_bytes(w->compute, w->k);
    if (!a->quantized) return rows;
    rows.quantized = (const char *)a->quantized + first * attend_int8_depth(w->k) * (size_t)attend_kernel()->int8_bytes;
    rows.scales = a->scales + first, rows.sums = a->sums + first;
    return rows;
}

void attend_gemm_matrix(packed_start start, const real *bias, const activations *a, const packed_matrix *w,
                        size_t first, size_t count, real *c, size_t ldc)
{
    const attend_kernel_table *t = attend_kernel();
    const size_t k = w->k;
    if (a->m == 0 || count == 0) return;
    if (w->precision == ATTEND_INT8)
        t->packed_int8(&(int8_product){ .start = start,
                                        .bias = bias,
                                        .m = a->m,
                                        .n = count,
                                        .k = attend_int8_depth(k),
                                        .a = a->quantized,
                                        .a_scales = a->scales,
                                        .a_sums = a->sums,
                                        .b = (const int8_t *)w->data + first * attend_int8_depth(k),
                                        .b_scales = w->scales + first,
                                        .c = c,
                                        .ldc = ldc });
    else if (w->compute != ATTEND_COMPUTE_FP32)
        attend_halves_multiply(start, bias, a->m, a->halves, w, first, count, c, ldc);
    else if (w->precision == ATTEND_BFLOAT16)
        t->packed_bf16(start, bias, a->m, count, k, a->values, a->row, (const uint16_t *)w->data + first * k, c, ldc);
    else
        t->packed(start, bias, a->m, count, k, a->values, a->row, 1, (const real *)w->data + first * k,
                  k * (size_t)t->panel, c, ldc);
}
