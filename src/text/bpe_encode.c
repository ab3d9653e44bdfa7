/* bpe_encode.c: the merges of a word, in the order in which they were learned, each from left to right.
 *
 * A queue holds every pair of neighbours that merges, by what it makes and its place: later merges make larger numbers. Taking out n pairs
 * costs n log n, so that a line without a space is no trouble. With dropout (Provilkov, Emelianenko, Voita 2020) the pairs of each step are
 * left out one by one until one stays; those that were left out take part again in the next.
 *
 * Most words of most texts are one token; these are looked up (`whole`). */
#include "text/tokenizer.h"

#include "core/memory.h"
#include "core/status.h"
#include "format/utf8.h"
#include <string.h>

enum { NONE = -1, SMALL = 64, LONGEST_WHOLE = 128 };

typedef struct symbol {
    int id, begin, end; /* bytes [begin, end) of the line */
    int before, after;
    int made; /* with the symbol behind it, or NONE */
} symbol;

typedef struct queue {
    uint64_t *pairs; /* what it makes << 32 | place: a heap with the smallest in front */
    size_t count;
} queue;

/* What a word needs, one after another; small words live in here. */
typedef struct work {
    const attend_tokenizer *t;
    attend_merge_dropout *dropout;
    attend_ids *out;
    symbol *symbols;
    queue ready, left_out;
    size_t room;
    void *block; /* the memory, if it is not in here */
    symbol small_symbols[SMALL];
    uint64_t small_ready[2 * SMALL], small_left_out[2 * SMALL];
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

/* Looks at the pair that begins at a place. */
static void look(work *w, int at)
{
    symbol *s = &w->symbols[at];
    s->made = s->after == NONE ? NONE : attend_pair_table_find(&w->t->merge_of, s->id, w->symbols[s->after].id);
    if (s->made != NONE) put(&w->ready, (uint64_t)s->made << 32 | (uint32_t)at);
}

static bool is_left_out(attend_merge_dropout *d)
{
    return d->probability > 0 && attend_rng_uniform(&d->rng, d->drawn++) < d->probability;
}

/* A word of n symbols has n - 1 pairs; a merge takes one out of the queues and puts in two: there are never more than 2 n. */
static void merge(work *w)
{
    while (w->ready.count > 0) {
        const uint64_t pair = take(&w->ready);
        const int at = (int)(uint32_t)pair, made = (int)(pair >> 32);
        symbol *s = &w->symbols[at];
        if (s->made != made) continue; /* one of the two is part of something else by now */
        if (is_left_out(w->dropout)) {
            w->left_out.pairs[w->left_out.count++] = pair;
            continue;
        }
        symbol *gone = &w->symbols[s->after];
        s->id = made;
        s->end = gone->end;
        s->after = gone->after;
        gone->made = NONE;
        if (s->after != NONE) w->symbols[s->after].before = at;
        look(w, at);
        if (s->before != NONE) look(w, s->before);
        while (w->left_out.count > 0) put(&w->ready, w->left_out.pairs[--w->left_out.count]);
    }
    w->left_out.count = 0;
}

/* ---- a word ---- */

static int make_room(work *w, size_t symbols)
{
    if (symbols <= w->room) return ATTEND_OK;
    const size_t each = sizeof(symbol) + 4 * sizeof(uint64_t);
    char *block = attend_memory_aligned(symbols * each);
    if (!block) return attend_fail(ATTEND_NO_MEMORY, "no memory to encode a word of %zu bytes", symbols);
    attend_memory_free(w->block);
    w->block = block;
    w->room = symbols;
    w->ready.pairs = (uint64_t *)(void *)block;
    w->left_out.pairs = w->ready.pairs + 2 * symbols;
    w->symbols = (symbol *)(void *)(w->left_out.pairs + 2 * symbols);
    return ATTEND_OK;
}

static void add_symbol(work *w, int *n, int id, size_t begin, size_t end)
{
    w->symbols[*n] = (symbol){ id, (int)begin, (int)end, *n - 1, *n + 1, NONE };
    ++*n;
}

/* The characters of a word, or their bytes; returns how many. */
static int spell(work *w, const char *text, size_t begin, size_t end, bool space_in_front)
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

/* The token that a word is as a whole, or NONE. */
static int whole_word(const work *w, const char *text, size_t begin, size_t end, bool space_in_front)
{
    char spelled[LONGEST_WHOLE + ATTEND_SPACE_MARK_SIZE] = ATTEND_SPACE_MARK;
    size_t n = space_in_front ? ATTEND_SPACE_MARK_SIZE : 0;
    if (!w->t->whole || w->dropout->probability > 0) return NONE;
    for (size_t i = begin; i < end; i++) {
        if (n >= LONGEST_WHOLE) return NONE;
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
    const int n = spell(w, text, begin, end, space_in_front);
    for (int i = 0; i < n; i++) look(w, i);
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
    w->left_out = (queue){ w->small_left_out, 0 };
    w->room = SMALL;
    w->block = NULL;
}

int attend_bpe_encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                      attend_merge_dropout *dropout)
{
    work w;
    begin_work(&w, t, out, dropout);
    int status = ATTEND_OK;
    for (size_t begin = 0, end; begin < size && status == ATTEND_OK; begin = end) {
        end = attend_bpe_word_end(text, size, begin);
        status = encode_word(&w, text, begin, end, begin == 0);
    }
    attend_memory_free(w.block);
    return status;
}

/* ---- preparing ---- */

/* Finds out which tokens are what their own text is encoded as. Those that were learned all are, but a file can hold merges that
 * were not. */
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
