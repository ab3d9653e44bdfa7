#include "core/top_k.h"

#include <stdbool.h>

static bool is_larger(attend_top_k_entry a, attend_top_k_entry b)
{
    return a.value != b.value ? a.value > b.value : a.index < b.index;
}

/* Moves the first of `count` entries down to its position in the heap. */
static void sift_down(attend_top_k_entry *heap, int count)
{
    const attend_top_k_entry moved = heap[0];
    int at = 0;
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_larger(heap[child], heap[child + 1])) child++;
        if (!is_larger(moved, heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

void attend_top_k_offer(attend_top_k *t, double value, int index)
{
    const attend_top_k_entry offered = { value, index };
    attend_top_k_entry *heap = t->entries;
    if (t->count == t->k) {
        if (!is_larger(offered, heap[0])) return;
        heap[0] = offered;
        sift_down(heap, t->count);
        return;
    }
    int at = t->count++;
    for (; at > 0 && is_larger(heap[(at - 1) / 2], offered); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = offered;
}

void attend_top_k_sort(attend_top_k *t)
{
    for (int last = t->count - 1; last > 0; last--) {
        const attend_top_k_entry smallest = t->entries[0];
        t->entries[0] = t->entries[last];
        t->entries[last] = smallest;
        sift_down(t->entries, last);
    }
}
