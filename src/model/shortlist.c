/* shortlist.c: counts of alignments, the lists in the model file, and the list of a sentence.
 *
 * The attachment "shortlist" consists of little-endian int32 numbers:
 *     F, the F tokens of the common list, and for each source token n and its n target tokens. */
#include "model/shortlist.h"

#include "core/status.h"
#include "core/memory.h"
#include "core/pair_table.h"
#include "core/string.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char attached_name[] = "shortlist";

bool attend_shortlist_is_named(const char *name)
{
    return strcmp(name, attached_name) == 0;
}

/* ---- counting ---- */

/* A pair of tokens, or a token, with its count. */
typedef struct counted {
    uint64_t key; /* source << 32 | target */
    uint64_t count;
} counted;

struct attend_shortlist {
    int source_vocab, target_vocab;
    uint64_t *frequency;     /* (target_vocab) */
    attend_pair_table index; /* (source, target) to an index of `pairs` */
    counted *pairs;
    size_t used, capacity;
};

void attend_shortlist_free(attend_shortlist *s)
{
    if (!s) return;
    attend_memory_free(s->frequency);
    attend_pair_table_free(&s->index);
    attend_memory_free(s->pairs);
    attend_memory_free(s);
}

int attend_shortlist_new(attend_shortlist **out, int source_vocab, int target_vocab)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out);
    *out = NULL;
    if (source_vocab < 1 || target_vocab < 1)
        return attend_fail(ATTEND_BAD_USAGE, "a shortlist needs vocabularies of at least 1 token; they have %d and %d",
                           source_vocab, target_vocab);
    attend_shortlist *s = attend_memory_zeroed(1, sizeof *s);
    if (s) {
        s->source_vocab = source_vocab, s->target_vocab = target_vocab;
        s->frequency = attend_memory_zeroed((size_t)target_vocab, sizeof *s->frequency);
    }
    if (!s || !s->frequency) {
        attend_shortlist_free(s);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for a shortlist");
    }
    *out = s;
    return ATTEND_OK;
}

/* The pair of tokens, which is added with a count of 0 if it is new; NULL if memory runs out. */
static counted *pair_of(attend_shortlist *s, int source, int target)
{
    const int known = attend_pair_table_find(&s->index, source, target);
    if (known >= 0) return &s->pairs[known];
    if (s->used == s->capacity) {
        counted *more = attend_grow_array(s->pairs, s->used, s->used + 1, sizeof *more, &s->capacity);
        if (!more) return NULL;
        s->pairs = more;
    }
    if (s->used >= INT_MAX || !attend_pair_table_add(&s->index, source, target, (int)s->used)) return NULL;
    s->pairs[s->used] = (counted){ .key = (uint64_t)(uint32_t)source << 32 | (uint32_t)target };
    return &s->pairs[s->used++];
}

static int check_token(const char *side, int token, int vocab)
{
    if (token >= 0 && token < vocab) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "shortlist: the %s token %d is not in [0, %d)", side, token, vocab);
}

int attend_shortlist_add(attend_shortlist *s, int source, int target)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s);
    int status = check_token("source", source, s->source_vocab);
    if (status == ATTEND_OK) status = check_token("target", target, s->target_vocab);
    if (status != ATTEND_OK) return status;
    counted *pair = pair_of(s, source, target);
    if (!pair) return attend_fail(ATTEND_NO_MEMORY, "no memory for a shortlist");
    pair->count++;
    return ATTEND_OK;
}

int attend_shortlist_count(attend_shortlist *s, int target)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s);
    const int status = check_token("target", target, s->target_vocab);
    if (status == ATTEND_OK) s->frequency[target]++;
    return status;
}

size_t attend_shortlist_bytes(const attend_shortlist *s)
{
    ATTEND_REQUIRE(0, s);
    return s->index.slot_count * sizeof *s->index.slots + s->capacity * sizeof *s->pairs;
}

/* ---- attaching ---- */

static int by_count(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    if (x->key >> 32 != y->key >> 32) return x->key >> 32 < y->key >> 32 ? -1 : 1; /* grouped by source token */
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static void put(unsigned char **to, uint32_t number)
{
    for (int i = 0; i < 4; i++) *(*to)++ = (unsigned char)(number >> 8 * i);
}

/* pairs: (source << 32 | target) with counts; tokens: target tokens with counts; both sorted by by_count. */
static void write_lists(const attend_shortlist *s, const counted *pairs, const counted *tokens, int frequent,
                        int per_token, unsigned char **to)
{
    put(to, (uint32_t)frequent);
    for (int i = 0; i < frequent; i++) put(to, (uint32_t)tokens[i].key);
    size_t at = 0;
    for (int v = 0; v < s->source_vocab; v++) {
        size_t end = at;
        while (end < s->used && pairs[end].key >> 32 == (uint64_t)v) end++;
        const size_t n = end - at < (size_t)per_token ? end - at : (size_t)per_token;
        put(to, (uint32_t)n);
        for (size_t i = 0; i < n; i++) put(to, (uint32_t)pairs[at + i].key);
        at = end;
    }
}

int attend_shortlist_attach(const attend_shortlist *s, attend_model *m, int frequent, int per_token)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s && m);
    if (attend_model_member_count(m) > 1) return attend_fail(ATTEND_BAD_USAGE, "an ensemble cannot use a shortlist");
    if (s->source_vocab != m->config.source_vocab || s->target_vocab != m->config.target_vocab || frequent < 0 ||
        per_token < 1)
        return attend_fail(ATTEND_BAD_USAGE,
                           "a shortlist for vocabularies of %d and %d tokens, with %d frequent tokens and %d per "
                           "source token, does not fit the model",
                           s->source_vocab, s->target_vocab, frequent, per_token);
    if (frequent > s->target_vocab) frequent = s->target_vocab;
    if (per_token > s->target_vocab) per_token = s->target_vocab;
    const size_t max_size = 4 * (1 + (size_t)frequent + (size_t)s->source_vocab + s->used);
    counted *pairs = attend_memory_zeroed(s->used + 1, sizeof *pairs);
    counted *tokens = attend_memory_zeroed((size_t)s->target_vocab, sizeof *tokens);
    unsigned char *bytes = attend_memory_zeroed(max_size, 1), *to = bytes;
    int status = pairs && tokens && bytes ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for a shortlist");
    if (status == ATTEND_OK) {
        if (s->used) memcpy(pairs, s->pairs, s->used * sizeof *pairs);
        for (int i = 0; i < s->target_vocab; i++) tokens[i] = (counted){ (uint64_t)i, s->frequency[i] };
        qsort(pairs, s->used, sizeof *pairs, by_count);
        qsort(tokens, (size_t)s->target_vocab, sizeof *tokens, by_count);
        write_lists(s, pairs, tokens, frequent, per_token, &to);
        status = attend_model_attach(m, attached_name, bytes, (size_t)(to - bytes));
        if (status == ATTEND_OK) status = attend_shortlist_index(m);
    }
    attend_memory_free(pairs);
    attend_memory_free(tokens);
    attend_memory_free(bytes);
    return status;
}

/* ---- reading ---- */

bool attend_model_has_shortlist(const attend_model *m)
{
    ATTEND_REQUIRE(false, m);
    return m->shortlist != NULL;
}

static uint32_t number_at(const unsigned char *bytes, size_t i)
{
    return bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 | (uint32_t)bytes[4 * i + 2] << 16 |
           (uint32_t)bytes[4 * i + 3] << 24;
}

/* Validates all lists, which may come from a damaged file, and fills `starts` with the index of each. */
static bool index_lists(const attend_model *m, const unsigned char *bytes, size_t size, uint32_t *starts)
{
    size_t at = 0;
    const size_t numbers = size / 4;
    if (size % 4 != 0 || numbers > UINT32_MAX) return false;
    for (int list = -1; list < m->config.source_vocab; list++) {
        if (at >= numbers || number_at(bytes, at) > numbers - at - 1) return false;
        starts[list + 1] = (uint32_t)at;
        const size_t n = number_at(bytes, at++);
        for (size_t i = 0; i < n; i++)
            if (number_at(bytes, at++) >= (uint32_t)m->config.target_vocab) return false;
    }
    return at == numbers;
}

int attend_shortlist_index(attend_model *m)
{
    size_t size;
    const unsigned char *bytes = attend_model_attached(m, attached_name, &size);
    attend_memory_free(m->shortlist_starts);
    m->shortlist_starts = NULL, m->shortlist = NULL;
    if (!bytes) return ATTEND_OK;
    m->shortlist_starts = attend_memory_zeroed((size_t)m->config.source_vocab + 1, sizeof *m->shortlist_starts);
    if (!m->shortlist_starts) return attend_fail(ATTEND_NO_MEMORY, "no memory for a shortlist");
    if (!index_lists(m, bytes, size, m->shortlist_starts))
        return attend_fail(ATTEND_BAD_MODEL, "the shortlist is damaged or belongs to a model with other vocabularies");
    m->shortlist = bytes;
    return ATTEND_OK;
}

static void mark_list(const unsigned char *bytes, size_t at, unsigned char *listed)
{
    const size_t n = number_at(bytes, at);
    for (size_t i = 1; i <= n; i++) listed[number_at(bytes, at + i)] = 1;
}

int *attend_shortlist_tokens(attend_ctx *c, const attend_model *m, int n, const int *source, int *count)
{
    const int vocab = m->config.target_vocab;
    unsigned char *listed = attend_ctx_alloc(c, (size_t)vocab, 1);
    if (!listed) return NULL;
    memset(listed, 0, (size_t)vocab);
    listed[ATTEND_END] = 1;
    mark_list(m->shortlist, m->shortlist_starts[0], listed);
    for (int i = 0; i < n; i++) mark_list(m->shortlist, m->shortlist_starts[source[i] + 1], listed);
    *count = 0;
    for (int i = 0; i < vocab; i++) *count += listed[i];
    int *tokens = attend_ctx_alloc(c, (size_t)*count, sizeof *tokens);
    for (int i = 0, j = 0; tokens && i < vocab; i++)
        if (listed[i]) tokens[j++] = i;
    return tokens;
}
