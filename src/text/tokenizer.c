#include "text/tokenizer.h"

#include "core/memory.h"
#include "core/status.h"
#include "text/lowercase.h"
#include "text/normalize.h"
#include "text/shared_counts.h"
#include "text/string_order.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- kinds ---- */

static const attend_kind *const kinds[] = { &attend_kind_word, &attend_kind_char, &attend_kind_bpe, &attend_kind_jamo };
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *const attend_token_kind_names[] = { "word", "char", "bpe", "jamo", NULL };

const attend_kind *attend_kind_of(attend_token_kind kind)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i]->kind == kind) return kinds[i];
    return NULL;
}

const attend_kind *attend_kind_named(const char *name, size_t size)
{
    for (int i = 0; i < KINDS; i++) {
        const char *known = attend_token_kind_name(kinds[i]->kind);
        if (strlen(known) == size && memcmp(known, name, size) == 0) return kinds[i];
    }
    return NULL;
}

const char *attend_token_kind_name(attend_token_kind kind)
{
    return (unsigned)kind <= ATTEND_TOKENS_JAMO ? attend_token_kind_names[kind] : NULL;
}

/* ---- making one ---- */

static int add_reserved(attend_tokenizer *t)
{
    static const char *const special[] = { "<unk>", "<s>", "</s>" };
    int status = ATTEND_OK, number;
    for (int i = 0; i < t->kind->first && status == ATTEND_OK; i++) {
        static const char hex[] = "0123456789ABCDEF";
        const int b = i - ATTEND_FIRST_BYTE;
        const char byte[] = { '<', '0', 'x', hex[b >> 4 & 15], hex[b & 15], '>', '\0' };
        const char *token = i < ATTEND_FIRST_BYTE ? special[i] : byte;
        status = attend_string_table_add(&t->tokens, token, strlen(token), &number);
    }
    return status;
}

int attend_tokenizer_new(attend_tokenizer **out, const attend_kind *kind)
{
    *out = NULL;
    attend_tokenizer *t = attend_memory_zeroed(1, sizeof *t);
    if (!t) return attend_fail(ATTEND_NO_MEMORY, "no memory for a tokenizer");
    t->kind = kind;
    const int status = add_reserved(t);
    if (status == ATTEND_OK)
        *out = t;
    else
        attend_tokenizer_free(t);
    return status;
}

void attend_tokenizer_free(attend_tokenizer *t)
{
    if (!t) return;
    attend_string_table_free(&t->tokens);
    attend_memory_free(t->merges);
    attend_pair_table_free(&t->merge_of);
    attend_memory_free(t->whole);
    attend_memory_free(t);
}

int attend_tokenizer_take(attend_tokenizer *t, const attend_string_table *parts, int size, int min_count)
{
    int *order = attend_string_table_by_count(parts), number;
    int status = order ? ATTEND_OK : ATTEND_NO_MEMORY;
    for (int i = 0; i < parts->count && status == ATTEND_OK; i++) {
        if (t->tokens.count >= size || parts->entries[order[i]].count < min_count) break;
        /* a part that is spelled like a reserved token is not added */
        status = attend_string_table_add(&t->tokens, attend_string_table_at(parts, order[i]),
                                         attend_string_table_size(parts, order[i]), &number);
    }
    attend_memory_free(order);
    return status;
}

/* ---- learning ---- */

/* As attend_tokenizer_to_normal. */
static int to_normal(const char **text, size_t *size, attend_string *own, bool lowercase)
{
    const int status = attend_to_nfc(text, size, own);
    return status == ATTEND_OK && lowercase ? attend_to_lowercase(text, size, own) : status;
}

static int count_lines(const attend_tokenizer_options *options, const attend_kind *kind, attend_string_table *parts,
                       attend_line_fn next, void *user, attend_ranks *ranks, bool *has_single_words)
{
    uint64_t numbers[2] = { 0, 0 }; /* lines, words */
    attend_string own = { 0 };
    const char *line = NULL;
    size_t size = 0;
    int status = ATTEND_OK, more;
    for (uint64_t number = 1; status == ATTEND_OK && (more = next(user, &line, &size)) != 0; number++) {
        if (more < 0) {
            status = -more; /* its message is set */
            break;
        }
        status = to_normal(&line, &size, &own, options->lowercase);
        if (status == ATTEND_BAD_DATA) {
            char why[ATTEND_MESSAGE_SIZE];
            snprintf(why, sizeof why, "%s", attend_message());
            attend_fail(status, "line %llu: %s", (unsigned long long)number, why);
        }
        if (status == ATTEND_OK) status = kind->split(options, parts, line, size);
        if (status == ATTEND_OK) numbers[0]++, numbers[1] += (uint64_t)attend_word_count(line, size);
    }
    attend_string_free(&own);
    if (status == ATTEND_OK) status = attend_shared_counts(ranks, parts, numbers, 2);
    *has_single_words = numbers[0] > 0 && (double)numbers[1] < ATTEND_SINGLE_WORDS * (double)numbers[0];
    return status;
}

static int check_options(const attend_tokenizer_options *o, const attend_kind *kind)
{
    if (!kind) return attend_fail(ATTEND_BAD_USAGE, "unknown tokenizer kind %d", (int)o->kind);
    if (o->min_count < 0) return attend_fail(ATTEND_BAD_USAGE, "min_count is %d; it must be 0 or more", o->min_count);
    if (o->vocab_size != 0 && o->vocab_size < kind->first)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "a vocabulary size of %d is too small for the kind %s, which has %d special tokens%s; choose "
            "a larger size, or 0 for the default",
            o->vocab_size, attend_token_kind_name(kind->kind), kind->first,
            kind->first > ATTEND_FIRST_TOKEN ? " and bytes" : "");
    return ATTEND_OK;
}

int attend_tokenizer_learn(attend_tokenizer **out, const attend_tokenizer_options *options, attend_line_fn next,
                           void *user)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && options && next);
    return attend_tokenizer_learn_shared(out, options, next, user, NULL);
}

int attend_tokenizer_learn_shared(attend_tokenizer **out, const attend_tokenizer_options *options, attend_line_fn next,
                                  void *user, attend_ranks *ranks)
{
    *out = NULL;
    const attend_kind *kind = attend_kind_of(options->kind);
    attend_string_table parts = { 0 };
    attend_tokenizer *t = NULL;
    bool has_single_words = false;
    int status = check_options(options, kind);
    if (status == ATTEND_OK) status = count_lines(options, kind, &parts, next, user, ranks, &has_single_words);
    if (status == ATTEND_OK) status = attend_tokenizer_new(&t, kind);
    if (status == ATTEND_OK) {
        t->has_single_words = has_single_words, t->lowercase = options->lowercase;
        t->split_classes = kind == &attend_kind_bpe && options->split_classes;
    }
    if (status == ATTEND_OK) {
        const int size = options->vocab_size ? options->vocab_size : kind->default_size ? kind->default_size : INT_MAX;
        t->stop = options->stop, t->stop_user = options->stop_user;
        status = kind->learn(t, &parts, size, options->min_count);
        t->stop = NULL;
    }
    attend_string_table_free(&parts);
    if (status == ATTEND_OK) status = kind->finish(t);
    if (status == ATTEND_OK)
        *out = t;
    else
        attend_tokenizer_free(t);
    return status;
}

/* ---- encoding and decoding ---- */

attend_token_kind attend_tokenizer_kind(const attend_tokenizer *t)
{
    ATTEND_REQUIRE((attend_token_kind)0, t);
    return t->kind->kind;
}

attend_unit attend_tokenizer_unit(const attend_tokenizer *t)
{
    ATTEND_REQUIRE(ATTEND_UNIT_WORD, t);
    return (t->kind == &attend_kind_char || t->kind == &attend_kind_jamo) && t->has_single_words ? ATTEND_UNIT_CHARACTER
                                                                                                 : ATTEND_UNIT_WORD;
}

bool attend_tokenizer_is_lowercase(const attend_tokenizer *t)
{
    ATTEND_REQUIRE(false, t);
    return t->lowercase;
}

bool attend_tokenizer_splits_classes(const attend_tokenizer *t)
{
    ATTEND_REQUIRE(false, t);
    return t->split_classes;
}

int attend_tokenizer_to_normal(const attend_tokenizer *t, const char **text, size_t *size, attend_string *own)
{
    return to_normal(text, size, own, t->lowercase);
}

int attend_tokenizer_normalize(const attend_tokenizer *t, const char *text, size_t size, attend_string *out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, t && out && (text || size == 0));
    const char *normal = text;
    const int status = attend_tokenizer_to_normal(t, &normal, &size, out);
    if (status != ATTEND_OK || normal != text) return status;
    out->size = 0;
    return attend_string_add(out, text, size);
}

int attend_tokenizer_size(const attend_tokenizer *t)
{
    ATTEND_REQUIRE(0, t);
    return t->tokens.count;
}

const char *attend_tokenizer_token(const attend_tokenizer *t, int id)
{
    ATTEND_REQUIRE(NULL, t);
    return id >= 0 && id < t->tokens.count ? attend_string_table_at(&t->tokens, id) : NULL;
}

int attend_tokenizer_encode_normal(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                                   double dropout, uint64_t seed, uint64_t position)
{
    enum { USE = 0x746f6b65 }; /* differs from the uses of operations, which count from 0 */
    if (!(dropout >= 0 && dropout <= 1))
        return attend_fail(ATTEND_BAD_USAGE, "the BPE-dropout probability is %g; it must be from 0 to 1", dropout);
    attend_merge_dropout drop = { dropout, { seed, position, USE }, 0 };
    const int before = out->count;
    const int status = t->kind->encode(t, text, size, out, &drop);
    if (status != ATTEND_OK) out->count = before;
    return status;
}

int attend_tokenizer_encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out, double dropout,
                            uint64_t seed, uint64_t position)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, t && (text || size == 0) && out);
    attend_string own = { 0 };
    int status = attend_tokenizer_to_normal(t, &text, &size, &own);
    if (status == ATTEND_OK) status = attend_tokenizer_encode_normal(t, text, size, out, dropout, seed, position);
    attend_string_free(&own);
    return status;
}

int attend_tokenizer_decode(const attend_tokenizer *t, const int *ids, int count, attend_string *out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, t && (ids || count < 1) && out);
    for (int i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= t->tokens.count)
            return attend_fail(ATTEND_BAD_USAGE, "token %d of %d is %d, outside the vocabulary (0 to %d)", i + 1, count,
                               ids[i], t->tokens.count - 1);
    const size_t before = out->size;
    int status = attend_string_reserve(out, 0);
    if (status != ATTEND_OK) return status;
    out->text[before] = '\0';
    status = t->kind->decode(t, ids, count, out);
    if (status != ATTEND_OK) {
        out->size = before;
        out->text[before] = '\0';
    }
    return status;
}

/* The most bytes of text that one token stands for; U+2581 in a token stands for a space, which is shorter. */
static size_t max_token_size(const attend_tokenizer *t)
{
    size_t max = 1;
    for (int id = 0; id < t->tokens.count; id++)
        if (attend_string_table_size(&t->tokens, id) > max) max = attend_string_table_size(&t->tokens, id);
    return max;
}

/* Whether a byte may be part of a white space character: ASCII white space, U+00A0, U+1680, or one of U+2000 to
 * U+3000. */
static bool may_be_space(unsigned char byte)
{
    return byte <= ' ' || (byte >= 0x80 && byte <= 0xc2) || (byte >= 0xe1 && byte <= 0xe3);
}

size_t attend_tokenizer_min_tokens(const attend_tokenizer *t, const char *text, size_t size)
{
    enum { NFC_SHRINKS = 4 }; /* at most by this factor: a Hangul syllable of 3 bytes may be written as 9 */
    size_t words = 0;
    bool counted = false;
    for (size_t i = 0; i < size;
         i++) { /* every kind has a token for what follows a space, unless it is white space too */
        if (text[i] != ' ' && counted) continue;
        counted = text[i] != ' ' && !may_be_space((unsigned char)text[i]);
        words += counted;
    }
    if (t->kind->kind == ATTEND_TOKENS_WORD) return words; /* an unknown word has any size */
    const size_t by_size = size / NFC_SHRINKS / max_token_size(t);
    return by_size > words ? by_size : words;
}
