/* vector_tiles.h: shared by the packed products (vector_packed.c, vector_int8.c, vector_bf16.c). */
#ifndef ATTEND_VECTOR_TILES_H
#define ATTEND_VECTOR_TILES_H

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

/* Cases of a switch over the rows of a tile, from the first row count that takes a single panel on: X(rows) each. */
#if ATTEND_VECTOR_ROWS > 6
#define TALL_TILES(X) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#else
#define TALL_TILES(X) X(4) X(5) X(6)
#endif

/* Without this gcc uses a memory operand in each multiply-add, one per row: 1.7 times slower. */
#if defined(ATTEND_AVX512_EMULATION) || defined(__aarch64__) /* which has no memory operands */
#define KEEP_IN_REGISTER(v) ((void)(v))
#else
#define KEEP_IN_REGISTER(v) __asm__("" : "+v"(v))
#endif

/* Makes a pointer a value of its own. Otherwise gcc computes it from another one and many multiples of a stride, for
 * which there are not enough registers: it moves them through vector registers in the inner loop. */
#define KEEP_POINTER(p) __asm__("" : "+r"(p))

/* Rows of the next tile, at most max_rows. The last two tiles share the remaining rows equally instead of leaving a
 * thin one. */
INLINE size_t next_rows(size_t left, size_t max_rows)
{
    if (left <= max_rows) return left;
    return left < 2 * max_rows ? (left + 1) / 2 : max_rows;
}

#endif
