/* word.c: tokens are words (attend/words.h); a word outside the vocabulary is ATTEND_UNKNOWN. */
#include "text/tokenizer.h"

#include "core/utf8.h"
#include "text/words.h"
#include <string.h>

static int split(const attend_tokenizer_options *o, attend_string_table *parts, const char *text, size_t size)
{
    (void)o;
    int status = ATTEND_OK;
    attend_span word;
    for (size_t at = 0; status == ATTEND_OK && attend_word_next(text, size, &at, &word);)
        if (!memchr(text + word.begin, '\0', at - (size_t)word.begin))
            status = attend_string_table_count(parts, text + word.begin, at - (size_t)word.begin, 1);
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
        if (attend_white_space_length(token + i, size - i)) return "contains a space";
    return NULL;
}

static int encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                  attend_merge_dropout *dropout)
{
    (void)dropout;
    int status = ATTEND_OK;
    attend_span word;
    for (size_t at = 0; status == ATTEND_OK && attend_word_next(text, size, &at, &word);) {
        const int id = attend_string_table_find(&t->tokens, text + word.begin, at - (size_t)word.begin);
        status = attend_ids_add(out, id >= ATTEND_FIRST_TOKEN ? id : ATTEND_UNKNOWN, (size_t)word.begin, at);
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
    .first = ATTEND_FIRST_TOKEN,
    .split = split,
    .learn = attend_tokenizer_take,
    .finish = finish,
    .fault = fault,
    .encode = encode,
    .decode = decode,
};
