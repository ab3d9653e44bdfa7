#include "text/unseen.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/utf8.h"
#include "text/hangul.h"
#include "text/normalize.h"

enum { CODE_POINTS = 0x110000 };

static bool is_seen(const unsigned char *characters, int32_t c)
{
    return characters[c >> 3] >> (c & 7) & 1;
}

static void add(unsigned char *characters, const char *text, size_t size)
{
    int32_t c = 0;
    for (size_t i = 0, n; i < size && (n = attend_utf8_next(text + i, size - i, &c)) > 0; i += n)
        characters[c >> 3] |= (unsigned char)(1u << (c & 7));
}

int attend_unseen_learn(attend_unseen *u, int side, const char *line, size_t size)
{
    int status = attend_word_set_add(&u->words[side], line, size);
    if (status == ATTEND_OK) status = attend_to_nfc(&line, &size, &u->normal);
    if (status != ATTEND_OK) return status;
    if (!u->characters[side]) u->characters[side] = attend_memory_zeroed(CODE_POINTS / 8, 1);
    if (!u->characters[side]) return attend_fail(ATTEND_NO_MEMORY, "no memory for the characters of the data");
    add(u->characters[side], line, size);
    for (size_t i = 0, n; i < size; i += n) {
        char letters[3 * ATTEND_HANGUL_BYTES];
        n = attend_utf8_length(line[i]);
        const int count = attend_hangul_letters(line + i, n, letters);
        add(u->characters[side], letters, (size_t)count * ATTEND_HANGUL_BYTES);
    }
    return ATTEND_OK;
}

/* Whether a character is a Hangul syllable whose letters are all seen. */
static bool has_seen_letters(const unsigned char *characters, const char *character, size_t size)
{
    char letters[3 * ATTEND_HANGUL_BYTES];
    const int count = attend_hangul_letters(character, size, letters);
    int32_t c = 0;
    for (int i = 0; i < count; i++) {
        attend_utf8_next(letters + (size_t)i * ATTEND_HANGUL_BYTES, ATTEND_HANGUL_BYTES, &c);
        if (!is_seen(characters, c)) return false;
    }
    return count > 0;
}

static void find_characters(const attend_unseen *u, int side, attend_unseen_parts *out)
{
    int32_t c = 0;
    for (size_t i = 0, n; i < out->size && (n = attend_utf8_next(out->line + i, out->size - i, &c)) > 0; i += n) {
        if (is_seen(u->characters[side], c)) continue;
        if (u->in_letters[side] && has_seen_letters(u->characters[side], out->line + i, n)) continue;
        if (out->characters++ == 0) out->first_character = (attend_span){ (int)i, (int)(i + n) };
    }
}

static int find_words(attend_unseen *u, int side, attend_unseen_parts *out)
{
    attend_word_set *set = &u->words[side];
    attend_span word;
    bool has;
    int status = ATTEND_OK;
    if ((double)set->words < ATTEND_SINGLE_WORDS * (double)set->lines) return ATTEND_OK;
    for (size_t at = 0; status == ATTEND_OK && attend_seen_word_next(out->line, out->size, &at, &word);) {
        status = attend_word_set_has(set, out->line, word, &has);
        if (status == ATTEND_OK && !has && out->words++ == 0) out->first_word = word;
    }
    return status;
}

int attend_unseen_find(attend_unseen *u, int side, const char *line, size_t size, attend_unseen_parts *out)
{
    int status = attend_to_nfc(&line, &size, &u->normal);
    *out = (attend_unseen_parts){ .line = line, .size = size };
    if (status != ATTEND_OK || !u->characters[side]) return status;
    find_characters(u, side, out);
    return find_words(u, side, out);
}

void attend_unseen_free(attend_unseen *u)
{
    for (int side = 0; side < 2; side++) {
        attend_memory_free(u->characters[side]);
        attend_word_set_free(&u->words[side]);
    }
    attend_string_free(&u->normal);
}
