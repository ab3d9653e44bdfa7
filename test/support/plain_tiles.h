/* plain_tiles.h: the tile instructions of AMX in plain C, as Intel's manual defines them (see kernel/amx_tiles.h), to test
 * vector_amx.c on machines without AMX. A wrong use ends the process. */
#ifndef ATTEND_TEST_PLAIN_TILES_H
#define ATTEND_TEST_PLAIN_TILES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 8, MAX_TILE_ROWS = 16, MAX_TILE_BYTES = 64 };

static _Thread_local struct {
    uint8_t rows[TILES];
    uint16_t bytes[TILES];
    uint8_t data[TILES][MAX_TILE_ROWS][MAX_TILE_BYTES];
} tiles;

/* Whether this thread has tiles; for tests. */
extern _Thread_local bool attend_plain_tiles_configured;
_Thread_local bool attend_plain_tiles_configured;

static inline void plain_tiles_require(bool condition)
{
    if (!condition) abort();
}

static inline void plain_tile_configure(const tile_shapes *s)
{
    plain_tiles_require(s->palette == 1 && s->start_row == 0);
    memset(&tiles, 0, sizeof tiles);
    for (int i = 0; i < 16; i++) {
        plain_tiles_require(s->rows[i] <= MAX_TILE_ROWS && s->row_bytes[i] <= MAX_TILE_BYTES);
        plain_tiles_require(!s->rows[i] == !s->row_bytes[i] && (i < TILES || s->rows[i] == 0));
        if (i < TILES) tiles.rows[i] = s->rows[i], tiles.bytes[i] = s->row_bytes[i];
    }
    attend_plain_tiles_configured = true;
}

static inline void plain_tile_release(void)
{
    memset(&tiles, 0, sizeof tiles);
    attend_plain_tiles_configured = false;
}

static inline void plain_tile_zero(int t)
{
    plain_tiles_require(attend_plain_tiles_configured && tiles.rows[t]);
    memset(tiles.data[t], 0, sizeof tiles.data[t]);
}

/* A load makes the rest of the tile 0. */
static inline void plain_tile_load(int t, const void *p, size_t stride)
{
    plain_tile_zero(t);
    for (size_t i = 0; i < tiles.rows[t]; i++) memcpy(tiles.data[t][i], (const char *)p + i * stride, tiles.bytes[t]);
}

static inline void plain_tile_store(int t, void *p, size_t stride)
{
    plain_tiles_require(attend_plain_tiles_configured && tiles.rows[t]);
    for (size_t i = 0; i < tiles.rows[t]; i++) memcpy((char *)p + i * stride, tiles.data[t][i], tiles.bytes[t]);
}

/* The shapes of c (m, n), a (m, k) and b (k, n) must fit. */
static inline void plain_tiles_check(int c, int a, int b)
{
    plain_tiles_require(attend_plain_tiles_configured && c != a && c != b && a != b);
    plain_tiles_require(tiles.rows[c] && tiles.rows[a] && tiles.rows[b]);
    plain_tiles_require(tiles.rows[c] == tiles.rows[a] && tiles.bytes[c] == tiles.bytes[b]);
    plain_tiles_require(tiles.bytes[a] == 4 * tiles.rows[b]);
}

static inline float plain_tile_flush(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static inline float plain_tile_bf16(const uint8_t *p)
{
    const uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
    float x;
    memcpy(&x, &bits, sizeof x);
    return plain_tile_flush(x);
}

static inline void plain_tile_dot_bf16(int c, int a, int b)
{
    plain_tiles_check(c, a, b);
    for (size_t m = 0; m < tiles.rows[c]; m++) {
        for (size_t n = 0; n < tiles.bytes[c] / 4u; n++) {
            float sums[2] = { 0, 0 }, old;
            for (size_t k = 0; k < tiles.rows[b]; k++)
                for (size_t i = 0; i < 2; i++)
                    sums[i] = plain_tile_flush(fmaf(plain_tile_bf16(&tiles.data[a][m][4 * k + 2 * i]),
                                                    plain_tile_bf16(&tiles.data[b][k][4 * n + 2 * i]), sums[i]));
            memcpy(&old, &tiles.data[c][m][4 * n], sizeof old);
            const float sum = plain_tile_flush(sums[0] + sums[1]);
            const float result = plain_tile_flush(plain_tile_flush(old) + sum);
            memcpy(&tiles.data[c][m][4 * n], &result, sizeof result);
        }
    }
}

static inline void plain_tile_dot_int8(int c, int a, int b)
{
    plain_tiles_check(c, a, b);
    for (size_t m = 0; m < tiles.rows[c]; m++) {
        for (size_t n = 0; n < tiles.bytes[c] / 4u; n++) {
            uint32_t sum;
            memcpy(&sum, &tiles.data[c][m][4 * n], sizeof sum);
            for (size_t k = 0; k < tiles.rows[b]; k++)
                for (size_t i = 0; i < 4; i++)
                    sum += (uint32_t)((int8_t)tiles.data[a][m][4 * k + i] * (int)tiles.data[b][k][4 * n + i]);
            memcpy(&tiles.data[c][m][4 * n], &sum, sizeof sum);
        }
    }
}

#define TILE_CONFIGURE(c)      plain_tile_configure(c)
#define TILE_RELEASE()         plain_tile_release()
#define TILE_ZERO(t)           plain_tile_zero(t)
#define TILE_LOAD(t, p, s)     plain_tile_load(t, p, s)
#define TILE_STREAM            TILE_LOAD
#define TILE_LOAD_WRITTEN      TILE_LOAD
#define TILE_STORE(t, p, s)    plain_tile_store(t, p, s)
#define TILE_DOT_BF16(c, a, b) plain_tile_dot_bf16(c, a, b)
#define TILE_DOT_INT8(c, a, b) plain_tile_dot_int8(c, a, b)

#endif
