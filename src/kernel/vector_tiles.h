/* vector_tiles.h: what the two packed products (vector_packed.c, vector_int8.c) share. */
#ifndef ATTEND_VECTOR_TILES_H
#define ATTEND_VECTOR_TILES_H

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

/* Rows of the next tile, of at most so many: full ones, and the last two of equal height rather than one full and one thin. */
INLINE size_t next_rows(size_t left, size_t most)
{
    if (left <= most) return left;
    return left < 2 * most ? (left + 1) / 2 : most;
}

#endif
