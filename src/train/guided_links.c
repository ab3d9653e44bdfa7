/* guided_links.c: links between words -> links between tokens, stored pair after pair. */
#include "train/guided_links.h"

#include "align/aligner.h"
#include "core/memory.h"
#include "core/status.h"
#include "core/string.h"
#include "text/boundaries.h"
#include "text/token_ids.h"
#include "text/token_store.h"
#include "text/tokenizer.h"
#include <attend/lines.h>
#include <attend/parse.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BATCH = 4096 }; /* pairs that are given to the aligner at once */

typedef struct stored_link {
    int32_t target, source;
} stored_link;

typedef struct stored_pair {
    uint64_t first; /* link */
    uint32_t count;
} stored_pair;

struct attend_guided_links {
    attend_token_store links, index;
    char *directory;
    guided_links_counts counts;
};

/* A side of a pair: its text, tokens, and the word of each token. */
typedef struct pair_side {
    attend_string normal; /* what the tokenizer reads; only if it differs from the text */
    const char *text;
    size_t size;
    attend_ids tokens;
    attend_span *words; /* (word_count) */
    size_t word_capacity;
    int word_count;
    int *word_of; /* (tokens.count), -1: none */
    size_t word_of_capacity;
} pair_side;

/* The work on all pairs. */
typedef struct linking {
    attend_guided_links *to;
    const attend_corpus *corpus;
    const guided_links_options *o;
    attend_string buffer; /* of the texts of a pair */
    pair_side sides[2];
    stored_link *list;
    size_t list_capacity;
} linking;

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for the links of guided alignment");
}

static void linking_free(linking *w)
{
    for (int side = 0; side < 2; side++) {
        attend_string_free(&w->sides[side].normal);
        attend_ids_free(&w->sides[side].tokens);
        attend_memory_free(w->sides[side].words);
        attend_memory_free(w->sides[side].word_of);
    }
    attend_string_free(&w->buffer);
    attend_memory_free(w->list);
}

/* ---- words and tokens of a pair ---- */

static int add_word(pair_side *s, size_t begin, size_t end)
{
    const size_t used = (size_t)s->word_count;
    if (used >= s->word_capacity) {
        attend_span *more = attend_grow_array(s->words, used, used + 1, sizeof *more, &s->word_capacity);
        if (!more) return no_memory();
        s->words = more;
    }
    s->words[s->word_count++] = (attend_span){ (int)begin, (int)end };
    return ATTEND_OK;
}

/* Lists the words of a side. splits: also where classes of characters meet. */
static int find_words(pair_side *s, attend_unit unit, bool splits)
{
    attend_span word;
    int status = ATTEND_OK;
    s->word_count = 0;
    for (size_t at = 0; status == ATTEND_OK && attend_unit_next(unit, s->text, s->size, &at, &word);) {
        size_t begin = (size_t)word.begin;
        while (splits && status == ATTEND_OK && begin < at) {
            const size_t end = attend_boundary_next(s->text, at, begin);
            status = add_word(s, begin, end);
            begin = end;
        }
        if (!splits) status = add_word(s, begin, at);
    }
    return status;
}

/* Sets the word of each token: the last of which it covers a byte. */
static int find_word_of_tokens(pair_side *s)
{
    const size_t count = (size_t)s->tokens.count;
    if (count > s->word_of_capacity) {
        int *more = attend_grow_array(s->word_of, 0, count, sizeof *more, &s->word_of_capacity);
        if (!more) return no_memory();
        s->word_of = more;
    }
    for (int i = 0, word = 0; i < s->tokens.count; i++) {
        const attend_span token = s->tokens.spans[i];
        while (word < s->word_count && s->words[word].end < token.end) word++;
        int last = word < s->word_count && s->words[word].begin < token.end ? word : word - 1;
        s->word_of[i] = last >= 0 && last < s->word_count && s->words[last].end > token.begin ? last : -1;
    }
    return ATTEND_OK;
}

/* Reads a pair of the corpus as its tokenizers do. *index: its number among all pairs of the files. */
static int read_texts(linking *w, uint64_t i, uint64_t *index)
{
    attend_text_pair text;
    int status = attend_corpus_text(w->corpus, i, &w->buffer, &text);
    if (status != ATTEND_OK) return status;
    *index = text.index;
    const char *texts[2] = { text.source, text.target };
    const size_t sizes[2] = { text.source_size, text.target_size };
    for (int side = 0; status == ATTEND_OK && side < 2; side++) {
        pair_side *s = &w->sides[side];
        s->text = texts[side], s->size = sizes[side];
        status = attend_tokenizer_to_normal(w->o->tokenizers[side], &s->text, &s->size, &s->normal);
    }
    return status;
}

static int encode(linking *w)
{
    int status = ATTEND_OK;
    for (int side = 0; status == ATTEND_OK && side < 2; side++) {
        pair_side *s = &w->sides[side];
        s->tokens.count = 0;
        status = attend_tokenizer_encode_normal(w->o->tokenizers[side], s->text, s->size, &s->tokens, 0, 0, 0);
        if (status == ATTEND_OK) status = find_word_of_tokens(s);
    }
    return status;
}

/* ---- storing ---- */

static int compare_links(const void *a, const void *b)
{
    const stored_link *x = a, *y = b;
    if (x->target != y->target) return x->target < y->target ? -1 : 1;
    return (x->source > y->source) - (x->source < y->source);
}

static int add_link(linking *w, size_t *count, int target, int source)
{
    if (*count >= w->list_capacity) {
        stored_link *more = attend_grow_array(w->list, *count, *count + 1, sizeof *more, &w->list_capacity);
        if (!more) return no_memory();
        w->list = more;
    }
    w->list[(*count)++] = (stored_link){ target, source };
    return ATTEND_OK;
}

/* Appends the links of the current pair to the store. */
static int store(linking *w, size_t count)
{
    attend_guided_links *to = w->to;
    if (count) qsort(w->list, count, sizeof *w->list, compare_links);
    size_t kept = 0;
    for (size_t k = 0; k < count; k++)
        if (k == 0 || compare_links(&w->list[k - 1], &w->list[k]) != 0) w->list[kept++] = w->list[k];
    for (size_t k = 0; k < kept; k++) to->counts.linked_tokens += k == 0 || w->list[k].target != w->list[k - 1].target;
    const stored_pair pair = { .first = to->counts.links, .count = (uint32_t)kept };
    const uint64_t size = kept; /* so that the hash depends on where a pair ends */
    to->counts.links += kept;
    to->counts.fingerprint = XXH3_64bits_withSeed(&size, sizeof size, to->counts.fingerprint);
    if (kept) to->counts.fingerprint = XXH3_64bits_withSeed(w->list, kept * sizeof *w->list, to->counts.fingerprint);
    const int status = kept ? attend_token_store_append(&to->links, w->list, kept * sizeof *w->list) : ATTEND_OK;
    return status == ATTEND_OK ? attend_token_store_append(&to->index, &pair, sizeof pair) : status;
}

/* Stores links between the words of the current pair as links between its tokens. */
static int store_words(linking *w, const attend_word_link *links, int count)
{
    size_t used = 0;
    int status = count > 0 ? encode(w) : ATTEND_OK;
    const pair_side *source = &w->sides[0], *target = &w->sides[1];
    for (int k = 0; status == ATTEND_OK && k < count; k++)
        for (int i = 0; status == ATTEND_OK && i < target->tokens.count; i++)
            for (int j = 0; status == ATTEND_OK && target->word_of[i] == links[k].target && j < source->tokens.count;
                 j++)
                if (source->word_of[j] == links[k].source) status = add_link(w, &used, i, j);
    return status == ATTEND_OK ? store(w, used) : status;
}

/* ---- the statistical aligner ---- */

static bool is_stopped(const linking *w)
{
    return w->o->stop && w->o->stop(w->o->user);
}

/* The words of a side with single spaces between them: the aligner then finds the same words. */
static int join_words(const pair_side *s, attend_string *out)
{
    int status = ATTEND_OK;
    for (int k = 0; status == ATTEND_OK && k < s->word_count; k++) {
        if (k) status = attend_string_add(out, " ", 1);
        if (status == ATTEND_OK)
            status = attend_string_add(out, s->text + s->words[k].begin, (size_t)(s->words[k].end - s->words[k].begin));
    }
    return status == ATTEND_OK ? attend_string_add(out, "", 1) : status;
}

/* Gives the pairs [first, first + count) to the aligner. */
static int add_batch(linking *w, attend_aligner *a, uint64_t first, int count)
{
    attend_string joined[2] = { { 0 }, { 0 } };
    size_t *starts = attend_memory_zeroed(2 * (size_t)count, sizeof *starts);
    const char **texts = attend_memory_zeroed(2 * (size_t)count, sizeof *texts);
    int status = starts && texts ? ATTEND_OK : no_memory();
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        uint64_t index;
        status = read_texts(w, first + (uint64_t)i, &index);
        for (int side = 0; status == ATTEND_OK && side < 2; side++) {
            starts[side * count + i] = joined[side].size;
            status = find_words(&w->sides[side], ATTEND_UNIT_WORD, true);
            if (status == ATTEND_OK) status = join_words(&w->sides[side], &joined[side]);
        }
    }
    for (int side = 0; status == ATTEND_OK && side < 2; side++)
        for (int i = 0; i < count; i++) texts[side * count + i] = joined[side].text + starts[side * count + i];
    if (status == ATTEND_OK) status = attend_aligner_add(a, count, texts, texts + count);
    for (int side = 0; side < 2; side++) attend_string_free(&joined[side]);
    attend_memory_free(texts);
    attend_memory_free(starts);
    return status;
}

static int store_batch(linking *w, attend_aligner *a, uint64_t first, int count)
{
    int status = attend_aligner_align_added(a, (size_t)first, count);
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        const attend_aligned_pair *r = attend_aligner_result(a, i);
        uint64_t index;
        status = read_texts(w, first + (uint64_t)i, &index);
        for (int side = 0; status == ATTEND_OK && side < 2; side++) {
            const attend_unit unit = a->added.sides[side].unit;
            status = find_words(&w->sides[side], unit, unit == ATTEND_UNIT_WORD);
        }
        if (status == ATTEND_OK)
            status = store_words(w, r->links[ATTEND_ALIGNED_AGREED], r->fault ? 0 : r->counts[ATTEND_ALIGNED_AGREED]);
    }
    return status;
}

/* Calls `each` for all pairs of the corpus, a batch at a time. */
static int for_batches(linking *w, attend_aligner *a, int (*each)(linking *, attend_aligner *, uint64_t, int))
{
    const uint64_t pairs = attend_corpus_count(w->corpus).pairs;
    int status = ATTEND_OK;
    for (uint64_t first = 0; status == ATTEND_OK && first < pairs; first += BATCH) {
        status = is_stopped(w) ? attend_fail(ATTEND_FAILED, "stopped")
                               : each(w, a, first, pairs - first < BATCH ? (int)(pairs - first) : BATCH);
    }
    return status;
}

static int link_by_aligner(linking *w)
{
    attend_aligner_options o = attend_aligner_defaults();
    o.threads = w->o->threads, o.memory = w->o->memory;
    o.progress = w->o->progress, o.user = w->o->user;
    attend_aligner *a = NULL;
    int status = attend_aligner_new(&a, &o);
    if (status == ATTEND_OK) status = for_batches(w, a, add_batch);
    if (status == ATTEND_OK) status = attend_aligner_train(a);
    if (status == ATTEND_OK) status = for_batches(w, a, store_batch);
    attend_aligner_free(a);
    return status;
}

/* ---- a file of links ---- */

static int malformed(const linking *w, const attend_lines *from, const char *at)
{
    return attend_fail(ATTEND_BAD_DATA,
                       "%s:%llu: cannot parse links at '%.40s'; expected links such as \"0-0 1-2\": source word, '-', "
                       "target word, counted from 0",
                       w->o->file, (unsigned long long)attend_lines_number(from), at);
}

static bool read_number(const char **s, int max, int *x)
{
    uint64_t n;
    if (**s < '0' || **s > '9' || !attend_parse_unsigned(*s, s, &n)) return false;
    *x = n < (uint64_t)max ? (int)n : max;
    return true;
}

static int compare_word_links(const void *a, const void *b)
{
    const attend_word_link *x = a, *y = b;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

/* Removes links that a line repeats: each of them would be expanded to links between all tokens of its words. */
static int remove_repeated(attend_word_link *links, size_t count)
{
    size_t kept = 0;
    if (count) qsort(links, count, sizeof *links, compare_word_links);
    for (size_t k = 0; k < count; k++)
        if (k == 0 || compare_word_links(&links[k - 1], &links[k]) != 0) links[kept++] = links[k];
    return (int)kept;
}

/* Parses a line; the links are stored as those of the current pair. */
static int store_line(linking *w, const attend_lines *from, const char *text)
{
    const int words[2] = { w->sides[0].word_count, w->sides[1].word_count };
    attend_word_link *links = NULL;
    size_t capacity = 0, count = 0;
    int status = ATTEND_OK;
    for (const char *s = text; status == ATTEND_OK;) {
        while (*s == ' ' || *s == '\t' || *s == '\r') s++;
        if (!*s) break;
        const char *begin = s;
        attend_word_link link = { .sure = true };
        if (!read_number(&s, words[0], &link.source) || !*s || !strchr("-?:", *s) ||
            (s++, !read_number(&s, words[1], &link.target)) || (*s && !strchr(" \t\r", *s)))
            status = malformed(w, from, begin);
        else if (link.source == words[0] || link.target == words[1])
            status = attend_fail(ATTEND_BAD_DATA,
                                 "%s:%llu: link '%.*s' is outside its pair, which has %d and %d words: the file must "
                                 "have a line for each line of the training files, and link words that white space "
                                 "separates (attend align has --unit word), not letters",
                                 w->o->file, (unsigned long long)attend_lines_number(from), (int)(s - begin), begin,
                                 words[0], words[1]);
        if (status == ATTEND_OK && count >= capacity) {
            attend_word_link *more = attend_grow_array(links, count, count + 1, sizeof *more, &capacity);
            if (more)
                links = more;
            else
                status = no_memory();
        }
        if (status == ATTEND_OK) links[count++] = link;
    }
    if (status == ATTEND_OK) status = store_words(w, links, remove_repeated(links, count));
    attend_memory_free(links);
    return status;
}

/* Reads lines up to that of pair `index`. */
static int next_line(const linking *w, attend_lines *from, uint64_t index, const char **text)
{
    int status = ATTEND_OK;
    size_t size = 0, at;
    *text = "";
    while (status == ATTEND_OK && *text && attend_lines_number(from) <= index)
        status = attend_lines_next(from, text, &size);
    if (status == ATTEND_OK && *text && attend_line_check(*text, size, &at) != ATTEND_LINE_OK)
        return attend_fail(ATTEND_BAD_DATA, "%s:%llu: byte %zu is NUL or not UTF-8; expected links such as \"0-0 1-2\"",
                           w->o->file, (unsigned long long)attend_lines_number(from), at + 1);
    if (status != ATTEND_OK || *text) return status;
    return attend_fail(ATTEND_BAD_DATA,
                       "%s: the file ends after line %llu, but the training files have more pairs: it must have a line "
                       "of links for each of their lines",
                       w->o->file, (unsigned long long)attend_lines_number(from));
}

static int link_by_file(linking *w)
{
    const uint64_t pairs = attend_corpus_count(w->corpus).pairs;
    attend_lines *from = NULL;
    int status = attend_lines_open(&from, w->o->file);
    for (uint64_t i = 0; status == ATTEND_OK && i < pairs; i++) {
        const char *text;
        uint64_t index;
        if (i % BATCH == 0 && is_stopped(w)) status = attend_fail(ATTEND_FAILED, "stopped");
        if (status == ATTEND_OK) status = read_texts(w, i, &index);
        for (int side = 0; status == ATTEND_OK && side < 2; side++)
            status = find_words(&w->sides[side], ATTEND_UNIT_WORD, false);
        if (status == ATTEND_OK) status = next_line(w, from, index, &text);
        if (status == ATTEND_OK) status = store_line(w, from, text);
    }
    attend_lines_close(from);
    return status;
}

/* ---- all links ---- */

int attend_guided_links_new(attend_guided_links **out, const attend_corpus *corpus, const guided_links_options *options)
{
    const char *directory = getenv("TMPDIR");
    if (!directory || !*directory) directory = "/tmp";
    *out = NULL;
    attend_guided_links *l = attend_memory_zeroed(1, sizeof *l);
    if (!l) return no_memory();
    l->links = l->index = (attend_token_store)ATTEND_TOKEN_STORE_INIT;
    l->directory = attend_memory_zeroed(strlen(directory) + 1, 1);
    int status = l->directory ? ATTEND_OK : no_memory();
    if (status == ATTEND_OK) {
        memcpy(l->directory, directory, strlen(directory));
        status = attend_token_store_open(&l->links, l->directory);
    }
    if (status == ATTEND_OK) status = attend_token_store_open(&l->index, l->directory);
    linking w = { .to = l, .corpus = corpus, .o = options };
    if (status == ATTEND_OK) status = options->file ? link_by_file(&w) : link_by_aligner(&w);
    linking_free(&w);
    if (status == ATTEND_OK) status = attend_token_store_end(&l->links);
    if (status == ATTEND_OK) status = attend_token_store_end(&l->index);
    if (status == ATTEND_OK)
        *out = l;
    else
        attend_guided_links_free(l);
    return status;
}

void attend_guided_links_free(attend_guided_links *l)
{
    if (!l) return;
    attend_token_store_free(&l->links);
    attend_token_store_free(&l->index);
    attend_memory_free(l->directory);
    attend_memory_free(l);
}

guided_links_counts attend_guided_links_count(const attend_guided_links *l)
{
    return l->counts;
}

int attend_guided_links_read(const attend_guided_links *l, uint64_t i, int pair, attend_link **list, size_t *capacity,
                             size_t used, int *count)
{
    enum { CHUNK = 256 };
    stored_pair at;
    stored_link chunk[CHUNK];
    *count = 0;
    int status = attend_token_store_read(&l->index, (size_t)i * sizeof at, &at, sizeof at);
    if (status == ATTEND_OK && used + at.count > *capacity) {
        attend_link *more = attend_grow_array(*list, used, used + at.count, sizeof *more, capacity);
        if (!more) return no_memory();
        *list = more;
    }
    for (uint32_t first = 0; status == ATTEND_OK && first < at.count; first += CHUNK) {
        const uint32_t now = at.count - first < CHUNK ? at.count - first : CHUNK;
        status =
            attend_token_store_read(&l->links, (size_t)(at.first + first) * sizeof *chunk, chunk, now * sizeof *chunk);
        for (uint32_t k = 0; status == ATTEND_OK && k < now; k++)
            (*list)[used + first + k] =
                (attend_link){ .pair = pair, .target = chunk[k].target, .source = chunk[k].source };
    }
    if (status == ATTEND_OK) *count = (int)at.count;
    return status;
}
