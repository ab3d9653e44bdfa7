#include "text/pair_table.h"

#include "core/memory.h"

void attend_pair_table_free(attend_pair_table *m)
{
    attend_memory_free(m->slots);
    *m = (attend_pair_table){ 0 };
}

static void put(struct attend_pair_slot *slots, size_t slot_count, struct attend_pair_slot what)
{
    size_t i = attend_pair_table_hash(what.left, what.right) & (slot_count - 1);
    while (slots[i].value) i = (i + 1) & (slot_count - 1);
    slots[i] = what;
}

bool attend_pair_table_add(attend_pair_table *m, int left, int right, int value)
{
    enum { MIN_SLOTS = 64 };
    if (2 * (m->count + 1) > m->slot_count) {
        const size_t wider = m->slot_count ? 2 * m->slot_count : MIN_SLOTS;
        struct attend_pair_slot *slots = attend_memory_zeroed(wider, sizeof *slots);
        if (!slots) return false;
        for (size_t i = 0; i < m->slot_count; i++)
            if (m->slots[i].value) put(slots, wider, m->slots[i]);
        attend_memory_free(m->slots);
        m->slots = slots;
        m->slot_count = wider;
    }
    put(m->slots, m->slot_count, (struct attend_pair_slot){ left, right, value + 1 });
    m->count++;
    return true;
}
