#include "text/seen_words.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/utf8.h"
#include "model/model.h"
#include "text/lowercase.h"
#include "text/normalize.h"
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HASHES = 8, BITS_PER_WORD = 12, MIN_BYTES = 64, MAX_BYTES = 4 << 20 };
static const char magic[] = "attend-words 1\n";
enum { MAGIC_SIZE = sizeof magic - 1, NAME_ROOM = 32 };

/* ---- words ---- */

/* Scripts that are written without spaces between words: Thai, Lao, Myanmar, Khmer, and those of Chinese and
 * Japanese. */
static bool is_unspaced(int32_t c)
{
    return (c >= 0xe00 && c <= 0xeff) || (c >= 0x1000 && c <= 0x109f) || (c >= 0x1780 && c <= 0x17ff) ||
           (c >= 0x2e80 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xff66 && c <= 0xff9d) || c >= 0x20000;
}

/* Whether a character is part of a word; *is_letter: whether it makes one. */
static bool is_in_word(int32_t c, bool *is_letter)
{
    const utf8proc_category_t category = utf8proc_category(c);
    *is_letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO && !is_unspaced(c);
}

bool attend_seen_word_next(const char *text, size_t size, size_t *at, attend_span *word)
{
    bool has_letter = false, is_letter;
    size_t begin = *at;
    int32_t c = 0;
    for (size_t i = *at, n;; i += n) {
        n = i < size ? attend_utf8_next(text + i, size - i, &c) : 0;
        if (n > 0 && is_in_word(c, &is_letter)) {
            has_letter |= is_letter;
            continue;
        }
        *at = i;
        *word = (attend_span){ (int)begin, (int)i };
        if (has_letter || n == 0) return has_letter;
        begin = i + n;
    }
}

/* The hash is part of a model file and therefore has no seed. */
static int hash_of(const char *text, attend_span word, attend_string *scratch, uint64_t *hash)
{
    const char *lower = text + word.begin;
    size_t size = (size_t)(word.end - word.begin);
    const int status = attend_to_lowercase(&lower, &size, scratch);
    *hash = status == ATTEND_OK ? XXH3_64bits(lower, size) : 0;
    return status;
}

int attend_word_set_add(attend_word_set *s, const char *line, size_t size)
{
    if (attend_utf8_valid(line, size) < size) return ATTEND_OK;
    int status = attend_to_nfc(&line, &size, &s->normal);
    attend_span word;
    uint64_t hash;
    bool had;
    s->lines++;
    if (status == ATTEND_OK) s->words += (uint64_t)attend_word_count(line, size);
    for (size_t at = 0; status == ATTEND_OK && attend_seen_word_next(line, size, &at, &word);) {
        status = hash_of(line, word, &s->lower, &hash);
        if (status == ATTEND_OK) status = attend_hash_set_add(&s->hashes, hash, &had);
    }
    return status;
}

int attend_word_set_has(attend_word_set *s, const char *text, attend_span word, bool *has)
{
    uint64_t hash;
    const int status = hash_of(text, word, &s->lower, &hash);
    *has = status != ATTEND_OK || attend_hash_set_has(&s->hashes, hash);
    return status;
}

void attend_word_set_free(attend_word_set *s)
{
    attend_hash_set_free(&s->hashes);
    attend_string_free(&s->normal);
    attend_string_free(&s->lower);
}

/* ---- the filter ---- */

/* The i-th bit of a hash (Kirsch, Mitzenmacher 2006). */
static uint64_t bit_of(uint64_t hash, int i, size_t size)
{
    return ((hash & 0xffffffff) + (uint64_t)i * (hash >> 32 | 1)) & (8 * (uint64_t)size - 1);
}

static bool has_hash(const attend_seen_words *s, uint64_t hash)
{
    for (int i = 0; i < HASHES; i++) {
        const uint64_t bit = bit_of(hash, i, s->size);
        if (!(s->bits[bit >> 3] >> (bit & 7) & 1)) return false;
    }
    return true;
}

static void add_hash(attend_seen_words *s, uint64_t hash)
{
    for (int i = 0; i < HASHES; i++) {
        const uint64_t bit = bit_of(hash, i, s->size);
        s->bits[bit >> 3] |= (unsigned char)(1u << (bit & 7));
    }
}

void attend_seen_words_free(attend_seen_words *s)
{
    attend_memory_free(s->bits);
    attend_string_free(&s->lower);
    *s = (attend_seen_words){ 0 };
}

int attend_seen_words_has(attend_seen_words *s, const char *text, attend_span word, bool *has)
{
    uint64_t hash = 0;
    const int status = s->bits ? hash_of(text, word, &s->lower, &hash) : ATTEND_OK;
    *has = status != ATTEND_OK || !s->bits || has_hash(s, hash);
    return status;
}

/* ---- in a model ---- */

static const void *attached(const attend_model *m, const char *side, char name[NAME_ROOM], size_t *size)
{
    snprintf(name, NAME_ROOM, "%s.words", side);
    return attend_model_attached(m, name, size);
}

bool attend_seen_words_are_known(const attend_model *m, const char *side)
{
    char name[NAME_ROOM];
    size_t size;
    return attached(m, side, name, &size) != NULL;
}

int attend_seen_words_copy(attend_model *to, const attend_model *from, const char *side)
{
    char name[NAME_ROOM];
    size_t size = 0;
    const void *bytes = attached(from, side, name, &size);
    return bytes ? attend_model_attach(to, name, bytes, size) : ATTEND_OK;
}

int attend_seen_words_from_model(attend_seen_words *out, const attend_model *m, const char *side)
{
    char name[NAME_ROOM];
    size_t size = 0;
    *out = (attend_seen_words){ 0 };
    const char *bytes = attached(m, side, name, &size);
    if (!bytes) return ATTEND_OK;
    const size_t bits = size > MAGIC_SIZE ? size - MAGIC_SIZE : 0;
    if (bits < MIN_BYTES || bits > MAX_BYTES || (bits & (bits - 1)) != 0 || memcmp(bytes, magic, MAGIC_SIZE) != 0)
        return attend_fail(ATTEND_BAD_MODEL,
                           "%s is not a list of words that this version reads; the model file is damaged, or made by a "
                           "later version of attend",
                           name);
    out->bits = attend_memory_zeroed(bits, 1);
    if (!out->bits) return attend_fail(ATTEND_NO_MEMORY, "no memory for the words of a model");
    memcpy(out->bits, bytes + MAGIC_SIZE, bits);
    out->size = bits;
    return ATTEND_OK;
}

/* A filter for so many words, which also has those of an older one: its bits are repeated, so that each bit of a hash
 * is found where it would be in a larger filter. */
static int filter_new(attend_seen_words *out, const attend_seen_words *older, size_t words)
{
    size_t size = older->size > MIN_BYTES ? older->size : MIN_BYTES;
    while (size < MAX_BYTES && size * 8 < words * BITS_PER_WORD) size *= 2;
    out->bits = attend_memory_zeroed(size, 1);
    if (!out->bits) return attend_fail(ATTEND_NO_MEMORY, "no memory for the words of a model");
    for (size_t i = 0; older->bits && i < size; i++) out->bits[i] = older->bits[i & (older->size - 1)];
    out->size = size;
    return ATTEND_OK;
}

int attend_seen_words_attach(const attend_word_set *s, attend_model *m, const char *side)
{
    char name[NAME_ROOM];
    attend_seen_words older = { 0 }, words = { 0 };
    attend_string bytes = { 0 };
    if (s->lines == 0 || (double)s->words < ATTEND_SINGLE_WORDS * (double)s->lines) return ATTEND_OK;
    int status = attend_seen_words_from_model(&older, m, side);
    if (status == ATTEND_OK) status = filter_new(&words, &older, s->hashes.count);
    for (size_t i = 0; status == ATTEND_OK && i < s->hashes.capacity; i++)
        if (s->hashes.table[i]) add_hash(&words, s->hashes.table[i]);
    if (status == ATTEND_OK) status = attend_string_add(&bytes, magic, MAGIC_SIZE);
    if (status == ATTEND_OK) status = attend_string_add(&bytes, (const char *)words.bits, words.size);
    snprintf(name, sizeof name, "%s.words", side);
    if (status == ATTEND_OK) status = attend_model_attach(m, name, bytes.text, bytes.size);
    attend_string_free(&bytes);
    attend_seen_words_free(&older);
    attend_seen_words_free(&words);
    return status;
}
