/* bpe_learn.c: which merges to make.
 *
 *     count every word once; every character of a word is a symbol
 *     again and again: the pair of neighbouring symbols that is most frequent over all words becomes a token, and replaces the pair
 *     everywhere, from left to right
 *
 * Of equally frequent pairs the one whose tokens come first in the order of their bytes is taken, so that nothing depends on hashing or memory.
 * A pair that would spell a token there is already (by another way, or a reserved one) is never merged: a token is made in one way.
 *
 * Every place where a symbol stands (a site) is in the chain of the pair that it begins, so that a merge touches only the sites it changes. Pairs
 * with a new token are all found while it is being made; from then on the count of a pair only falls. Hence the queue is lazy: a pair
 * that comes out with an old count goes back with the new one. */
#include "text/string_order.h"
#include "text/tokenizer.h"

#include "core/memory.h"
#include "core/status.h"
#include "format/utf8.h"
#include <limits.h>
#include <string.h>

enum { NONE = -1 };

typedef struct site {
    int symbol; /* NONE: between words, a character that is not in the alphabet, or merged away */
    int before, after;
    int word;                 /* of the list of words, for its count */
    int pair;                 /* that begins here, or NONE */
    int chain_back, chain_on; /* sites of the same pair */
} site;

typedef struct pair {
    int left, right, chain;
    int64_t count, queued; /* `queued`: the count by which it stands in the queue */
} pair;

typedef struct learner {
    attend_tokenizer *t;
    const attend_string_table *words;
    site *sites;
    pair *pairs;
    size_t pair_count, pair_room;
    attend_pair_table pair_at;
    int *queue; /* of pairs: a heap with the best one in front */
    size_t queue_count, queue_room;
    int64_t least;
} learner;

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
    if (l->queue_count == l->queue_room) {
        void *more = attend_grow_array(l->queue, l->queue_count, l->queue_count + 1, sizeof *l->queue, &l->queue_room);
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

/* The best pair that is frequent enough, or NONE. There is room to put one back: it was just taken out. */
static int best_pair(learner *l)
{
    while (l->queue_count > 0) {
        const int p = dequeue(l);
        if (l->pairs[p].count == l->pairs[p].queued) return p;
        if (l->pairs[p].count >= l->least) enqueue(l, p);
    }
    return NONE;
}

/* Queues the pairs found since there were `known`. */
static int enqueue_new(learner *l, size_t known)
{
    int status = ATTEND_OK;
    for (size_t p = known; p < l->pair_count && status == ATTEND_OK; p++)
        if (l->pairs[p].count >= l->least) status = enqueue(l, (int)p);
    return status;
}

/* ---- chains ---- */

static int64_t weight(const learner *l, int at)
{
    return l->words->entries[l->sites[at].word].count;
}

/* The number of a pair, which may be new; NONE: no memory. */
static int pair_of(learner *l, int left, int right)
{
    const int known = attend_pair_table_find(&l->pair_at, left, right);
    if (known != NONE) return known;
    if (l->pair_count == l->pair_room) {
        void *more = attend_grow_array(l->pairs, l->pair_count, l->pair_count + 1, sizeof *l->pairs, &l->pair_room);
        if (!more) return NONE;
        l->pairs = more;
    }
    if (!attend_pair_table_add(&l->pair_at, left, right, (int)l->pair_count)) return NONE;
    l->pairs[l->pair_count] = (pair){ left, right, NONE, 0, 0 };
    return (int)l->pair_count++;
}

/* Takes a site out of its pair's chain, if it is in one. */
static void leave(learner *l, int at)
{
    site *s = &l->sites[at];
    if (s->pair == NONE) return;
    pair *p = &l->pairs[s->pair];
    if (s->chain_back != NONE)
        l->sites[s->chain_back].chain_on = s->chain_on;
    else
        p->chain = s->chain_on;
    if (s->chain_on != NONE) l->sites[s->chain_on].chain_back = s->chain_back;
    p->count -= weight(l, at);
    s->pair = NONE;
}

/* Puts a site into the chain of the pair it begins, if it begins one. */
static int join(learner *l, int at)
{
    site *s = &l->sites[at];
    if (s->symbol == NONE || l->sites[s->after].symbol == NONE) return ATTEND_OK;
    s->pair = pair_of(l, s->symbol, l->sites[s->after].symbol);
    if (s->pair == NONE) return attend_fail(ATTEND_NO_MEMORY, "no memory for more than %zu pairs", l->pair_count);
    pair *p = &l->pairs[s->pair];
    s->chain_back = NONE;
    s->chain_on = p->chain;
    if (p->chain != NONE) l->sites[p->chain].chain_back = at;
    p->chain = at;
    p->count += weight(l, at);
    return ATTEND_OK;
}

/* ---- merging ---- */

static int merge_site(learner *l, int at, int token)
{
    site *s = &l->sites[at];
    const int gone = s->after, before = s->before;
    leave(l, before);
    leave(l, at);
    leave(l, gone);
    l->sites[gone].symbol = NONE;
    s->symbol = token;
    s->after = l->sites[gone].after;
    l->sites[s->after].before = at;
    const int status = join(l, before);
    return status == ATTEND_OK ? join(l, at) : status;
}

static int merge_everywhere(learner *l, int p, int token)
{
    const bool twice = l->pairs[p].left == l->pairs[p].right;
    const int symbol = l->pairs[p].left;
    int status = ATTEND_OK;
    while (status == ATTEND_OK && l->pairs[p].chain != NONE) {
        int at = l->pairs[p].chain;
        /* in a run of one symbol pairs overlap: such a run is merged from its beginning on */
        while (twice && l->sites[l->sites[at].before].symbol == symbol) at = l->sites[at].before;
        do {
            status = merge_site(l, at, token);
            at = l->sites[at].after;
        } while (twice && status == ATTEND_OK && l->sites[at].pair == p);
    }
    return status;
}

/* Makes a token of a pair; *made is false if that token is there already. */
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

static int merge_all(learner *l, int size)
{
    int status = enqueue_new(l, 0), p;
    while (status == ATTEND_OK && l->t->tokens.count < size && (p = best_pair(l)) != NONE) {
        const size_t known = l->pair_count;
        int token = 0;
        bool made;
        status = make_token(l, p, &made, &token);
        if (made && status == ATTEND_OK) status = merge_everywhere(l, p, token);
        if (status == ATTEND_OK) status = enqueue_new(l, known);
    }
    return status;
}

/* ---- beginning ---- */

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

/* All words as sites, one after another, with a site that holds nothing in front of each and behind the last. */
static int lay_out(learner *l)
{
    const attend_string_table *words = l->words;
    const size_t most = words->bytes.size + 1; /* bytes, and a '\0' a word: its site in front */
    int n = 0, status = ATTEND_OK;
    if (most > INT_MAX)
        return attend_fail(ATTEND_BAD_DATA,
                           "the different words of the text make more than %d bytes; learn from fewer lines", INT_MAX);
    l->sites = attend_memory_aligned(most * sizeof *l->sites);
    if (!l->sites) return attend_fail(ATTEND_NO_MEMORY, "no memory for %zu symbols; learn from fewer lines", most);
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
    for (int i = 0; i < n && status == ATTEND_OK; i++) status = join(l, i);
    return status;
}

int attend_bpe_learn(attend_tokenizer *t, const attend_string_table *words, int size, int min_count)
{
    learner l = { .t = t, .words = words, .least = min_count > 2 ? min_count : 2 };
    int status = learn_alphabet(&l, size, min_count);
    if (status == ATTEND_OK) status = lay_out(&l);
    if (status == ATTEND_OK) status = merge_all(&l, size);
    attend_memory_free(l.sites);
    attend_memory_free(l.pairs);
    attend_memory_free(l.queue);
    attend_pair_table_free(&l.pair_at);
    return status;
}
