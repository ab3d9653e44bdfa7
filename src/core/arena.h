/* arena.h: memory that is handed out in order and given back all at once.
 *
 * Chunks are kept across rewinds, so a training loop takes nothing from the system after its largest step.
 * Built with ATTEND_ARENA_MALLOC every piece is an allocation of its own and a rewind frees it: slower, but
 * AddressSanitizer then sees every overrun and every use after a rewind. */
#ifndef ATTEND_CORE_ARENA_H
#define ATTEND_CORE_ARENA_H

#include <attend/tape.h> /* attend_mark */

typedef struct attend_arena {
    struct arena_chunk *first;
    struct arena_chunk *current;
    size_t bytes; /* held from the system */
} attend_arena;

/* {0} is an empty arena. 64-byte aligned, not initialised; NULL when memory ran out. */
void *attend_arena_take(attend_arena *a, size_t bytes);
attend_mark attend_arena_mark(const attend_arena *a);
void attend_arena_rewind(attend_arena *a, attend_mark mark); /* {0}: to the beginning */
void attend_arena_free(attend_arena *a);

#endif
