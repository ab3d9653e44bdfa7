#include "text/corpus.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/string.h"
#include "model/config.h"
#include "rank/ranks.h"
#include "text/token_ids.h"
#include "text/token_store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CHUNK = 1024, MAX_NARROW = 1 << 16 };

/* The position of a pair in the files. The tokens of the source are followed by those of the target; likewise the
 * texts. */
typedef struct index_entry {
    uint64_t ids, text;      /* offset of the first byte */
    uint32_t source, target; /* tokens */
} index_entry;

/* Precedes the texts of a pair. */
typedef struct text_sizes {
    uint32_t source, target;
    uint64_t index; /* attend_text_pair */
} text_sizes;

struct attend_corpus {
    attend_corpus_options options;
    attend_corpus_counts counts;
    bool narrow, finished;
    attend_token_store ids, index, texts;
    char *directory;
    uint64_t unattended;
    char first_unattended[300]; /* "FILE:LINE" */
};

static const char *temporary_directory(const attend_corpus_options *o)
{
    const char *directory = o->directory ? o->directory : getenv("TMPDIR");
    return directory && *directory ? directory : "/tmp";
}

static int begin(attend_corpus *c)
{
    const char *directory = temporary_directory(&c->options);
    c->directory = attend_memory_zeroed(strlen(directory) + 1, 1);
    if (!c->directory) return attend_fail(ATTEND_NO_MEMORY, "no memory for a corpus");
    memcpy(c->directory, directory, strlen(directory));
    int status = attend_token_store_open(&c->ids, c->directory);
    if (status == ATTEND_OK) status = attend_token_store_open(&c->index, c->directory);
    if (status == ATTEND_OK && c->options.keep_text) status = attend_token_store_open(&c->texts, c->directory);
    return status;
}

int attend_corpus_new(attend_corpus **out, const attend_corpus_options *options)
{
    *out = NULL;
    if (options->vocabulary < 1 || options->max_length < 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "invalid corpus options: vocabulary %d (at least 1), max_length %d (0 or more)",
                           options->vocabulary, options->max_length);
    attend_corpus *c = attend_memory_zeroed(1, sizeof *c);
    if (!c) return attend_fail(ATTEND_NO_MEMORY, "no memory for a corpus");
    c->options = *options;
    c->narrow = options->vocabulary <= MAX_NARROW;
    c->ids = c->index = c->texts = (attend_token_store)ATTEND_TOKEN_STORE_INIT;
    const int status = begin(c);
    if (status == ATTEND_OK)
        *out = c;
    else
        attend_corpus_free(c);
    return status;
}

void attend_corpus_free(attend_corpus *c)
{
    if (!c) return;
    attend_token_store_free(&c->ids);
    attend_token_store_free(&c->index);
    attend_token_store_free(&c->texts);
    attend_memory_free(c->directory);
    attend_memory_free(c);
}

/* --- adding --- */

static int append_ids(attend_corpus *c, const int *ids, int count)
{
    uint16_t chunk[CHUNK];
    int status = ATTEND_OK;
    for (int i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= c->options.vocabulary)
            return attend_fail(ATTEND_BAD_DATA, "token %d is outside the vocabulary of %d", ids[i],
                               c->options.vocabulary);
    if (!c->narrow) return attend_token_store_append(&c->ids, ids, (size_t)count * sizeof *ids);
    for (int i = 0, now; i < count && status == ATTEND_OK; i += now) {
        now = count - i < CHUNK ? count - i : CHUNK;
        for (int j = 0; j < now; j++) chunk[j] = (uint16_t)ids[i + j];
        status = attend_token_store_append(&c->ids, chunk, (size_t)now * sizeof *chunk);
    }
    return status;
}

static int append_text(attend_corpus *c, const attend_text_pair *text)
{
    const text_sizes sizes = { (uint32_t)text->source_size, (uint32_t)text->target_size, text->index };
    int status = attend_token_store_append(&c->texts, &sizes, sizeof sizes);
    if (status == ATTEND_OK) status = attend_token_store_append(&c->texts, text->source, text->source_size);
    if (status == ATTEND_OK) status = attend_token_store_append(&c->texts, text->target, text->target_size);
    return status;
}

static void count_pair(attend_corpus_counts *n, int source, int target)
{
    n->pairs++;
    n->source_ids += (uint64_t)source;
    n->target_ids += (uint64_t)target;
    if (source > n->max_source_length) n->max_source_length = source;
    if (target > n->max_target_length) n->max_target_length = target;
}

int attend_corpus_add(attend_corpus *c, const int *source, int source_count, const int *target, int target_count,
                      const attend_text_pair *text)
{
    const int max = c->options.max_length;
    if (c->finished || source_count < 0 || target_count < 0 || (c->options.keep_text && !text))
        return attend_fail(ATTEND_BAD_USAGE, c->finished ? "no pairs can be added to a finished corpus"
                                                         : "a pair has a negative length, or its text is missing");
    if (c->options.lines && source_count > 0)
        return attend_fail(ATTEND_BAD_USAGE, "a monolingual line must not have a source, and this one has %d tokens",
                           source_count);
    if ((source_count == 0 && !c->options.lines) || target_count == 0) {
        c->counts.empty++;
        return ATTEND_OK;
    }
    if (max > 0 && (source_count > max || target_count > max)) {
        c->counts.too_long++;
        return ATTEND_OK;
    }
    if (c->options.config && !attend_config_can_attend(c->options.config, source_count, target_count)) {
        c->counts.too_long++;
        if (c->unattended++ == 0 && text)
            snprintf(c->first_unattended, sizeof c->first_unattended, "%s:%llu",
                     text->source_file ? text->source_file : text->target_file, (unsigned long long)text->line);
        return ATTEND_OK;
    }
    const index_entry p = { c->ids.size, c->texts.size, (uint32_t)source_count, (uint32_t)target_count };
    int status = append_ids(c, source, source_count);
    if (status == ATTEND_OK) status = append_ids(c, target, target_count);
    if (status == ATTEND_OK && c->options.keep_text) status = append_text(c, text);
    if (status == ATTEND_OK) status = attend_token_store_append(&c->index, &p, sizeof p);
    if (status != ATTEND_OK) return status;
    count_pair(&c->counts, source_count, target_count);
    c->counts.fingerprint = XXH3_64bits_withSeed(source, (size_t)source_count * sizeof *source, c->counts.fingerprint);
    c->counts.fingerprint = XXH3_64bits_withSeed(target, (size_t)target_count * sizeof *target, c->counts.fingerprint);
    return status;
}

/* Adds file and line to the message of an encoder. */
static int add_position(const char *file, uint64_t line, int status)
{
    return attend_fail(status, "%s:%llu: %s", file, (unsigned long long)line, attend_message());
}

/* True for an empty side, or one of white space only, even if it has tokens. */
static bool is_blank(const char *text, size_t size)
{
    attend_span word;
    return !attend_word_next(text, size, &(size_t){ 0 }, &word);
}

/* Whether a pair is left out because a side is empty; it is counted then. */
static bool skips(attend_corpus *c, const attend_text_pair *pair)
{
    const bool lines = c->options.lines;
    const bool is_empty =
        (!lines && is_blank(pair->source, pair->source_size)) || is_blank(pair->target, pair->target_size);
    c->counts.empty += is_empty;
    return is_empty;
}

static int encode_pair(const attend_corpus *c, const attend_text_pair *pair, attend_encode_fn encode, void *user,
                       attend_ids sides[2])
{
    int status = c->options.lines ? ATTEND_OK : encode(user, ATTEND_SOURCE, pair->source, pair->source_size, &sides[0]);
    if (status != ATTEND_OK) return add_position(pair->source_file, pair->line, status);
    status = encode(user, ATTEND_TARGET, pair->target, pair->target_size, &sides[1]);
    return status == ATTEND_OK ? status : add_position(pair->target_file, pair->line, status);
}

static int read_alone(attend_corpus *c, attend_pairs_file *file, attend_encode_fn encode, void *user)
{
    attend_ids sides[2] = { { 0 }, { 0 } };
    attend_text_pair pair;
    int status;
    do {
        status = attend_pairs_file_next(file, &pair);
        if (status != ATTEND_OK || !pair.source || skips(c, &pair)) continue;
        sides[0].count = sides[1].count = 0;
        status = encode_pair(c, &pair, encode, user, sides);
        if (status == ATTEND_OK)
            status = attend_corpus_add(c, sides[0].ids, sides[0].count, sides[1].ids, sides[1].count, &pair);
    } while (status == ATTEND_OK && pair.source);
    for (int i = 0; i < 2; i++) attend_ids_free(&sides[i]);
    return status;
}

/* ---- reading on the ranks of a job ---- */

enum { ROUND_PAIRS = 1024, ROUND_BYTES = 1 << 20 }; /* of each rank */

/* The pairs of a round: every rank reads all of them, and encodes those from `first` to `end`. */
typedef struct shared_round {
    attend_ranks *ranks;
    attend_string texts;     /* sources and targets, one after another */
    attend_text_pair *pairs; /* (room) their texts are offsets */
    size_t *offsets;         /* (room) of their texts */
    int count, room;
    attend_string own, all; /* for each pair two numbers of tokens, and the tokens; of this rank, and of all */
    size_t *at;             /* (ranks + 1): of their blocks in `all` */
} shared_round;

static int round_new(shared_round *r, attend_ranks *ranks)
{
    const size_t count = (size_t)attend_ranks_count(ranks);
    *r = (shared_round){ .ranks = ranks, .room = ROUND_PAIRS * (int)count };
    r->pairs = attend_memory_zeroed((size_t)r->room, sizeof *r->pairs);
    r->offsets = attend_memory_zeroed((size_t)r->room, sizeof *r->offsets);
    r->at = attend_memory_zeroed(count + 1, sizeof *r->at);
    if (r->pairs && r->offsets && r->at) return ATTEND_OK;
    return attend_fail(ATTEND_NO_MEMORY, "no memory to read pairs on %zu ranks", count);
}

static void round_free(shared_round *r)
{
    attend_string_free(&r->texts);
    attend_string_free(&r->own);
    attend_string_free(&r->all);
    attend_memory_free(r->pairs);
    attend_memory_free(r->offsets);
    attend_memory_free(r->at);
}

/* Reads the texts of a round. *more: false at the end of the file. */
static int round_read(shared_round *r, attend_corpus *c, attend_pairs_file *file, bool *more)
{
    const size_t max_bytes = (size_t)ROUND_BYTES * (size_t)attend_ranks_count(r->ranks);
    int status = ATTEND_OK;
    r->count = 0, r->texts.size = 0;
    for (*more = true; *more && status == ATTEND_OK && r->count < r->room && r->texts.size < max_bytes;) {
        attend_text_pair pair;
        status = attend_pairs_file_next(file, &pair);
        *more = status == ATTEND_OK && pair.source;
        if (!*more || skips(c, &pair)) continue;
        r->offsets[r->count] = r->texts.size;
        status = attend_string_add(&r->texts, pair.source, pair.source_size);
        if (status == ATTEND_OK) status = attend_string_add(&r->texts, pair.target, pair.target_size);
        r->pairs[r->count++] = pair;
    }
    for (int i = 0; status == ATTEND_OK && i < r->count; i++) {
        r->pairs[i].source = r->texts.text + r->offsets[i];
        r->pairs[i].target = r->pairs[i].source + r->pairs[i].source_size;
    }
    return status;
}

/* Where the pairs of a rank begin: each has about as many bytes. */
static int round_first(const shared_round *r, int rank)
{
    const double share = (double)r->texts.size * rank / attend_ranks_count(r->ranks);
    int i = 0;
    if (rank == attend_ranks_count(r->ranks)) return r->count;
    while (i < r->count && (double)r->offsets[i] < share) i++;
    return i;
}

static int round_encode(shared_round *r, const attend_corpus *c, attend_encode_fn encode, void *user)
{
    const int rank = attend_ranks_rank(r->ranks), end = round_first(r, rank + 1);
    attend_ids sides[2] = { { 0 }, { 0 } };
    int status = ATTEND_OK;
    r->own.size = 0;
    for (int i = round_first(r, rank); status == ATTEND_OK && i < end; i++) {
        sides[0].count = sides[1].count = 0;
        status = encode_pair(c, &r->pairs[i], encode, user, sides);
        const int counts[2] = { sides[0].count, sides[1].count };
        if (status == ATTEND_OK) status = attend_string_add(&r->own, (const char *)counts, sizeof counts);
        for (int side = 0; side < 2; side++)
            if (status == ATTEND_OK && counts[side] > 0)
                status = attend_string_add(&r->own, (const char *)sides[side].ids,
                                           (size_t)counts[side] * sizeof *sides[side].ids);
    }
    for (int i = 0; i < 2; i++) attend_ids_free(&sides[i]);
    return status;
}

/* What a rank says before it sends its tokens. */
typedef struct round_header {
    uint64_t size;  /* of the tokens */
    uint64_t texts; /* a hash of what it has read */
} round_header;

static uint64_t round_hash(const shared_round *r, bool more)
{
    uint64_t hash = (uint64_t)r->count << 1 | more;
    for (int i = 0; i < r->count; i++) hash = hash * 31 + r->pairs[i].source_size;
    return XXH3_64bits_withSeed(r->texts.text ? r->texts.text : "", r->texts.size, hash);
}

/* Where the tokens of each rank will be. A rank that has read other texts is refused on all ranks. */
static int round_announce(shared_round *r, bool more, round_header *headers)
{
    const int count = attend_ranks_count(r->ranks);
    for (int i = 0; i <= count; i++) r->at[i] = (size_t)i * sizeof *headers;
    headers[attend_ranks_rank(r->ranks)] = (round_header){ r->own.size, round_hash(r, more) };
    const int status = attend_ranks_all_gather(r->ranks, headers, r->at);
    r->at[0] = 0;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        r->at[i + 1] = r->at[i] + (size_t)headers[i].size;
        if (headers[i].texts != headers[0].texts)
            return attend_fail(ATTEND_BAD_USAGE,
                               "rank %d on %s has read other data than rank 0: all ranks must read the same files", i,
                               attend_ranks_host(r->ranks, i));
    }
    return status;
}

/* Gives the tokens of this rank to the others. */
static int round_exchange(shared_round *r, bool more)
{
    const int count = attend_ranks_count(r->ranks), rank = attend_ranks_rank(r->ranks);
    round_header *headers = attend_memory_zeroed((size_t)count, sizeof *headers);
    int status = headers ? round_announce(r, more, headers)
                         : attend_fail(ATTEND_NO_MEMORY, "no memory to read pairs on %d ranks", count);
    attend_memory_free(headers);
    if (status != ATTEND_OK) return status;
    r->all.size = 0;
    status = attend_string_reserve(&r->all, r->at[count]);
    if (status != ATTEND_OK) return status;
    if (r->own.size) memcpy(r->all.text + r->at[rank], r->own.text, r->own.size);
    r->all.size = r->at[count];
    return attend_ranks_all_gather(r->ranks, r->all.text, r->at);
}

static int round_add(shared_round *r, attend_corpus *c)
{
    const char *at = r->all.text;
    size_t left = r->all.size;
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < r->count; i++) {
        int counts[2];
        if (left >= sizeof counts) memcpy(counts, at, sizeof counts);
        const bool has_counts = left >= sizeof counts && counts[0] >= 0 && counts[1] >= 0;
        const size_t bytes = has_counts ? ((size_t)counts[0] + (size_t)counts[1]) * sizeof(int) : 0;
        if (!has_counts || left - sizeof counts < bytes)
            return attend_fail(ATTEND_FAILED, "another rank sent tokens that cannot be read: all ranks must read the "
                                              "same files, with the same version of attend");
        const int *ids = (const void *)(at + sizeof counts); /* all blocks are of whole numbers */
        status = attend_corpus_add(c, ids, counts[0], ids + counts[0], counts[1], &r->pairs[i]);
        at += sizeof counts + bytes, left -= sizeof counts + bytes;
    }
    return status;
}

static int read_shared(attend_corpus *c, attend_pairs_file *file, attend_encode_fn encode, void *user,
                       attend_ranks *ranks)
{
    shared_round r;
    int status = round_new(&r, ranks);
    for (bool more = true; status == ATTEND_OK && more;) {
        status = round_read(&r, c, file, &more);
        if (status == ATTEND_OK) status = round_encode(&r, c, encode, user);
        if (status == ATTEND_OK) status = round_exchange(&r, more);
        if (status == ATTEND_OK) status = round_add(&r, c);
    }
    round_free(&r);
    return status;
}

int attend_corpus_read(attend_corpus *c, attend_pairs_file *file, attend_encode_fn encode, void *user,
                       attend_ranks *ranks)
{
    return attend_ranks_are_several(ranks) ? read_shared(c, file, encode, user, ranks)
                                           : read_alone(c, file, encode, user);
}

int attend_corpus_finish(attend_corpus *c)
{
    if (c->finished) return ATTEND_OK;
    int status = attend_token_store_end(&c->ids);
    if (status == ATTEND_OK) status = attend_token_store_end(&c->index);
    if (status == ATTEND_OK && c->options.keep_text) status = attend_token_store_end(&c->texts);
    c->finished = status == ATTEND_OK;
    return status;
}

/* --- reading --- */

bool attend_corpus_is_finished(const attend_corpus *c)
{
    return c->finished;
}

bool attend_corpus_has_text(const attend_corpus *c)
{
    return c->options.keep_text;
}

attend_corpus_counts attend_corpus_count(const attend_corpus *c)
{
    return c->counts;
}

const char *attend_corpus_unattended(const attend_corpus *c, uint64_t *count)
{
    *count = c->unattended;
    return c->unattended > 0 ? c->first_unattended : NULL;
}

static int read_entry(const attend_corpus *c, uint64_t i, index_entry *p)
{
    return attend_token_store_read(&c->index, (size_t)i * sizeof *p, p, sizeof *p);
}

int attend_corpus_lengths(const attend_corpus *c, uint64_t i, int *source, int *target)
{
    index_entry p;
    const int status = read_entry(c, i, &p);
    if (status != ATTEND_OK) return status;
    *source = (int)p.source;
    *target = (int)p.target;
    return ATTEND_OK;
}

/* Reads tokens from offset *at, which advances. */
static int read_ids(const attend_corpus *c, size_t *at, uint32_t count, int *out)
{
    uint16_t chunk[CHUNK];
    const size_t each = c->narrow ? sizeof *chunk : sizeof *out;
    int status = c->narrow ? ATTEND_OK : attend_token_store_read(&c->ids, *at, out, count * each);
    for (uint32_t i = 0, now; c->narrow && i < count && status == ATTEND_OK; i += now) {
        now = count - i < CHUNK ? count - i : CHUNK;
        status = attend_token_store_read(&c->ids, *at + i * each, chunk, now * each);
        for (uint32_t j = 0; status == ATTEND_OK && j < now; j++) out[i + j] = chunk[j];
    }
    *at += count * each;
    return status;
}

int attend_corpus_ids(const attend_corpus *c, uint64_t i, int *source, int *target)
{
    index_entry p;
    int status = read_entry(c, i, &p);
    if (status != ATTEND_OK) return status;
    size_t at = p.ids;
    status = read_ids(c, &at, p.source, source);
    return status == ATTEND_OK ? read_ids(c, &at, p.target, target) : status;
}

int attend_corpus_text(const attend_corpus *c, uint64_t i, attend_string *buffer, attend_text_pair *text)
{
    index_entry p;
    text_sizes sizes;
    int status = read_entry(c, i, &p);
    if (status == ATTEND_OK) status = attend_token_store_read(&c->texts, p.text, &sizes, sizeof sizes);
    if (status != ATTEND_OK) return status;
    const size_t both = (size_t)sizes.source + sizes.target;
    buffer->size = 0;
    status = attend_string_reserve(buffer, both);
    if (status == ATTEND_OK) status = attend_token_store_read(&c->texts, p.text + sizeof sizes, buffer->text, both);
    if (status != ATTEND_OK) return status;
    buffer->size = both;
    buffer->text[both] = '\0';
    *text = (attend_text_pair){ .source = buffer->text,
                                .source_size = sizes.source,
                                .target = buffer->text + sizes.source,
                                .target_size = sizes.target,
                                .index = sizes.index };
    return ATTEND_OK;
}
