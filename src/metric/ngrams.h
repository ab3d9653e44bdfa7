/* ngrams.h: sequences of symbols, each distinct one a number, with counts: words as sequences of characters, n-grams as
 * sequences of characters or words.
 *
 * Purpose    A tree in one hash table: a sequence is a node, whose parent is the sequence without its last symbol. All
 *            orders of n-grams of a line take one step each, and are compared by number.
 * Ownership  Zero is an empty tree; attend_ngrams_free empties it.
 * Threads    A tree belongs to one thread. */
#ifndef ATTEND_METRIC_NGRAMS_H
#define ATTEND_METRIC_NGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct attend_ngram {
    int hypothesis, reference; /* how often in each */
    int most;                  /* the most often in any reference so far */
    int which;                 /* the reference that `reference` counts */
} attend_ngram;

typedef struct attend_ngram_slot {
    uint32_t parent, symbol;
    uint32_t node; /* 0: free */
} attend_ngram_slot;

typedef struct attend_ngrams {
    attend_ngram_slot *slots; /* (capacity), a power of two */
    attend_ngram *nodes;      /* (capacity / 2): the root is 0 */
    size_t capacity;
    uint32_t count; /* nodes, without the root */
} attend_ngrams;

void attend_ngrams_free(attend_ngrams *g);
/* The node of the sequence `parent` followed by `symbol`; made if it is not there. 0 if there is no memory. */
uint32_t attend_ngrams_child(attend_ngrams *g, uint32_t parent, uint32_t symbol);
/* The same if it is there, else 0. */
uint32_t attend_ngrams_find(const attend_ngrams *g, uint32_t parent, uint32_t symbol);

/* Counts the hypothesis' n-grams of 1 to `orders` symbols. ATTEND_NO_MEMORY. */
int attend_ngrams_add(attend_ngrams *g, const uint32_t *symbols, size_t n, int orders);
/* matches[k - 1] += the k-grams of reference number `which` (from 1) that the hypothesis has too, each at most as often
 * as it stands there. With `together`, only as far as no earlier reference has matched them already (BLEU's clipping by
 * the most frequent); else the reference is compared alone. */
void attend_ngrams_match(attend_ngrams *g, const uint32_t *symbols, size_t n, int orders, int which, bool together,
                         double *matches);
/* How many k-grams a line of n symbols has. */
static inline double attend_ngrams_total(size_t n, int k)
{
    return n >= (size_t)k ? (double)(n - (size_t)k + 1) : 0;
}

#endif
