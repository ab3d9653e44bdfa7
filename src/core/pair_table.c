#include "core/pair_table.h"

#include "core/memory.h"

void attend_pair_table_free(attend_pair_table *m)
{
    attend_memory_free(m->slots);
    *m = (attend_pair_table){ 0 };
}

static void put(attend_pair_table *m, struct attend_pair_slot what)
{
    size_t i = attend_pair_table_hash(m, what.left, what.right) & (m->slot_count - 1);
    while (m->slots[i].value) i = (i + 1) & (m->slot_count - 1);
    m->slots[i] = what;
}

/* Doubles the slots. */
static bool grow(attend_pair_table *m)
{
    enum { MIN_SLOTS = 64 };
    attend_pair_table wider = { .slot_count = m->slot_count ? 2 * m->slot_count : MIN_SLOTS, .count = m->count };
    wider.seed = m->slot_count ? m->seed : attend_hash_seed();
    wider.slots = attend_memory_zeroed(wider.slot_count, sizeof *wider.slots);
    if (!wider.slots) return false;
    for (size_t i = 0; i < m->slot_count; i++)
        if (m->slots[i].value) put(&wider, m->slots[i]);
    attend_memory_free(m->slots);
    *m = wider;
    return true;
}

bool attend_pair_table_add(attend_pair_table *m, int left, int right, int value)
{
    if (2 * (m->count + 1) > m->slot_count && !grow(m)) return false;
    put(m, (struct attend_pair_slot){ left, right, value + 1 });
    m->count++;
    return true;
}
