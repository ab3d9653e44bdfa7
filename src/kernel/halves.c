#include "kernel/halves.h"

#include "core/precision.h"
#include <string.h>

/* The sizes of blocks, in numbers; see gemm.c. K_BLOCK is a multiple of every depth. */
enum { K_BLOCK = 512, N_BLOCK = 1024, M_BLOCK = 256 };

/* Four pairs, in one vector register if the processor has vector registers. */
typedef uint32_t pair4 __attribute__((vector_size(16), may_alias));

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static const bf16_kernels *bf16(void)
{
    return attend_kernel()->bf16;
}

static bool has_low(attend_compute_precision compute)
{
    return compute == ATTEND_COMPUTE_BF16X3;
}

/* k padded; bytes of a half. */
static size_t padded(size_t k)
{
    return bf16() ? round_up(k, bf16()->depth) : k;
}

static size_t half_bytes(void)
{
    return bf16() ? sizeof(uint16_t) : sizeof(real);
}

/* ---- halves as floats, for tables without products of bfloat16 numbers ---- */

static real rounded(real x)
{
    uint16_t bits;
    real result;
    attend_bf16_quantize(1, &x, &bits);
    attend_bf16_expand(1, &bits, &result);
    return result;
}

/* Replaces x by its high halves; low may be NULL. */
static void round_floats(size_t n, real *x, real *low)
{
    for (size_t i = 0; i < n; i++) {
        const real high = rounded(x[i]);
        if (low) low[i] = rounded(x[i] - high);
        x[i] = high;
    }
}

static void multiply_floats(packed_start start, const real *bias, size_t m, size_t n, size_t k, bool low, const real *a,
                            const real *b, const real *b_low, real *c, size_t ldc)
{
    const attend_kernel_table *t = attend_kernel();
    const size_t panel = (size_t)t->panel, row = low ? 2 * k : k;
    for (size_t l = 0; l < k || l == 0; l += K_BLOCK) {
        const size_t depth = smaller(k - l, K_BLOCK), at = l * panel;
        packed_start from = l ? PACKED_ADD : start;
        if (low) {
            t->packed(from, bias, m, n, depth, a + k + l, row, 1, b + at, k * panel, c, ldc);
            from = PACKED_ADD;
        }
        t->packed(from, bias, m, n, depth, a + l, row, 1, b + at, k * panel, c, ldc);
        if (low) t->packed(from, bias, m, n, depth, a + l, row, 1, b_low + at, k * panel, c, ldc);
    }
}

/* ---- packing ---- */

/* Transposes (rows, count) pairs, rows ldx apart, to (count, rows), rows `width` apart. Rows of the result are written one
 * after another, because they may be a power of two apart and then share sets of the cache. */
static void transpose_pairs(size_t rows, size_t count, const uint32_t *x, size_t ldx, uint32_t *to, size_t width)
{
    size_t l = 0;
    for (; l + 4 <= count; l += 4) {
        size_t j = 0;
        for (; j + 4 <= rows; j += 4) {
            pair4 r[4];
            for (size_t i = 0; i < 4; i++) memcpy(&r[i], x + (j + i) * ldx + l, sizeof r[i]);
            const pair4 a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5),
                        b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7),
                        c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5),
                        d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
            r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5), r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
            r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5), r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
            for (size_t i = 0; i < 4; i++) memcpy(to + (l + i) * width + j, &r[i], sizeof r[i]);
        }
        for (; j < rows; j++)
            for (size_t i = 0; i < 4; i++) to[(l + i) * width + j] = x[j * ldx + l + i];
    }
    for (; l < count; l++)
        for (size_t j = 0; j < rows; j++) to[l * width + j] = x[j * ldx + l];
}

/* What is packed at a time: so many columns, in so many pairs of k. */
enum { MAX_PANEL = 64, PAIRS = 32 };

/* Rows that are read in the order of columns are prefetched, because the hardware does not recognise this order. */
static void prefetch(size_t rows, size_t columns, const real *x, size_t ldx)
{
    enum { LINE = 64 / sizeof(real) };
    for (size_t i = 0; i < rows; i++, x += ldx)
        for (size_t j = 0; j < columns; j += LINE) __builtin_prefetch(x + j, 0, 3);
}

/* Packs rows [l, l + 2 PAIRS) of one panel of op(B) = B', B (n, k). */
static void pack_transposed(attend_precision precision, size_t columns, size_t numbers, size_t pairs, const void *b,
                            size_t ldb, uint32_t *high, uint32_t *low)
{
    const size_t panel = (size_t)attend_kernel()->panel;
    uint32_t halves[2][MAX_PANEL][PAIRS];
    for (size_t j = 0; j < panel; j++) {
        uint16_t *to = (uint16_t *)halves[0][j], *to_low = (uint16_t *)halves[1][j];
        if (j >= columns || numbers < 2 * pairs)
            memset(to, 0, sizeof halves[0][j]), memset(to_low, 0, sizeof halves[1][j]);
        if (j < columns && precision == ATTEND_BFLOAT16)
            memcpy(to, (const uint16_t *)b + j * ldb, numbers * sizeof *to);
        else if (j < columns)
            bf16()->split(numbers, (const real *)b + j * ldb, to, low ? to_low : NULL);
    }
    transpose_pairs(panel, pairs, halves[0][0], PAIRS, high, panel);
    if (low) transpose_pairs(panel, pairs, halves[1][0], PAIRS, low, panel);
}

/* Packs rows l and l + 1 of one panel of op(B) = B (k, n). y NULL: zeros. */
static void pack_pair(size_t columns, const real *x, const real *y, uint32_t *high, uint32_t *low)
{
    static const real zeros[MAX_PANEL];
    const size_t panel = (size_t)attend_kernel()->panel, rest = (panel - columns) * sizeof *high;
    bf16()->split_pairs(columns, x, y ? y : zeros, (uint16_t *)high, (uint16_t *)low);
    if (rest) memset(high + columns, 0, rest);
    if (rest && low) memset(low + columns, 0, rest);
}

/* op(B) = B', one panel after another. */
static void pack_rows(attend_precision precision, size_t k, size_t n, const void *b, size_t ldb, uint32_t *high,
                      uint32_t *low)
{
    const size_t panel = (size_t)attend_kernel()->panel, all = padded(k) / 2; /* pairs of a column */
    for (size_t j = 0; j < n; j += panel)
        for (size_t l = 0; l < all; l += PAIRS) {
            const size_t pairs = smaller(all - l, PAIRS), numbers = 2 * l < k ? smaller(k - 2 * l, 2 * pairs) : 0,
                         at = j * all + l * panel, from = j * ldb + 2 * l;
            pack_transposed(precision, smaller(n - j, panel), numbers, pairs,
                            precision == ATTEND_BFLOAT16 ? (const void *)((const uint16_t *)b + from)
                                                         : (const void *)((const real *)b + from),
                            ldb, high + at, low ? low + at : NULL);
        }
}

/* op(B) = B. Some rows at a time are packed into all panels, so that their cache lines and pages are used completely. */
static void pack_columns(size_t k, size_t n, const real *b, size_t ldb, uint32_t *high, uint32_t *low)
{
    enum { ROWS = 8 };
    const size_t panel = (size_t)attend_kernel()->panel, all = padded(k) / 2;
    for (size_t l = 0; l < all; l += ROWS / 2) {
        const size_t pairs = smaller(all - l, ROWS / 2), row = 2 * l, rows = row < k ? smaller(k - row, 2 * pairs) : 0,
                     after = row + ROWS < k ? smaller(k - row - ROWS, ROWS) : 0;
        for (size_t j = 0; j < n; j += panel) {
            const size_t columns = smaller(n - j, panel), at = j * all + l * panel;
            prefetch(after, columns, b + (row + ROWS) * ldb + j, ldb);
            for (size_t i = 0; i < pairs; i++) {
                const real *x = b + (row + 2 * i) * ldb + j;
                const size_t to = at + i * panel;
                if (2 * i < rows)
                    pack_pair(columns, x, 2 * i + 1 < rows ? x + ldb : NULL, high + to, low ? low + to : NULL);
                else
                    memset(high + to, 0, panel * sizeof *high), low ? memset(low + to, 0, panel * sizeof *low) : NULL;
            }
        }
    }
}

/* Numbers of all panels of one half. */
static size_t panel_numbers(size_t k, size_t n)
{
    return attend_packed_size(padded(k), n);
}

size_t attend_halves_bytes(attend_compute_precision compute, size_t k, size_t n)
{
    return panel_numbers(k, n) * half_bytes() * (has_low(compute) ? 2 : 1);
}

void attend_halves_pack(attend_precision precision, attend_compute_precision compute, bool transpose, size_t k,
                        size_t n, const void *b, size_t ldb, void *packed)
{
    const size_t size = panel_numbers(k, n);
    if (bf16()) {
        uint16_t *high = packed;
        uint32_t *low = has_low(compute) ? (uint32_t *)(high + size) : NULL;
        if (transpose)
            pack_rows(precision, k, n, b, ldb, packed, low);
        else
            pack_columns(k, n, b, ldb, packed, low);
        return;
    }
    real *high = packed;
    if (precision == ATTEND_BFLOAT16) {
        const size_t panel = (size_t)attend_kernel()->panel;
        memset(high, 0, size * sizeof *high);
        for (size_t j = 0; j < n; j++)
            for (size_t l = 0; l < k; l++)
                attend_bf16_expand(1, (const uint16_t *)b + j * ldb + l,
                                   &high[(j / panel * k + l) * panel + j % panel]);
    } else {
        attend_pack(transpose, k, n, b, ldb, high);
    }
    round_floats(size, high, has_low(compute) ? high + size : NULL);
}

/* Both a pair and a float have four bytes; in double precision a float has eight. */
void attend_halves_pack_columns(const packed_matrix *from, size_t n, const int *columns, void *packed)
{
    const size_t panel = (size_t)attend_kernel()->panel, unit = bf16() ? sizeof(uint32_t) : sizeof(real);
    const size_t rows = bf16() ? padded(from->k) / 2 : from->k, parts = has_low(from->compute) ? 2 : 1;
    memset(packed, 0, attend_halves_bytes(from->compute, from->k, n));
    for (size_t part = 0; part < parts; part++) {
        const char *source = (const char *)from->data + part * panel_numbers(from->k, from->n) * half_bytes();
        char *to = (char *)packed + part * panel_numbers(from->k, n) * half_bytes();
        for (size_t j = 0; j < n; j++) {
            const size_t column = (size_t)columns[j], a = column / panel * rows * panel + column % panel,
                         b = j / panel * rows * panel + j % panel;
            for (size_t l = 0; l < rows; l++)
                memcpy(to + (b + l * panel) * unit, source + (a + l * panel) * unit, unit);
        }
    }
}

/* ---- products with packed weights ---- */

size_t attend_halves_row_bytes(attend_compute_precision compute, size_t k)
{
    return padded(k) * half_bytes() * (has_low(compute) ? 2 : 1);
}

void attend_halves_split(attend_compute_precision compute, size_t m, size_t k, const real *x, size_t ldx, void *rows)
{
    const size_t depth = padded(k);
    char *row = rows;
    for (size_t i = 0; i < m; i++, x += ldx, row += attend_halves_row_bytes(compute, k)) {
        if (bf16()) {
            uint16_t *high = (uint16_t *)row, *low = has_low(compute) ? high + depth : NULL;
            bf16()->split(k, x, high, low);
            if (depth > k) memset(high + k, 0, (depth - k) * sizeof *high);
            if (depth > k && low) memset(low + k, 0, (depth - k) * sizeof *low);
        } else {
            memcpy(row, x, k * sizeof *x);
            round_floats(k, (real *)row, has_low(compute) ? (real *)row + k : NULL);
        }
    }
}

void attend_halves_multiply(packed_start start, const real *bias, size_t m, const void *rows, const packed_matrix *w,
                            size_t first, size_t count, real *c, size_t ldc)
{
    const size_t depth = padded(w->k), at = first * depth, low_at = at + panel_numbers(w->k, w->n);
    const bool low = has_low(w->compute);
    if (m == 0 || count == 0) return;
    if (!bf16()) {
        const real *b = w->data;
        multiply_floats(start, bias, m, count, w->k, low, rows, b + at, b + low_at, c, ldc);
        return;
    }
    const uint16_t *a = rows, *b = w->data;
    bf16()->product(&(bf16_product){ .start = start,
                                     .bias = bias,
                                     .m = m,
                                     .n = count,
                                     .k = depth,
                                     .a = a,
                                     .a_low = low ? a + depth : NULL,
                                     .a_row = low ? 2 * depth : depth,
                                     .b = b + at,
                                     .b_low = low ? b + low_at : NULL,
                                     .panel_stride = depth * (size_t)attend_kernel()->panel,
                                     .c = c,
                                     .ldc = ldc });
}

/* ---- two arbitrary matrices ---- */

/* attend_halves_split of columns [0, m) of A (k, m), which become rows. */
static void split_columns(attend_compute_precision compute, size_t m, size_t k, const real *a, size_t lda, void *rows)
{
    const size_t depth = padded(k), row = attend_halves_row_bytes(compute, k);
    if (!bf16()) {
        const size_t width = row / sizeof(real);
        real *to = rows;
        for (size_t l = 0; l < k; l++)
            for (size_t i = 0; i < m; i++) to[i * width + l] = a[l * lda + i];
        for (size_t i = 0; i < m; i++) round_floats(k, to + i * width, has_low(compute) ? to + i * width + k : NULL);
        return;
    }
    enum { FEW_PAIRS = 16, AHEAD = 8 };
    static const real zeros[M_BLOCK];
    uint32_t pairs[2][FEW_PAIRS][M_BLOCK], *to = rows; /* in the first-level cache */
    const size_t width = row / sizeof *to, all = depth / 2;
    for (size_t l = 0; l < all; l += FEW_PAIRS) {
        const size_t count = smaller(all - l, FEW_PAIRS);
        for (size_t i = 0; i < count; i++) {
            const size_t first = 2 * (l + i);
            if (first + AHEAD + 1 < k) prefetch(2, m, a + (first + AHEAD) * lda, lda);
            const real *x = first < k ? a + first * lda : zeros, *y = first + 1 < k ? a + (first + 1) * lda : zeros;
            bf16()->split_pairs(m, x, y, (uint16_t *)pairs[0][i], has_low(compute) ? (uint16_t *)pairs[1][i] : NULL);
        }
        transpose_pairs(count, m, pairs[0][0], M_BLOCK, to + l, width);
        if (has_low(compute)) transpose_pairs(count, m, pairs[1][0], M_BLOCK, to + all + l, width);
    }
}

/* Bytes of a packed block of B, a multiple of a cache line. */
static size_t block_of_b(attend_compute_precision compute, size_t n, size_t k)
{
    return round_up(attend_halves_bytes(compute, smaller(k, K_BLOCK), smaller(n, N_BLOCK)), 64);
}

size_t attend_halves_gemm_scratch(attend_compute_precision compute, size_t m, size_t n, size_t k)
{
    const size_t rows = smaller(m, M_BLOCK) * attend_halves_row_bytes(compute, smaller(k, K_BLOCK));
    return (block_of_b(compute, n, k) + round_up(rows, 64)) / sizeof(real);
}

void attend_halves_gemm(attend_compute_precision compute, bool transpose_a, bool transpose_b, packed_start start,
                        size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb, real *c,
                        size_t ldc, real *scratch)
{
    if (m == 0 || n == 0) return;
    void *rows = (char *)scratch + block_of_b(compute, n, k);
    for (size_t j = 0; j < n; j += N_BLOCK) {
        for (size_t l = 0; l < k || l == 0; l += K_BLOCK) { /* runs once if k is 0, to set C */
            const packed_matrix w = {
                .compute = compute, .k = smaller(k - l, K_BLOCK), .n = smaller(n - j, N_BLOCK), .data = scratch
            };
            attend_halves_pack(ATTEND_FP32, compute, transpose_b, w.k, w.n,
                               b + (transpose_b ? j * ldb + l : l * ldb + j), ldb, scratch);
            for (size_t i = 0; i < m; i += M_BLOCK) {
                const size_t height = smaller(m - i, M_BLOCK);
                if (transpose_a)
                    split_columns(compute, height, w.k, a + l * lda + i, lda, rows);
                else
                    attend_halves_split(compute, height, w.k, a + i * lda + l, lda, rows);
                attend_halves_multiply(l ? PACKED_ADD : start, NULL, height, rows, &w, 0, w.n, c + i * ldc + j, ldc);
            }
        }
    }
}
