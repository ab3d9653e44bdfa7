/* lexicon.h: the pairs of words that occur together, and how probable each word of a pair is given the other.
 *
 * Purpose    One table serves both directions: 0 is the target given the source, 1 the source given the target. Word 0 is
 *            the NULL word, from which words without a counterpart come; other words are numbered from 1.
 * Counts     Expected counts are integers in units of 2^-32. Sums of integers do not depend on their order, so that any
 *            number of threads gives the same bits. A count below half a unit is lost.
 * Threads    attend_lexicon_count may be called by several threads at once; the rest by one. */
#ifndef ATTEND_ALIGN_LEXICON_H
#define ATTEND_ALIGN_LEXICON_H

#include "core/pair_table.h"
#include <stdatomic.h>

typedef struct lexicon_entry {
    double probability[2]; /* by direction; 0 for the direction in which the NULL word would be produced */
    _Atomic uint64_t count;
} lexicon_entry;

typedef struct attend_lexicon {
    attend_pair_table index; /* (source word, target word) to an index of `entries` */
    lexicon_entry *entries;
    size_t used, capacity;
    double max_used;     /* entries that memory allows */
    uint64_t *totals[2]; /* (words) of each direction: counts of all entries with the given word */
    int words[2];        /* of the source, of the target: the largest number + 1 */
} attend_lexicon;

/* An empty lexicon of at most about max_bytes (INFINITY: no limit). */
void attend_lexicon_init(attend_lexicon *l, double max_bytes);
void attend_lexicon_free(attend_lexicon *l);
/* Adds a pair of words if it is new, with probability 1 in both directions. ATTEND_NO_MEMORY. */
int attend_lexicon_add(attend_lexicon *l, int source, int target);
/* Allocates what attend_lexicon_normalize needs; no pairs are added afterwards. */
int attend_lexicon_start(attend_lexicon *l);

/* The index of a pair; -1: they do not occur together. */
static inline int attend_lexicon_find(const attend_lexicon *l, int source, int target)
{
    return attend_pair_table_find(&l->index, source, target);
}

/* Adds an expected count, which is not negative. */
static inline void attend_lexicon_count(attend_lexicon *l, int entry, double count)
{
    const uint64_t units = (uint64_t)(count * 0x1p32 + 0.5);
    if (units > 0) atomic_fetch_add_explicit(&l->entries[entry].count, units, memory_order_relaxed);
}

/* Probabilities from counts, which become zero. */
void attend_lexicon_normalize(attend_lexicon *l);
/* Rounds probabilities to float, as they are stored in files; those below `min` become 0. */
void attend_lexicon_round(attend_lexicon *l, double min);

#endif
