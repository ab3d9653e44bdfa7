/* bpe_learn.c: learns the merges.
 *
 *     split each distinct word into characters, its symbols
 *     repeat: make a token of the most frequent pair of neighbouring symbols over all words, and replace the pair by
 *     it everywhere, from left to right
 *
 * Among equally frequent pairs, the first in byte order of its tokens is merged, so that the result does not depend on
 * hash values or addresses. A pair whose text is already a token (made by another merge, or reserved) is never merged,
 * so that each token is made by exactly one merge.
 *
 * Each occurrence of a symbol (a site) is in a linked list of the pair that it begins, so that a merge visits only the
 * sites it changes. All pairs with a new token are counted during its merge; after that, the count of a pair can only
 * decrease. The queue is therefore updated lazily: a pair that is dequeued with an outdated count is queued again with
 * its current count. */
#include "text/string_order.h"
#include "text/tokenizer.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/utf8.h"
#include <limits.h>
#include <string.h>

enum { NONE = -1 };

typedef struct site {
    int symbol;         /* NONE: a word boundary, a character outside the alphabet, or a merged site */
    int before, after;  /* neighbouring sites */
    int word;           /* index of the word, for its count */
    int pair;           /* the pair that begins here, or NONE */
    int previous, next; /* sites in the list of the same pair */
} site;

typedef struct pair {
    int left, right, first_site;
    int64_t count, queued; /* queued: the count when it was queued */
} pair;

typedef struct learner {
    attend_tokenizer *t;
    const attend_string_table *words;
    site *sites;
    pair *pairs;
    size_t pair_count, pair_capacity;
    attend_pair_table pair_at; /* (left, right) to the index of the pair */
    int *queue;                /* of pairs: a binary heap, the best pair first */
    size_t queue_count, queue_capacity;
    int64_t min_count;
} learner;

enum { CHECK_EVERY = 1 << 16 }; /* sites, after which to ask whether to stop */

/* ---- the queue ---- */

static int compare_tokens(const attend_string_table *s, int a, int b)
{
    if (a == b) return 0;
    return attend_bytes_compare(attend_string_table_at(s, a), attend_string_table_size(s, a),
                                attend_string_table_at(s, b), attend_string_table_size(s, b));
}

static bool is_better(const learner *l, int a, int b)
{
    const pair *p = &l->pairs[a], *q = &l->pairs[b];
    if (p->queued != q->queued) return p->queued > q->queued;
    const int order = compare_tokens(&l->t->tokens, p->left, q->left);
    return order ? order < 0 : compare_tokens(&l->t->tokens, p->right, q->right) < 0;
}

static int enqueue(learner *l, int p)
{
    if (l->queue_count == l->queue_capacity) {
        void *more =
            attend_grow_array(l->queue, l->queue_count, l->queue_count + 1, sizeof *l->queue, &l->queue_capacity);
        if (!more) return attend_fail(ATTEND_NO_MEMORY, "no memory for a queue of %zu pairs", l->queue_count);
        l->queue = more;
    }
    l->pairs[p].queued = l->pairs[p].count;
    size_t at = l->queue_count++;
    for (; at > 0 && is_better(l, p, l->queue[(at - 1) / 2]); at = (at - 1) / 2) l->queue[at] = l->queue[(at - 1) / 2];
    l->queue[at] = p;
    return ATTEND_OK;
}

static int dequeue(learner *l)
{
    const int best = l->queue[0], last = l->queue[--l->queue_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < l->queue_count; at = child) {
        if (child + 1 < l->queue_count && is_better(l, l->queue[child + 1], l->queue[child])) child++;
        if (!is_better(l, l->queue[child], last)) break;
        l->queue[at] = l->queue[child];
    }
    l->queue[at] = last;
    return best;
}

/* The best pair that is frequent enough, or NONE. enqueue cannot fail here: the dequeued pair left room. */
static int best_pair(learner *l)
{
    while (l->queue_count > 0) {
        const int p = dequeue(l);
        if (l->pairs[p].count == l->pairs[p].queued) return p;
        if (l->pairs[p].count >= l->min_count) enqueue(l, p);
    }
    return NONE;
}

/* Queues the pairs from index `known` on. */
static int enqueue_new(learner *l, size_t known)
{
    int status = ATTEND_OK;
    for (size_t p = known; p < l->pair_count && status == ATTEND_OK; p++)
        if (l->pairs[p].count >= l->min_count) status = enqueue(l, (int)p);
    return status;
}

/* ---- the sites of a pair ---- */

/* The number of occurrences in the text that a site stands for: the count of its word. */
static int64_t weight(const learner *l, int at)
{
    return l->words->entries[l->sites[at].word].count;
}

/* The index of a pair, which is added if it is new; NONE: no memory. */
static int pair_of(learner *l, int left, int right)
{
    const int known = attend_pair_table_find(&l->pair_at, left, right);
    if (known != NONE) return known;
    if (l->pair_count == l->pair_capacity) {
        void *more = attend_grow_array(l->pairs, l->pair_count, l->pair_count + 1, sizeof *l->pairs, &l->pair_capacity);
        if (!more) return NONE;
        l->pairs = more;
    }
    if (!attend_pair_table_add(&l->pair_at, left, right, (int)l->pair_count)) return NONE;
    l->pairs[l->pair_count] = (pair){ left, right, NONE, 0, 0 };
    return (int)l->pair_count++;
}

/* Removes a site from the list of its pair, if it is in one. */
static void unlink_site(learner *l, int at)
{
    site *s = &l->sites[at];
    if (s->pair == NONE) return;
    pair *p = &l->pairs[s->pair];
    if (s->previous != NONE)
        l->sites[s->previous].next = s->next;
    else
        p->first_site = s->next;
    if (s->next != NONE) l->sites[s->next].previous = s->previous;
    p->count -= weight(l, at);
    s->pair = NONE;
}

/* Adds a site to the list of the pair that it begins, if it begins one. */
static int link_site(learner *l, int at)
{
    site *s = &l->sites[at];
    if (s->symbol == NONE || l->sites[s->after].symbol == NONE) return ATTEND_OK;
    s->pair = pair_of(l, s->symbol, l->sites[s->after].symbol);
    if (s->pair == NONE) return attend_fail(ATTEND_NO_MEMORY, "no memory for more than %zu pairs", l->pair_count);
    pair *p = &l->pairs[s->pair];
    s->previous = NONE;
    s->next = p->first_site;
    if (p->first_site != NONE) l->sites[p->first_site].previous = at;
    p->first_site = at;
    p->count += weight(l, at);
    return ATTEND_OK;
}

/* ---- merging ---- */

/* Merges a site with the one after it. */
static int merge_site(learner *l, int at, int token)
{
    site *s = &l->sites[at];
    const int merged = s->after, before = s->before;
    unlink_site(l, before);
    unlink_site(l, at);
    unlink_site(l, merged);
    l->sites[merged].symbol = NONE;
    s->symbol = token;
    s->after = l->sites[merged].after;
    l->sites[s->after].before = at;
    const int status = link_site(l, before);
    return status == ATTEND_OK ? link_site(l, at) : status;
}

static int merge_everywhere(learner *l, int p, int token)
{
    const bool is_doubled = l->pairs[p].left == l->pairs[p].right; /* such as "aa" */
    const int symbol = l->pairs[p].left;
    int status = ATTEND_OK;
    while (status == ATTEND_OK && l->pairs[p].first_site != NONE) {
        int at = l->pairs[p].first_site;
        /* occurrences overlap in a run of one symbol ("aaa"): merge from the beginning of the run */
        while (is_doubled && l->sites[l->sites[at].before].symbol == symbol) at = l->sites[at].before;
        do {
            status = merge_site(l, at, token);
            at = l->sites[at].after;
        } while (is_doubled && status == ATTEND_OK && l->sites[at].pair == p);
    }
    return status;
}

/* Makes a token of a pair; *made is false if the token exists already. */
static int make_token(learner *l, int p, bool *made, int *token)
{
    attend_string_table *tokens = &l->t->tokens;
    const int left = l->pairs[p].left, right = l->pairs[p].right, known = tokens->count;
    attend_string both = { 0 };
    int status = attend_string_add(&both, attend_string_table_at(tokens, left), attend_string_table_size(tokens, left));
    if (status == ATTEND_OK)
        status =
            attend_string_add(&both, attend_string_table_at(tokens, right), attend_string_table_size(tokens, right));
    if (status == ATTEND_OK) status = attend_string_table_add(tokens, both.text, both.size, token);
    attend_string_free(&both);
    *made = status == ATTEND_OK && tokens->count > known;
    return *made ? attend_bpe_add_merge(l->t, left, right) : status;
}

static int check_stop(const learner *l)
{
    const bool stops = l->t->stop && l->t->stop(l->t->stop_user);
    return stops ? attend_fail(ATTEND_FAILED, "learning the tokenizer was stopped") : ATTEND_OK;
}

static int merge_all(learner *l, int size)
{
    int status = enqueue_new(l, 0), p;
    if (status == ATTEND_OK) status = check_stop(l);
    while (status == ATTEND_OK && l->t->tokens.count < size && (p = best_pair(l)) != NONE) {
        const size_t known = l->pair_count;
        int token = 0;
        bool made;
        status = make_token(l, p, &made, &token);
        if (made && status == ATTEND_OK) status = merge_everywhere(l, p, token);
        if (status == ATTEND_OK) status = enqueue_new(l, known);
        if (status == ATTEND_OK) status = check_stop(l);
    }
    return status;
}

/* ---- preparing ---- */

static int learn_alphabet(learner *l, int size, int min_count)
{
    attend_string_table characters = { 0 };
    int status = ATTEND_OK;
    for (int i = 0; i < l->words->count && status == ATTEND_OK; i++)
        status = attend_characters_count(&characters, attend_string_table_at(l->words, i),
                                         attend_string_table_size(l->words, i), l->words->entries[i].count);
    if (status == ATTEND_OK) status = attend_tokenizer_take(l->t, &characters, size, min_count);
    attend_string_table_free(&characters);
    l->t->first_merge = l->t->tokens.count;
    return status == ATTEND_OK ? attend_characters_finish(l->t) : status;
}

/* Lays out all words as sites, with an empty site before each word and after the last. */
static int lay_out_sites(learner *l)
{
    const attend_string_table *words = l->words;
    const size_t max = words->bytes.size + 1; /* words->bytes has a '\0' for each word: room for its empty site */
    int n = 0, status = ATTEND_OK;
    if (max > INT_MAX)
        return attend_fail(ATTEND_BAD_DATA,
                           "the distinct words of the text have more than %d bytes; learn from fewer lines", INT_MAX);
    l->sites = attend_memory_aligned(max * sizeof *l->sites);
    if (!l->sites) return attend_fail(ATTEND_NO_MEMORY, "no memory for %zu symbols; learn from fewer lines", max);
    for (int w = 0; w < words->count; w++) {
        const char *word = attend_string_table_at(words, w);
        const size_t size = attend_string_table_size(words, w);
        l->sites[n] = (site){ NONE, n - 1, n + 1, w, NONE, NONE, NONE };
        n++;
        for (size_t i = 0, length; i < size; i += length, n++) {
            length = attend_utf8_length(word[i]);
            l->sites[n] = (site){ attend_character_token(l->t, word + i, length), n - 1, n + 1, w, NONE, NONE, NONE };
        }
    }
    l->sites[n] = (site){ NONE, n - 1, n, 0, NONE, NONE, NONE };
    for (int i = 0; i < n && status == ATTEND_OK; i++) {
        status = link_site(l, i);
        if (status == ATTEND_OK && i % CHECK_EVERY == 0) status = check_stop(l);
    }
    return status;
}

int attend_bpe_learn(attend_tokenizer *t, const attend_string_table *words, int size, int min_count)
{
    learner l = { .t = t, .words = words, .min_count = min_count > 2 ? min_count : 2 };
    int status = learn_alphabet(&l, size, min_count);
    if (status == ATTEND_OK) status = lay_out_sites(&l);
    if (status == ATTEND_OK) status = merge_all(&l, size);
    attend_memory_free(l.sites);
    attend_memory_free(l.pairs);
    attend_memory_free(l.queue);
    attend_pair_table_free(&l.pair_at);
    return status;
}
