/* arena.h: memory that is allocated in order and freed all at once.
 *
 * Chunks are kept across rewinds, so a training loop allocates nothing from the system after its largest step. If built
 * with ATTEND_ARENA_MALLOC, every allocation is a malloc of its own, which a rewind frees: slower, but AddressSanitizer
 * can then report every overrun and every use after a rewind. */
#ifndef ATTEND_CORE_ARENA_H
#define ATTEND_CORE_ARENA_H

#include "core/device_memory.h"

typedef struct attend_arena {
    const device_memory *memory; /* where the chunks lie; NULL: in host memory */
    struct arena_chunk *first;
    struct arena_chunk *current;
    size_t bytes; /* allocated from the system or the device */
} attend_arena;

/* How much of an arena is in use. */
typedef struct arena_mark {
    struct arena_chunk *chunk;
    size_t used;
} arena_mark;

/* Memory aligned to 64 bytes, not initialised; NULL if memory ran out. {0} is an empty arena. */
void *attend_arena_alloc(attend_arena *a, size_t bytes);
arena_mark attend_arena_mark(const attend_arena *a);
void attend_arena_rewind(attend_arena *a, arena_mark mark); /* {0}: to the start */
void attend_arena_free(attend_arena *a);

#endif
