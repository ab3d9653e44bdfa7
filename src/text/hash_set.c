#include "text/hash_set.h"

#include "core/memory.h"
#include "core/status.h"

enum { FIRST_ROOM = 1024 };

/* Where a number is, or would be. The numbers are hashes already. */
static size_t slot(const uint64_t *table, size_t room, uint64_t number)
{
    size_t i = (size_t)number & (room - 1);
    while (table[i] != 0 && table[i] != number) i = (i + 1) & (room - 1);
    return i;
}

/* 0 marks a free place. */
static uint64_t not_zero(uint64_t number)
{
    return number ? number : 1;
}

static int grow(attend_hash_set *s)
{
    const size_t room = s->room ? 2 * s->room : FIRST_ROOM;
    uint64_t *table = attend_memory_zeroed(room, sizeof *table);
    if (!table) return attend_fail(ATTEND_NO_MEMORY, "no memory to remember %zu lines", s->count + 1);
    for (size_t i = 0; i < s->room; i++)
        if (s->table[i]) table[slot(table, room, s->table[i])] = s->table[i];
    attend_memory_free(s->table);
    s->table = table;
    s->room = room;
    return ATTEND_OK;
}

bool attend_hash_set_has(const attend_hash_set *s, uint64_t number)
{
    return s->room > 0 && s->table[slot(s->table, s->room, not_zero(number))] != 0;
}

int attend_hash_set_add(attend_hash_set *s, uint64_t number, bool *had)
{
    if (s->count >= s->room / 4 * 3) {
        const int status = grow(s);
        if (status != ATTEND_OK) return status;
    }
    const size_t i = slot(s->table, s->room, not_zero(number));
    *had = s->table[i] != 0;
    if (!*had) s->count++;
    s->table[i] = not_zero(number);
    return ATTEND_OK;
}

void attend_hash_set_free(attend_hash_set *s)
{
    attend_memory_free(s->table);
    *s = (attend_hash_set){ 0 };
}
