/* vector_tiles.h: what the two packed products (vector_packed.c, vector_int8.c) share. */
#ifndef ATTEND_VECTOR_TILES_H
#define ATTEND_VECTOR_TILES_H

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

/* Rows of the next tile: full ones, and the last two of equal height rather than one full and one thin. */
INLINE size_t next_rows(size_t left)
{
    if (left <= VPACKED_ROWS) return left;
    return left < 2 * VPACKED_ROWS ? (left + 1) / 2 : VPACKED_ROWS;
}

#endif
