/* pair_table.h: a hash table from pairs of non-negative ints, such as token ids, to non-negative ints. {0} is empty. */
#ifndef ATTEND_CORE_PAIR_TABLE_H
#define ATTEND_CORE_PAIR_TABLE_H

#include "core/hash.h"
#include <stdbool.h>

typedef struct attend_pair_table {
    struct attend_pair_slot {
        int left, right, value; /* value is stored + 1; 0: free */
    } * slots;
    size_t slot_count; /* a power of two; at most half of the slots are used */
    size_t count;
    uint64_t seed; /* of the hashes */
} attend_pair_table;

void attend_pair_table_free(attend_pair_table *m);
/* Adds a pair that the table does not contain. False if memory runs out; the table is then unchanged. */
bool attend_pair_table_add(attend_pair_table *m, int left, int right, int value);

static inline size_t attend_pair_table_hash(const attend_pair_table *m, int left, int right)
{
    return (size_t)attend_hash_pair((uint32_t)left, (uint32_t)right, m->seed);
}

/* The value of a pair, or -1. */
static inline int attend_pair_table_find(const attend_pair_table *m, int left, int right)
{
    if (m->slot_count == 0) return -1;
    for (size_t i = attend_pair_table_hash(m, left, right);; i++) {
        const struct attend_pair_slot *slot = &m->slots[i & (m->slot_count - 1)];
        if (slot->value == 0 || (slot->left == left && slot->right == right)) return slot->value - 1;
    }
}

#endif
