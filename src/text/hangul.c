#include "text/hangul.h"

#include "core/utf8.h"
#include <string.h>

enum {
    FIRST_SYLLABLE = 0xac00,
    FIRST_LEADING = 0x1100,
    FIRST_VOWEL = 0x1161,
    NO_TRAILING = 0x11a7, /* one below the first trailing consonant */
    LEADING = 19,
    VOWELS = 21,
    TRAILING = 28, /* with none */
    SYLLABLES = LEADING * VOWELS * TRAILING
};

/* The code point of a character of three bytes; 0: it has another size. */
static int32_t point_of(const char *character, size_t size)
{
    int32_t point = 0;
    return size == ATTEND_HANGUL_BYTES && attend_utf8_next(character, size, &point) == size ? point : 0;
}

static bool is_within(int32_t point, int32_t first, int count)
{
    return point >= first && point < first + count;
}

int attend_hangul_letters(const char *character, size_t size, char letters[3 * ATTEND_HANGUL_BYTES])
{
    const int32_t point = point_of(character, size);
    if (!is_within(point, FIRST_SYLLABLE, SYLLABLES)) return 0;
    const int32_t n = point - FIRST_SYLLABLE, trailing = n % TRAILING;
    attend_utf8_put(letters, FIRST_LEADING + n / TRAILING / VOWELS);
    attend_utf8_put(letters + ATTEND_HANGUL_BYTES, FIRST_VOWEL + n / TRAILING % VOWELS);
    if (trailing == 0) return 2;
    attend_utf8_put(letters + (size_t)2 * ATTEND_HANGUL_BYTES, NO_TRAILING + trailing);
    return 3;
}

bool attend_hangul_continues(const char *character, size_t size)
{
    const int32_t point = point_of(character, size);
    return is_within(point, FIRST_VOWEL, VOWELS) || is_within(point, NO_TRAILING + 1, TRAILING - 1);
}

/* The code point at `at`, if it has three bytes; else 0. */
static int32_t point_at(const char *text, size_t size, size_t at)
{
    return at + ATTEND_HANGUL_BYTES <= size ? point_of(text + at, attend_utf8_length(text[at])) : 0;
}

size_t attend_hangul_compose(char *text, size_t size)
{
    size_t to = 0;
    for (size_t i = 0, n; i < size; i += n) {
        n = attend_utf8_length(text[i]);
        const int32_t leading = point_at(text, size, i), vowel = point_at(text, size, i + ATTEND_HANGUL_BYTES);
        if (!is_within(leading, FIRST_LEADING, LEADING) || !is_within(vowel, FIRST_VOWEL, VOWELS)) {
            memmove(text + to, text + i, n);
            to += n;
            continue;
        }
        const int32_t trailing = point_at(text, size, i + (size_t)2 * ATTEND_HANGUL_BYTES);
        const bool has_trailing = is_within(trailing, NO_TRAILING + 1, TRAILING - 1);
        n = (has_trailing ? 3u : 2u) * (size_t)ATTEND_HANGUL_BYTES;
        to += attend_utf8_put(text + to, FIRST_SYLLABLE +
                                             ((leading - FIRST_LEADING) * VOWELS + vowel - FIRST_VOWEL) * TRAILING +
                                             (has_trailing ? trailing - NO_TRAILING : 0));
    }
    return to;
}

size_t attend_hangul_syllables(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0, n; i < size; i += n) {
        n = attend_utf8_length(text[i]);
        count += is_within(point_of(text + i, n), FIRST_SYLLABLE, SYLLABLES);
    }
    return count;
}
