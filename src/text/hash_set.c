#include "text/hash_set.h"

#include "core/hash.h"
#include "core/memory.h"
#include "core/status.h"

enum { FIRST_CAPACITY = 1024 };

/* The slot of a hash, or the free one for it. */
static size_t slot(const attend_hash_set *s, uint64_t hash)
{
    size_t i = (size_t)attend_hash_number(hash, s->seed) & (s->capacity - 1);
    while (s->table[i] != 0 && s->table[i] != hash) i = (i + 1) & (s->capacity - 1);
    return i;
}

/* 0 marks a free slot. */
static uint64_t not_zero(uint64_t hash)
{
    return hash ? hash : 1;
}

static int grow(attend_hash_set *s)
{
    attend_hash_set larger = { .capacity = s->capacity ? 2 * s->capacity : FIRST_CAPACITY, .count = s->count };
    larger.seed = s->capacity ? s->seed : attend_hash_seed();
    larger.table = attend_memory_zeroed(larger.capacity, sizeof *larger.table);
    if (!larger.table) return attend_fail(ATTEND_NO_MEMORY, "no memory for the hashes of %zu lines", s->count + 1);
    for (size_t i = 0; i < s->capacity; i++)
        if (s->table[i]) larger.table[slot(&larger, s->table[i])] = s->table[i];
    attend_memory_free(s->table);
    *s = larger;
    return ATTEND_OK;
}

bool attend_hash_set_has(const attend_hash_set *s, uint64_t hash)
{
    return s->capacity > 0 && s->table[slot(s, not_zero(hash))] != 0;
}

int attend_hash_set_add(attend_hash_set *s, uint64_t hash, bool *had)
{
    if (s->count >= s->capacity / 4 * 3) {
        const int status = grow(s);
        if (status != ATTEND_OK) return status;
    }
    const size_t i = slot(s, not_zero(hash));
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
