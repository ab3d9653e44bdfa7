/* char.c: tokens are characters (code points); a character outside the vocabulary is encoded as its bytes. */
#include "text/tokenizer.h"

#include "core/utf8.h"

static int split(const attend_tokenizer_options *o, attend_string_table *parts, const char *text, size_t size)
{
    (void)o;
    return attend_characters_count(parts, text, size, 1);
}

static int encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                  attend_merge_dropout *dropout)
{
    (void)dropout;
    int status = ATTEND_OK;
    for (size_t i = 0, n; i < size && status == ATTEND_OK; i += n) {
        n = attend_utf8_length(text[i]);
        status = attend_character_encode(t, text, i, n, out);
    }
    return status;
}

const attend_kind attend_kind_char = {
    .kind = ATTEND_TOKENS_CHAR,
    .first = ATTEND_FIRST_LEARNED,
    .split = split,
    .learn = attend_tokenizer_take,
    .finish = attend_characters_finish,
    .fault = attend_character_fault,
    .encode = encode,
    .decode = attend_characters_decode,
};
