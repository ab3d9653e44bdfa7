#include "align/lexicon.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/string.h"
#include <limits.h>
#include <string.h>

/* Of an entry and its slots, in arrays that grow: the slots before and after. */
enum { ENTRY_BYTES = 2 * sizeof(lexicon_entry) + 6 * sizeof(struct attend_pair_slot) };

void attend_lexicon_init(attend_lexicon *l, double max_bytes)
{
    *l = (attend_lexicon){ .max_used = max_bytes / ENTRY_BYTES, .words = { 1, 1 } };
}

void attend_lexicon_free(attend_lexicon *l)
{
    attend_pair_table_free(&l->index);
    attend_memory_free(l->entries);
    for (int d = 0; d < 2; d++) attend_memory_free(l->totals[d]);
    *l = (attend_lexicon){ 0 };
}

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for the translation probabilities of a word aligner");
}

int attend_lexicon_add(attend_lexicon *l, int source, int target)
{
    if (attend_lexicon_find(l, source, target) >= 0) return ATTEND_OK;
    if ((double)l->used >= l->max_used)
        return attend_fail(
            ATTEND_NO_MEMORY,
            "the translation probabilities of the word aligner take more than the memory limit: raise it, "
            "or train the aligner on fewer pairs");
    if (l->used == l->capacity) {
        lexicon_entry *entries = attend_grow_array(l->entries, l->used, l->used + 1, sizeof *entries, &l->capacity);
        if (!entries) return no_memory();
        l->entries = entries;
    }
    if (l->used >= INT_MAX || !attend_pair_table_add(&l->index, source, target, (int)l->used)) return no_memory();
    lexicon_entry *e = &l->entries[l->used++];
    e->probability[0] = target > 0, e->probability[1] = source > 0;
    atomic_init(&e->count, 0);
    if (source >= l->words[0]) l->words[0] = source + 1;
    if (target >= l->words[1]) l->words[1] = target + 1;
    return ATTEND_OK;
}

int attend_lexicon_start(attend_lexicon *l)
{
    for (int d = 0; d < 2; d++) {
        l->totals[d] = attend_memory_zeroed((size_t)l->words[d], sizeof *l->totals[d]);
        if (!l->totals[d]) return no_memory();
    }
    return ATTEND_OK;
}

/* The given word of an entry: the source in direction 0, the target in direction 1. */
static int given(const struct attend_pair_slot *slot, int direction)
{
    return direction == 0 ? slot->left : slot->right;
}

static bool is_produced(const struct attend_pair_slot *slot, int direction)
{
    return given(slot, 1 - direction) > 0;
}

void attend_lexicon_normalize(attend_lexicon *l)
{
    const attend_pair_table *index = &l->index;
    for (int d = 0; d < 2; d++) memset(l->totals[d], 0, (size_t)l->words[d] * sizeof *l->totals[d]);
    for (size_t i = 0; i < index->slot_count; i++) {
        const struct attend_pair_slot *slot = &index->slots[i];
        if (slot->value == 0) continue;
        const uint64_t count = atomic_load_explicit(&l->entries[slot->value - 1].count, memory_order_relaxed);
        for (int d = 0; d < 2; d++)
            if (is_produced(slot, d)) l->totals[d][given(slot, d)] += count;
    }
    for (size_t i = 0; i < index->slot_count; i++) {
        const struct attend_pair_slot *slot = &index->slots[i];
        if (slot->value == 0) continue;
        lexicon_entry *e = &l->entries[slot->value - 1];
        const double count = (double)atomic_load_explicit(&e->count, memory_order_relaxed);
        for (int d = 0; d < 2; d++) {
            const double total = (double)l->totals[d][given(slot, d)];
            e->probability[d] = is_produced(slot, d) && count > 0 ? count / total : 0;
        }
        atomic_store_explicit(&e->count, 0, memory_order_relaxed);
    }
}

void attend_lexicon_round(attend_lexicon *l, double min)
{
    for (size_t i = 0; i < l->used; i++)
        for (int d = 0; d < 2; d++) {
            double *p = &l->entries[i].probability[d];
            *p = *p >= min ? (double)(float)*p : 0;
        }
}
