/* vector_tiles.h: shared by the packed products (vector_packed.c, vector_int8.c). */
#ifndef ATTEND_VECTOR_TILES_H
#define ATTEND_VECTOR_TILES_H

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

/* Rows of the next tile, at most max_rows. The last two tiles share the remaining rows equally instead of leaving a
 * thin one. */
INLINE size_t next_rows(size_t left, size_t max_rows)
{
    if (left <= max_rows) return left;
    return left < 2 * max_rows ? (left + 1) / 2 : max_rows;
}

#endif
