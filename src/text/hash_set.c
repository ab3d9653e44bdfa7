#include "text/hash_set.h"

#include "core/memory.h"
#include "core/status.h"

enum { FIRST_CAPACITY = 1024 };

/* The slot of a hash, or the free one for it. */
static size_t slot(const uint64_t *table, size_t capacity, uint64_t hash)
{
    size_t i = (size_t)hash & (capacity - 1);
    while (table[i] != 0 && table[i] != hash) i = (i + 1) & (capacity - 1);
    return i;
}

/* 0 marks a free slot. */
static uint64_t not_zero(uint64_t hash)
{
    return hash ? hash : 1;
}

static int grow(attend_hash_set *s)
{
    const size_t capacity = s->capacity ? 2 * s->capacity : FIRST_CAPACITY;
    uint64_t *table = attend_memory_zeroed(capacity, sizeof *table);
    if (!table) return attend_fail(ATTEND_NO_MEMORY, "no memory for the hashes of %zu lines", s->count + 1);
    for (size_t i = 0; i < s->capacity; i++)
        if (s->table[i]) table[slot(table, capacity, s->table[i])] = s->table[i];
    attend_memory_free(s->table);
    s->table = table;
    s->capacity = capacity;
    return ATTEND_OK;
}

bool attend_hash_set_has(const attend_hash_set *s, uint64_t hash)
{
    return s->capacity > 0 && s->table[slot(s->table, s->capacity, not_zero(hash))] != 0;
}

int attend_hash_set_add(attend_hash_set *s, uint64_t hash, bool *had)
{
    if (s->count >= s->capacity / 4 * 3) {
        const int status = grow(s);
        if (status != ATTEND_OK) return status;
    }
    const size_t i = slot(s->table, s->capacity, not_zero(hash));
    *had = s->table[i] != 0;
    if (!*had) s->count++;
    s->table[i] = not_zero(hash);
    return ATTEND_OK;
}

void attend_hash_set_free(attend_hash_set *s)
{
    attend_memory_free(s->table);
    *s = (attend_hash_set){ 0 };
}
