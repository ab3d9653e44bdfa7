#include "text/corpus.h"

#include "core/memory.h"
#include "core/status.h"
#include "text/token_ids.h"
#include "text/token_store.h"
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
} text_sizes;

struct attend_corpus {
    attend_corpus_options options;
    attend_corpus_counts counts;
    bool narrow, finished;
    attend_token_store ids, index, texts;
    char *directory;
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
    const text_sizes sizes = { (uint32_t)text->source_size, (uint32_t)text->target_size };
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

static int read_pair(attend_corpus *c, const attend_text_pair *pair, attend_encode_fn encode, void *user,
                     attend_ids sides[2])
{
    sides[0].count = sides[1].count = 0;
    const bool lines = c->options.lines;
    if ((!lines && is_blank(pair->source, pair->source_size)) || is_blank(pair->target, pair->target_size)) {
        c->counts.empty++;
        return ATTEND_OK;
    }
    int status = lines ? ATTEND_OK : encode(user, ATTEND_SOURCE, pair->source, pair->source_size, &sides[0]);
    if (status != ATTEND_OK) return add_position(pair->source_file, pair->line, status);
    status = encode(user, ATTEND_TARGET, pair->target, pair->target_size, &sides[1]);
    if (status != ATTEND_OK) return add_position(pair->target_file, pair->line, status);
    return attend_corpus_add(c, sides[0].ids, sides[0].count, sides[1].ids, sides[1].count, pair);
}

int attend_corpus_read(attend_corpus *c, attend_pairs_file *file, attend_encode_fn encode, void *user)
{
    attend_ids sides[2] = { { 0 }, { 0 } };
    attend_text_pair pair;
    int status;
    do {
        status = attend_pairs_file_next(file, &pair);
        if (status == ATTEND_OK && pair.source) status = read_pair(c, &pair, encode, user, sides);
    } while (status == ATTEND_OK && pair.source);
    for (int i = 0; i < 2; i++) attend_ids_free(&sides[i]);
    return status;
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
                                .target_size = sizes.target };
    return ATTEND_OK;
}
