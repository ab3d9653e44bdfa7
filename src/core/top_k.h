/* top_k.h: selecting the k largest of many numbers.
 *
 * Numbers are offered one by one with an index. Of equal numbers the one with the lower index counts as larger, so the
 * result does not depend on the order of the offers. The selection is a heap with its smallest number first: a
 * rejected offer costs one comparison, an accepted one O(log k). */
#ifndef ATTEND_CORE_TOP_K_H
#define ATTEND_CORE_TOP_K_H

#include <math.h>

typedef struct attend_top_k_entry {
    double value;
    int index;
} attend_top_k_entry;

/* {k, entries} is an empty selection; the entries belong to the caller. */
typedef struct attend_top_k {
    int k;                       /* at least 1 */
    attend_top_k_entry *entries; /* (k) */
    int count;                   /* selected so far */
} attend_top_k;

/* If indices are offered in ascending order, only numbers above this are accepted. -INFINITY until there are k. */
static inline double attend_top_k_threshold(const attend_top_k *t)
{
    return t->count < t->k ? -INFINITY : t->entries[0].value;
}

/* The number must not be NaN. */
void attend_top_k_offer(attend_top_k *t, double value, int index);

/* Orders the entries, largest first, when all numbers were offered. */
void attend_top_k_sort(attend_top_k *t);

#endif
