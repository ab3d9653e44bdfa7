#include "core/arena.h"

#include "core/memory.h"
#include <stdint.h>

/* Chunk sizes double up to a limit, beyond which unused memory would cost more than another chunk. */
enum { ALIGNMENT = 64, FIRST_CHUNK = 1 << 20, MAX_GROWTH = 64 << 20 };

/* The header is in host memory. That of a chunk in host memory takes the first 64 bytes, so that the data after it is
 * aligned. */
struct arena_chunk {
    struct arena_chunk *next; /* with ATTEND_ARENA_MALLOC: the previous one */
    size_t size, used;        /* bytes of data */
    char *data;
};

static void chunk_free(const attend_arena *a, struct arena_chunk *chunk)
{
    if (a->memory) a->memory->give(chunk->data);
    attend_memory_free(chunk);
}

static struct arena_chunk *chunk_new(attend_arena *a, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    struct arena_chunk *chunk = attend_memory_aligned(a->memory ? ALIGNMENT : size + ALIGNMENT);
    if (!chunk) return NULL;
    *chunk = (struct arena_chunk){ .size = size, .data = (char *)chunk + ALIGNMENT };
    if (a->memory && !(chunk->data = a->memory->take(size ? size : 1))) {
        attend_memory_free(chunk);
        return NULL;
    }
    a->bytes += size + ALIGNMENT;
    return chunk;
}

#ifdef ATTEND_ARENA_MALLOC

void *attend_arena_alloc(attend_arena *a, size_t bytes)
{
    struct arena_chunk *chunk = chunk_new(a, bytes);
    if (!chunk) return NULL;
    chunk->next = a->current;
    a->current = chunk;
    return chunk->data;
}

arena_mark attend_arena_mark(const attend_arena *a)
{
    return (arena_mark){ .chunk = a->current };
}

void attend_arena_rewind(attend_arena *a, arena_mark mark)
{
    while (a->current && a->current != mark.chunk) {
        struct arena_chunk *previous = a->current->next;
        a->bytes -= a->current->size + ALIGNMENT;
        chunk_free(a, a->current);
        a->current = previous;
    }
}

void attend_arena_free(attend_arena *a)
{
    attend_arena_rewind(a, (arena_mark){ 0 });
}

#else

void *attend_arena_alloc(attend_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2 || attend_memory_refused()) return NULL;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    /* Chunks after the current one are left over from larger steps: use the next that fits. */
    struct arena_chunk *chunk = a->current, *last = NULL;
    for (; chunk; last = chunk, chunk = chunk->next) {
        if (chunk != a->current) chunk->used = 0;
        if (chunk->size - chunk->used >= bytes) break;
    }
    if (!chunk) {
        size_t size = last ? last->size * 2 : FIRST_CHUNK;
        if (size > MAX_GROWTH) size = MAX_GROWTH;
        chunk = chunk_new(a, size > bytes ? size : bytes);
        if (!chunk) return NULL;
        if (last)
            last->next = chunk;
        else
            a->first = chunk;
    }
    a->current = chunk;
    void *p = chunk->data + chunk->used;
    chunk->used += bytes;
    return p;
}

arena_mark attend_arena_mark(const attend_arena *a)
{
    return (arena_mark){ .chunk = a->current, .used = a->current ? a->current->used : 0 };
}

void attend_arena_rewind(attend_arena *a, arena_mark mark)
{
    a->current = mark.chunk ? mark.chunk : a->first;
    if (a->current) a->current->used = mark.used;
}

void attend_arena_free(attend_arena *a)
{
    for (struct arena_chunk *chunk = a->first, *next; chunk; chunk = next) {
        next = chunk->next;
        chunk_free(a, chunk);
    }
    *a = (attend_arena){ .memory = a->memory };
}

#endif
