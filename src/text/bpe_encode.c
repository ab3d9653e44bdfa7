/* bpe_encode.c: applies merges to a word in the order in which they were learned, each from left to right.
 *
 * A priority queue holds every pair of neighbours that a merge combines, ordered by the resulting token (later merges
 * make larger ids) and position. n merges cost n log n, so a long line without spaces is not a problem. With dropout
 * (Provilkov, Emelianenko, Voita 2020) each step drops pairs until one is kept; dropped pairs take part again in the
 * next step.
 *
 * Most words of most texts are one token; these are looked up directly (`whole`). */
#include "text/tokenizer.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/utf8.h"
#include <string.h>

enum { NONE = -1, SMALL = 64, MAX_WHOLE = 128 };

typedef struct symbol {
    int id, begin, end; /* bytes [begin, end) of the line */
    int before, after;
    int made; /* the token it makes with the following symbol, or NONE */
} symbol;

typedef struct queue {
    uint64_t *pairs; /* token << 32 | position: a min-heap */
    size_t count;
} queue;

/* Working memory of a word, reused by the next; short words need no allocation. */
typedef struct work {
    const attend_tokenizer *t;
    attend_merge_dropout *dropout;
    attend_ids *out;
    symbol *symbols;
    queue ready, dropped;
    size_t capacity;
    void *block; /* allocated for longer words */
    symbol small_symbols[SMALL];
    uint64_t small_ready[2 * SMALL], small_dropped[2 * SMALL];
} work;

/* ---- the queue ---- */

static void put(queue *q, uint64_t pair)
{
    size_t at = q->count++;
    for (; at > 0 && pair < q->pairs[(at - 1) / 2]; at = (at - 1) / 2) q->pairs[at] = q->pairs[(at - 1) / 2];
    q->pairs[at] = pair;
}

static uint64_t take(queue *q)
{
    const uint64_t first = q->pairs[0], last = q->pairs[--q->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < q->count; at = child) {
        if (child + 1 < q->count && q->pairs[child + 1] < q->pairs[child]) child++;
        if (q->pairs[child] >= last) break;
        q->pairs[at] = q->pairs[child];
    }
    q->pairs[at] = last;
    return first;
}

/* ---- merging ---- */

/* Queues the pair that begins at a position, if there is a merge for it. */
static void queue_pair(work *w, int at)
{
    symbol *s = &w->symbols[at];
    s->made = s->after == NONE ? NONE : attend_pair_table_find(&w->t->merge_of, s->id, w->symbols[s->after].id);
    if (s->made != NONE) put(&w->ready, (uint64_t)s->made << 32 | (uint32_t)at);
}

static bool is_dropped(attend_merge_dropout *d)
{
    return d->probability > 0 && attend_rng_uniform(&d->rng, d->drawn++) < d->probability;
}

/* A word of n symbols has n - 1 pairs. A merge removes one and adds at most two, so the queues never hold more than 2
 * n. */
static void merge(work *w)
{
    while (w->ready.count > 0) {
        const uint64_t pair = take(&w->ready);
        const int at = (int)(uint32_t)pair, made = (int)(pair >> 32);
        symbol *s = &w->symbols[at];
        if (s->made != made) continue; /* stale: one of the two symbols has been merged since */
        if (is_dropped(w->dropout)) {
            w->dropped.pairs[w->dropped.count++] = pair;
            continue;
        }
        symbol *gone = &w->symbols[s->after];
        s->id = made;
        s->end = gone->end;
        s->after = gone->after;
        gone->made = NONE;
        if (s->after != NONE) w->symbols[s->after].before = at;
        queue_pair(w, at);
        if (s->before != NONE) queue_pair(w, s->before);
        while (w->dropped.count > 0) put(&w->ready, w->dropped.pairs[--w->dropped.count]);
    }
    w->dropped.count = 0;
}

/* ---- a word ---- */

static int make_room(work *w, size_t symbols)
{
    if (symbols <= w->capacity) return ATTEND_OK;
    const size_t each = sizeof(symbol) + 4 * sizeof(uint64_t);
    char *block = attend_memory_aligned(symbols * each);
    if (!block) return attend_fail(ATTEND_NO_MEMORY, "no memory to encode a word of %zu bytes", symbols);
    attend_memory_free(w->block);
    w->block = block;
    w->capacity = symbols;
    w->ready.pairs = (uint64_t *)(void *)block;
    w->dropped.pairs = w->ready.pairs + 2 * symbols;
    w->symbols = (symbol *)(void *)(w->dropped.pairs + 2 * symbols);
    return ATTEND_OK;
}

static void add_symbol(work *w, int *n, int id, size_t begin, size_t end)
{
    w->symbols[*n] = (symbol){ id, (int)begin, (int)end, *n - 1, *n + 1, NONE };
    ++*n;
}

/* Splits a word into characters, or bytes for characters outside the vocabulary; returns their number. */
static int split_word(work *w, const char *text, size_t begin, size_t end, bool space_in_front)
{
    int n = 0;
    if (space_in_front) {
        const int space = w->t->ascii[' '];
        add_symbol(w, &n, space >= 0 ? space : ATTEND_FIRST_BYTE + ' ', begin, begin);
    }
    for (size_t i = begin, length; i < end; i += length) {
        length = attend_utf8_length(text[i]);
        const int id = attend_character_token(w->t, text + i, length);
        if (id >= 0) add_symbol(w, &n, id, i, i + length);
        for (size_t j = i; id < 0 && j < i + length; j++)
            add_symbol(w, &n, ATTEND_FIRST_BYTE + (unsigned char)text[j], j, j + 1);
    }
    w->symbols[n - 1].after = NONE;
    return n;
}

/* The single token that encodes a word, or NONE. */
static int whole_word(const work *w, const char *text, size_t begin, size_t end, bool space_in_front)
{
    char spelled[MAX_WHOLE + ATTEND_SPACE_MARK_SIZE] = ATTEND_SPACE_MARK;
    size_t n = space_in_front ? ATTEND_SPACE_MARK_SIZE : 0;
    if (!w->t->whole || w->dropout->probability > 0) return NONE;
    for (size_t i = begin; i < end; i++) {
        if (n >= MAX_WHOLE) return NONE;
        if (text[i] == ' ') {
            memcpy(spelled + n, ATTEND_SPACE_MARK, ATTEND_SPACE_MARK_SIZE);
            n += ATTEND_SPACE_MARK_SIZE;
            continue;
        }
        spelled[n++] = text[i];
        if (n >= ATTEND_SPACE_MARK_SIZE && text[i] == ATTEND_SPACE_MARK[2] &&
            memcmp(spelled + n - ATTEND_SPACE_MARK_SIZE, ATTEND_SPACE_MARK, ATTEND_SPACE_MARK_SIZE) == 0)
            return NONE; /* the character itself, not a space */
    }
    const int id = attend_string_table_find(&w->t->tokens, spelled, n);
    return id >= 0 && w->t->whole[id] ? id : NONE;
}

static int encode_word(work *w, const char *text, size_t begin, size_t end, bool space_in_front)
{
    const int whole = whole_word(w, text, begin, end, space_in_front);
    if (whole != NONE) return attend_ids_add(w->out, whole, begin, end);
    int status = make_room(w, end - begin + 1);
    if (status != ATTEND_OK) return status;
    const int n = split_word(w, text, begin, end, space_in_front);
    for (int i = 0; i < n; i++) queue_pair(w, i);
    merge(w);
    for (int i = 0; i != NONE && status == ATTEND_OK; i = w->symbols[i].after)
        status = attend_ids_add(w->out, w->symbols[i].id, (size_t)w->symbols[i].begin, (size_t)w->symbols[i].end);
    return status;
}

static void begin_work(work *w, const attend_tokenizer *t, attend_ids *out, attend_merge_dropout *dropout)
{
    w->t = t;
    w->dropout = dropout;
    w->out = out;
    w->symbols = w->small_symbols;
    w->ready = (queue){ w->small_ready, 0 };
    w->dropped = (queue){ w->small_dropped, 0 };
    w->capacity = SMALL;
    w->block = NULL;
}

int attend_bpe_encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                      attend_merge_dropout *dropout)
{
    work w;
    begin_work(&w, t, out, dropout);
    int status = ATTEND_OK;
    for (size_t begin = 0, end; begin < size && status == ATTEND_OK; begin = end) {
        end = attend_bpe_word_end(text, size, begin, t->split_classes);
        status = encode_word(&w, text, begin, end, begin == 0);
    }
    attend_memory_free(w.block);
    return status;
}

/* ---- finishing ---- */

/* Marks the tokens whose text is encoded as that one token. All learned tokens are, but a file can contain merges
 * that were not learned. */
static int find_whole(attend_tokenizer *t)
{
    attend_merge_dropout none = { 0 };
    attend_ids ids = { 0 };
    attend_string text = { 0 };
    unsigned char *whole = attend_memory_zeroed((size_t)t->tokens.count, 1);
    int status = whole ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for %d tokens", t->tokens.count);
    work w;
    begin_work(&w, t, &ids, &none);
    for (int id = t->first_merge; id < t->tokens.count && status == ATTEND_OK; id++) {
        ids.count = 0;
        text.size = 0;
        status = attend_characters_decode(t, &id, 1, &text);
        if (status == ATTEND_OK) status = encode_word(&w, text.text, 0, text.size, false);
        whole[id] = ids.count == 1 && ids.ids[0] == id;
    }
    attend_memory_free(w.block);
    attend_ids_free(&ids);
    attend_string_free(&text);
    t->whole = whole;
    return status;
}

int attend_bpe_finish(attend_tokenizer *t)
{
    attend_characters_finish(t);
    for (int i = 0; i < t->merge_count; i++)
        if (!attend_pair_table_add(&t->merge_of, t->merges[i].left, t->merges[i].right, t->first_merge + i))
            return attend_fail(ATTEND_NO_MEMORY, "no memory for %d merges", t->merge_count);
    return find_whole(t);
}
