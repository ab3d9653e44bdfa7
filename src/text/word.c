/* word.c: tokens are words, separated by white space; a word outside the vocabulary is ATTEND_UNKNOWN. */
#include "text/tokenizer.h"

#include "core/utf8.h"
#include <string.h>

/* The size of the white space character at `text`, which has `left` bytes; 0: it is none. ASCII white space and the
 * Unicode space separators (Zs). */
static size_t space_at(const char *text, size_t left)
{
    int32_t c;
    if (*text == ' ' || (*text >= '\t' && *text <= '\r')) return 1;
    if ((unsigned char)*text < 0xc2) return 0;
    const size_t length = attend_utf8_next(text, left, &c);
    const bool space =
        c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f || c == 0x205f || c == 0x3000;
    return space ? length : 0;
}

/* Finds the next word from *at on; false if there is none. */
static bool next_word(const char *text, size_t size, size_t *at, size_t *begin)
{
    for (size_t n; *at < size && (n = space_at(text + *at, size - *at)) > 0;) *at += n;
    *begin = *at;
    while (*at < size && space_at(text + *at, size - *at) == 0) *at += attend_utf8_length(text[*at]);
    return *at > *begin;
}

static int split(attend_string_table *parts, const char *text, size_t size)
{
    int status = ATTEND_OK;
    for (size_t at = 0, begin; status == ATTEND_OK && next_word(text, size, &at, &begin);)
        if (!memchr(text + begin, '\0', at - begin))
            status = attend_string_table_count(parts, text + begin, at - begin, 1);
    return status;
}

static int finish(attend_tokenizer *t)
{
    (void)t;
    return ATTEND_OK;
}

static const char *fault(const attend_tokenizer *t, int id)
{
    const char *token = attend_string_table_at(&t->tokens, id);
    for (size_t size = attend_string_table_size(&t->tokens, id), i = 0; i < size; i += attend_utf8_length(token[i]))
        if (space_at(token + i, size - i)) return "contains a space";
    return NULL;
}

static int encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                  attend_merge_dropout *dropout)
{
    (void)dropout;
    int status = ATTEND_OK;
    for (size_t at = 0, begin; status == ATTEND_OK && next_word(text, size, &at, &begin);) {
        const int id = attend_string_table_find(&t->tokens, text + begin, at - begin);
        status = attend_ids_add(out, id >= ATTEND_FIRST_TOKEN ? id : ATTEND_UNKNOWN, begin, at);
    }
    return status;
}

static int decode(const attend_tokenizer *t, const int *ids, int count, attend_string *out)
{
    const size_t before = out->size;
    int status = ATTEND_OK;
    for (int i = 0; i < count && status == ATTEND_OK; i++) {
        if (ids[i] == ATTEND_BEGIN || ids[i] == ATTEND_END) continue;
        if (out->size > before) status = attend_string_add(out, " ", 1);
        if (status == ATTEND_OK)
            status = attend_string_add(out, attend_string_table_at(&t->tokens, ids[i]),
                                       attend_string_table_size(&t->tokens, ids[i]));
    }
    return status;
}

const attend_kind attend_kind_word = {
    .kind = ATTEND_TOKENS_WORD,
    .name = "word",
    .first = ATTEND_FIRST_TOKEN,
    .split = split,
    .learn = attend_tokenizer_take,
    .finish = finish,
    .fault = fault,
    .encode = encode,
    .decode = decode,
};
