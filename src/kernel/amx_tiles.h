/* amx_tiles.h: the tile instructions of AMX, as vector_amx.c uses them. Tiles are numbers from 0 to 7, known when this is compiled.
 * With ATTEND_TILE_EMULATION, a header that emulates them, so that vector_amx.c is tested on machines without AMX.
 *
 * TILE_CONFIGURE(c)      sets the shapes of all tiles and makes them 0
 * TILE_RELEASE()         makes the tiles of this thread unused again, so that a context switch does not save them
 * TILE_ZERO(t)           t = 0
 * TILE_LOAD(t, p, s)     rows of t, s bytes apart in memory;  TILE_STORE(t, p, s)  writes them
 * TILE_STREAM(t, p, s)   the same for memory that need not stay in the first-level cache
 * TILE_LOAD_WRITTEN      the same for memory that this function has written
 * TILE_DOT_BF16(c, a, b) c += a b: a has pairs of bfloat16 numbers, b rows of such pairs, and c floats
 * TILE_DOT_INT8(c, a, b) c += a b: a has groups of four signed bytes, b rows of groups of unsigned ones, and c int32_t
 *
 * TILE_DOT_BF16 sums the even elements of all pairs from 0 on, by fused multiply-adds in ascending order, and the odd
 * ones; then it adds the two sums and adds the result to c. It rounds to nearest and takes subnormal numbers for 0. */
#ifndef ATTEND_AMX_TILES_H
#define ATTEND_AMX_TILES_H

#include <stdint.h>

/* The layout of the memory that LDTILECFG reads. */
typedef struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_shapes;

#ifdef ATTEND_TILE_EMULATION
#include ATTEND_TILE_EMULATION
#else
#include <immintrin.h>
/* The compilers do not know that an instruction on tiles reads memory: what was written before must not be left out. */
#define TILE_CONFIGURE(c)                                                                                              \
    do {                                                                                                               \
        __asm__ volatile("" : : "r"(c) : "memory");                                                                    \
        _tile_loadconfig(c);                                                                                           \
    } while (0)
#define TILE_LOAD_WRITTEN(t, p, s)                                                                                     \
    do {                                                                                                               \
        __asm__ volatile("" : : "r"(p) : "memory");                                                                    \
        _tile_loadd(t, p, s);                                                                                          \
    } while (0)
#define TILE_RELEASE()         _tile_release()
#define TILE_ZERO(t)           _tile_zero(t)
#define TILE_LOAD(t, p, s)     _tile_loadd(t, p, s)
#define TILE_STREAM(t, p, s)   _tile_stream_loadd(t, p, s)
#define TILE_STORE(t, p, s)    _tile_stored(t, p, s)
#define TILE_DOT_BF16(c, a, b) _tile_dpbf16ps(c, a, b)
#define TILE_DOT_INT8(c, a, b) _tile_dpbsud(c, a, b)
#endif

#endif
