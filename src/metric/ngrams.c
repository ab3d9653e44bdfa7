#include "metric/ngrams.h"

#include "core/hash.h"
#include "core/memory.h"
#include "core/status.h"

#include <string.h>

void attend_ngrams_free(attend_ngrams *g)
{
    attend_memory_free(g->slots);
    attend_memory_free(g->nodes);
    *g = (attend_ngrams){ 0 };
}

/* The slot of a sequence, or the free one for it. */
static attend_ngram_slot *slot_of(const attend_ngrams *g, uint32_t parent, uint32_t symbol)
{
    size_t at = (size_t)attend_hash_pair(parent, symbol, g->seed) & (g->capacity - 1);
    while (g->slots[at].node && (g->slots[at].parent != parent || g->slots[at].symbol != symbol))
        at = (at + 1) & (g->capacity - 1);
    return &g->slots[at];
}

static bool grow(attend_ngrams *g)
{
    enum { MIN_CAPACITY = 256, MAX_CAPACITY = 1 << 30 };
    if (g->capacity >= MAX_CAPACITY) return false;
    attend_ngrams larger = { .capacity = g->capacity ? 4 * g->capacity : MIN_CAPACITY, .count = g->count };
    larger.seed = g->capacity ? g->seed : attend_hash_seed();
    larger.slots = attend_memory_zeroed(larger.capacity, sizeof *larger.slots);
    larger.nodes = attend_memory_zeroed(larger.capacity / 2, sizeof *larger.nodes);
    if (!larger.slots || !larger.nodes) {
        attend_ngrams_free(&larger);
        return false;
    }
    if (g->nodes) memcpy(larger.nodes, g->nodes, (g->count + (size_t)1) * sizeof *g->nodes);
    for (size_t i = 0; i < g->capacity; i++)
        if (g->slots[i].node) *slot_of(&larger, g->slots[i].parent, g->slots[i].symbol) = g->slots[i];
    attend_ngrams_free(g);
    *g = larger;
    return true;
}

uint32_t attend_ngrams_child(attend_ngrams *g, uint32_t parent, uint32_t symbol)
{
    if (g->count + (size_t)2 > g->capacity / 2 && !grow(g)) return 0;
    attend_ngram_slot *s = slot_of(g, parent, symbol);
    if (!s->node) *s = (attend_ngram_slot){ parent, symbol, ++g->count };
    return s->node;
}

uint32_t attend_ngrams_find(const attend_ngrams *g, uint32_t parent, uint32_t symbol)
{
    return g->capacity ? slot_of(g, parent, symbol)->node : 0;
}

int attend_ngrams_add(attend_ngrams *g, const uint32_t *symbols, size_t n, int orders)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t node = 0;
        for (size_t k = 0; k < (size_t)orders && i + k < n; k++) {
            node = attend_ngrams_child(g, node, symbols[i + k]);
            if (!node) return attend_fail(ATTEND_NO_MEMORY, "no memory for the n-grams of a line of %zu tokens", n);
            g->nodes[node].hypothesis++;
        }
    }
    return ATTEND_OK;
}

void attend_ngrams_match(attend_ngrams *g, const uint32_t *symbols, size_t n, int orders, int which, bool clip_to_max,
                         double *matches)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t node = 0;
        for (size_t k = 0; k < (size_t)orders && i + k < n; k++) {
            node = attend_ngrams_find(g, node, symbols[i + k]);
            if (!node) break; /* the hypothesis has no longer n-gram with this prefix */
            attend_ngram *gram = &g->nodes[node];
            if (gram->which != which) gram->which = which, gram->reference = 0;
            gram->reference++;
            if (clip_to_max && gram->reference <= gram->max_reference) continue;
            gram->max_reference = gram->reference;
            if (gram->reference <= gram->hypothesis) matches[k]++;
        }
    }
}
