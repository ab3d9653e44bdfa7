/* characters.c: what char, jamo and bpe share: characters as tokens, with bytes for those outside the vocabulary. */
#include "text/tokenizer.h"

#include "core/utf8.h"
#include <string.h>

static bool is_space_mark(const char *character, size_t size)
{
    return size == ATTEND_SPACE_MARK_SIZE && memcmp(character, ATTEND_SPACE_MARK, ATTEND_SPACE_MARK_SIZE) == 0;
}

int attend_characters_count(attend_string_table *characters, const char *text, size_t size, int64_t times)
{
    int status = ATTEND_OK;
    for (size_t i = 0, n; i < size && status == ATTEND_OK; i += n) {
        n = attend_utf8_length(text[i]);
        if (text[i] == ' ')
            status = attend_string_table_count(characters, ATTEND_SPACE_MARK, ATTEND_SPACE_MARK_SIZE, times);
        else if (text[i] != '\n' && text[i] != '\0' && !is_space_mark(text + i, n))
            status = attend_string_table_count(characters, text + i, n, times);
    }
    return status;
}

int attend_characters_finish(attend_tokenizer *t)
{
    for (int c = 0; c < 128; c++) {
        const char text = (char)c;
        t->ascii[c] = c == ' ' ? attend_string_table_find(&t->tokens, ATTEND_SPACE_MARK, ATTEND_SPACE_MARK_SIZE)
                               : attend_string_table_find(&t->tokens, &text, 1);
    }
    return ATTEND_OK;
}

int attend_character_token(const attend_tokenizer *t, const char *character, size_t size)
{
    if (size == 1) return t->ascii[(unsigned char)*character & 0x7f];
    return is_space_mark(character, size) ? -1 : attend_string_table_find(&t->tokens, character, size);
}

int attend_character_encode(const attend_tokenizer *t, const char *text, size_t at, size_t size, attend_ids *out)
{
    const int id = attend_character_token(t, text + at, size);
    if (id >= 0) return attend_ids_add(out, id, at, at + size);
    int status = ATTEND_OK;
    for (size_t j = at; j < at + size && status == ATTEND_OK; j++)
        status = attend_ids_add(out, ATTEND_FIRST_BYTE + (unsigned char)text[j], j, j + 1);
    return status;
}

const char *attend_character_fault(const attend_tokenizer *t, int id)
{
    const char *token = attend_string_table_at(&t->tokens, id);
    if (memchr(token, ' ', attend_string_table_size(&t->tokens, id)))
        return "contains a space that is not written as U+2581";
    return attend_utf8_length(*token) == attend_string_table_size(&t->tokens, id) ? NULL : "is not one character";
}

/* ---- decoding ---- */

/* Appends bytes; U+FFFD replaces each byte that is not part of valid UTF-8. */
static int add_bytes(attend_string *out, attend_string *bytes)
{
    int status = ATTEND_OK;
    for (size_t i = 0; i < bytes->size && status == ATTEND_OK;) {
        const size_t valid = attend_utf8_valid(bytes->text + i, bytes->size - i);
        status = attend_string_add(out, bytes->text + i, valid);
        i += valid;
        if (i < bytes->size && status == ATTEND_OK) status = attend_string_add(out, "\xef\xbf\xbd", 3);
        i++;
    }
    bytes->size = 0;
    return status;
}

/* Appends a token, with spaces for U+2581. */
static int add_token(attend_string *out, const char *token, size_t size)
{
    int status = attend_string_reserve(out, size);
    if (status != ATTEND_OK) return status;
    for (size_t i = 0, n; i < size; i += n) {
        n = attend_utf8_length(token[i]);
        if (is_space_mark(token + i, n)) {
            out->text[out->size++] = ' ';
        } else {
            memcpy(out->text + out->size, token + i, n);
            out->size += n;
        }
    }
    out->text[out->size] = '\0';
    return ATTEND_OK;
}

int attend_characters_decode(const attend_tokenizer *t, const int *ids, int count, attend_string *out)
{
    attend_string bytes = { 0 };
    int status = ATTEND_OK;
    for (int i = 0; i < count && status == ATTEND_OK; i++) {
        const int id = ids[i];
        if (id >= ATTEND_FIRST_BYTE && id < ATTEND_FIRST_LEARNED) {
            const char byte = (char)(id - ATTEND_FIRST_BYTE);
            status = attend_string_add(&bytes, &byte, 1);
            continue;
        }
        if (id == ATTEND_BEGIN || id == ATTEND_END) continue;
        status = add_bytes(out, &bytes);
        if (status == ATTEND_OK)
            status = add_token(out, attend_string_table_at(&t->tokens, id), attend_string_table_size(&t->tokens, id));
    }
    if (status == ATTEND_OK) status = add_bytes(out, &bytes);
    attend_string_free(&bytes);
    return status;
}
