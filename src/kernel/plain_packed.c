/* plain_packed.c: the product with packed weights in plain C: the reference, and the kernel of machines without vector
 * kernels. The layout is described in gemm.h. */
#include "kernel/tables.h"

#include <string.h>

enum { PANEL = 8, TILE_ROWS = 4 };

/* One row of one panel: PANEL sums over k. */
static void row_of_panel(const real *from, size_t columns, size_t k, const real *a, size_t a_step, const real *b,
                         real *c)
{
    real sum[PANEL] = { 0 };
    if (from)
        for (size_t j = 0; j < columns; j++) sum[j] = from[j];
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < PANEL; j++) sum[j] += a[i * a_step] * b[i * PANEL + j];
    for (size_t j = 0; j < columns; j++) c[j] = sum[j];
}

static real from_bf16(uint16_t bits)
{
    const uint32_t whole = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &whole, sizeof value);
    return (real)value;
}

void attend_plain_packed_bf16(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a,
                              size_t a_row, const uint16_t *b, real *c, size_t ldc)
{
    for (size_t j = 0; j < n; j++) {
        const uint16_t *column = b + j / PANEL * PANEL * k + j % PANEL;
        for (size_t i = 0; i < m; i++) {
            real *to = c + i * ldc + j;
            real sum = start == PACKED_ADD ? *to : start == PACKED_BIAS ? bias[j] : 0;
            for (size_t l = 0; l < k; l++) sum += a[i * a_row + l] * from_bf16(column[l * PANEL]);
            *to = sum;
        }
    }
}

void attend_plain_packed(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a,
                         size_t a_row, size_t a_step, const real *b, size_t panel_stride, real *c, size_t ldc)
{
    for (size_t j = 0; j < n; j += PANEL) {
        size_t columns = n - j < PANEL ? n - j : PANEL;
        for (size_t i = 0; i < m; i++) {
            real *row = c + i * ldc + j;
            const real *from = start == PACKED_ADD ? row : start == PACKED_BIAS ? bias + j : NULL;
            row_of_panel(from, columns, k, a + i * a_row, a_step, b + j / PANEL * panel_stride, row);
        }
    }
}

void attend_plain_packed_tiles(packed_start start, size_t m, size_t n, size_t k, const real *a, const real *b, real *c,
                               size_t ldc)
{
    for (size_t i = 0; i < m; i += TILE_ROWS)
        attend_plain_packed(start, NULL, m - i < TILE_ROWS ? m - i : TILE_ROWS, n, k, a + i * k, 1, TILE_ROWS, b,
                            k * PANEL, c + i * ldc, ldc);
}
