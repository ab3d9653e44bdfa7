/* ngrams.h: a trie of symbol sequences with counts: words as sequences of characters, n-grams as sequences of
 * characters or words.
 *
 * Purpose    The trie is stored in one hash table. A sequence is a node, whose parent is the sequence without its
 *            last symbol. Each n-gram of each order takes one lookup, and n-grams are compared by node number.
 * Ownership  {0} is an empty trie; attend_ngrams_free empties it.
 * Threads    A trie is used by one thread at a time. */
#ifndef ATTEND_METRIC_NGRAMS_H
#define ATTEND_METRIC_NGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct attend_ngram {
    int hypothesis, reference; /* counts */
    int max_reference;         /* the maximum count in any reference so far */
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
    uint64_t seed;  /* of the hashes */
} attend_ngrams;

void attend_ngrams_free(attend_ngrams *g);
/* The node of the sequence `parent` followed by `symbol`, which is added if it is new. 0 if memory runs out. */
uint32_t attend_ngrams_child(attend_ngrams *g, uint32_t parent, uint32_t symbol);
/* The same without adding it; 0 if the trie does not contain it. */
uint32_t attend_ngrams_find(const attend_ngrams *g, uint32_t parent, uint32_t symbol);

/* Counts the n-grams of 1 to `orders` symbols of the hypothesis. ATTEND_NO_MEMORY. */
int attend_ngrams_add(attend_ngrams *g, const uint32_t *symbols, size_t n, int orders);
/* matches[k - 1] += the k-grams of reference number `which` (from 1) that the hypothesis also has, each clipped to
 * its count in the hypothesis. With `clip_to_max`, occurrences that an earlier reference has matched already do not
 * count again (BLEU's clipping by the maximum over references); otherwise the reference is compared by itself. */
void attend_ngrams_match(attend_ngrams *g, const uint32_t *symbols, size_t n, int orders, int which, bool clip_to_max,
                         double *matches);
/* The number of k-grams of a line of n symbols. */
static inline double attend_ngrams_total(size_t n, int k)
{
    return n >= (size_t)k ? (double)(n - (size_t)k + 1) : 0;
}

#endif
