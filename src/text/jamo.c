/* jamo.c: tokens are characters, but a Hangul syllable is split into its letters (jamo). There are 11,172 syllables and
 * 67 letters: a small text has few of the syllables, and all of the letters. */
#include "text/tokenizer.h"

#include "core/utf8.h"
#include "text/hangul.h"

static int split(const attend_tokenizer_options *o, attend_string_table *parts, const char *text, size_t size)
{
    (void)o;
    int status = ATTEND_OK;
    for (size_t i = 0, n; i < size && status == ATTEND_OK; i += n) {
        char letters[3 * ATTEND_HANGUL_BYTES];
        n = attend_utf8_length(text[i]);
        const int count = attend_hangul_letters(text + i, n, letters);
        status = count > 0 ? attend_characters_count(parts, letters, (size_t)count * ATTEND_HANGUL_BYTES, 1)
                           : attend_characters_count(parts, text + i, n, 1);
    }
    return status;
}

/* The tokens of the letters; false: one is outside the vocabulary, and the syllable is encoded as its bytes. */
static bool find_letters(const attend_tokenizer *t, const char *letters, int count, int ids[3])
{
    for (int k = 0; k < count; k++) {
        ids[k] = attend_character_token(t, letters + (size_t)k * ATTEND_HANGUL_BYTES, ATTEND_HANGUL_BYTES);
        if (ids[k] < 0) return false;
    }
    return count > 0;
}

static int encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                  attend_merge_dropout *dropout)
{
    (void)dropout;
    int status = ATTEND_OK;
    for (size_t i = 0, n; i < size && status == ATTEND_OK; i += n) {
        char letters[3 * ATTEND_HANGUL_BYTES];
        n = attend_utf8_length(text[i]);
        const int count = attend_hangul_letters(text + i, n, letters);
        int ids[3];
        if (!find_letters(t, letters, count, ids)) {
            status = attend_character_encode(t, text, i, n, out);
            continue;
        }
        /* the letters share the bytes of the syllable as spans */
        for (int k = 0; k < count && status == ATTEND_OK; k++)
            status = attend_ids_add(out, ids[k], i + (size_t)k, k + 1 < count ? i + (size_t)k + 1 : i + n);
    }
    return status;
}

static const char *fault(const attend_tokenizer *t, int id)
{
    char letters[3 * ATTEND_HANGUL_BYTES];
    const char *wrong = attend_character_fault(t, id);
    if (wrong) return wrong;
    return attend_hangul_letters(attend_string_table_at(&t->tokens, id), attend_string_table_size(&t->tokens, id),
                                 letters) > 0
               ? "is a Hangul syllable, which this kind splits"
               : NULL;
}

static int decode(const attend_tokenizer *t, const int *ids, int count, attend_string *out)
{
    const size_t before = out->size;
    const int status = attend_characters_decode(t, ids, count, out);
    if (status != ATTEND_OK) return status;
    out->size = before + attend_hangul_compose(out->text + before, out->size - before);
    out->text[out->size] = '\0';
    return ATTEND_OK;
}

const attend_kind attend_kind_jamo = {
    .kind = ATTEND_TOKENS_JAMO,
    .first = ATTEND_FIRST_LEARNED,
    .split = split,
    .learn = attend_tokenizer_take,
    .finish = attend_characters_finish,
    .fault = fault,
    .encode = encode,
    .decode = decode,
};
