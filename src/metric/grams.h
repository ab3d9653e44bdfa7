/* grams.h: sequences of symbols, each distinct one a number, with counts: words as sequences of characters, n-grams as
 * sequences of characters or words.
 *
 * Purpose    A tree in one hash table: a sequence is a node, whose parent is the sequence without its last symbol. All
 *            orders of n-grams of a line take one step each, and are compared by number.
 * Ownership  Zero is an empty tree; attend_grams_free empties it.
 * Threads    A tree belongs to one thread. */
#ifndef ATTEND_METRIC_GRAMS_H
#define ATTEND_METRIC_GRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct attend_gram {
    int hypothesis, reference; /* how often in each */
    int most;                  /* the most often in any reference so far */
    int which;                 /* the reference that `reference` counts */
} attend_gram;

typedef struct attend_gram_slot {
    uint32_t parent, symbol;
    uint32_t node; /* 0: free */
} attend_gram_slot;

typedef struct attend_grams {
    attend_gram_slot *slots; /* (capacity), a power of two */
    attend_gram *nodes;      /* (capacity / 2): the root is 0 */
    size_t capacity;
    uint32_t count; /* nodes, without the root */
} attend_grams;

void attend_grams_free(attend_grams *g);
/* The node of the sequence `parent` followed by `symbol`; made if it is not there. 0 if there is no memory. */
uint32_t attend_grams_child(attend_grams *g, uint32_t parent, uint32_t symbol);
/* The same if it is there, else 0. */
uint32_t attend_grams_find(const attend_grams *g, uint32_t parent, uint32_t symbol);

/* Counts the hypothesis' n-grams of 1 to `orders` symbols. ATTEND_NO_MEMORY. */
int attend_grams_add(attend_grams *g, const uint32_t *symbols, size_t n, int orders);
/* matches[k - 1] += the k-grams of reference number `which` (from 1) that the hypothesis has too, each at most as often
 * as it stands there. With `together`, only as far as no earlier reference has matched them already (BLEU's clipping by
 * the most frequent); else the reference is compared alone. */
void attend_grams_match(attend_grams *g, const uint32_t *symbols, size_t n, int orders, int which, bool together,
                        double *matches);
/* How many k-grams a line of n symbols has. */
static inline double attend_grams_total(size_t n, int k)
{
    return n >= (size_t)k ? (double)(n - (size_t)k + 1) : 0;
}

#endif
