#include "text/line_features.h"

#include "text/hangul.h"
#include <attend/utf8.h>
#include <attend/words.h>
#include <string.h>

/* Control characters other than TAB, which is white space, and characters that only some programs treat as line
 * ends. */
static bool is_control(const unsigned char *s, size_t left)
{
    if (s[0] < 0x20) return s[0] != '\t';
    if (s[0] == 0x7f || (s[0] == 0xc2 && left > 1 && s[1] < 0xa0)) return true;
    return left > 2 && ((s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9)) || /* U+2028, U+2029 */
                        (s[0] == 0xef && s[1] == 0xbb && s[2] == 0xbf)); /* a stray byte order mark */
}

/* The two bytes of a letter as two characters (U+00C2 or U+00C3, then U+0080 to U+00BF), or the beginning of the
 * three of a quotation mark. */
static bool is_mojibake(const unsigned char *s, size_t left)
{
    if (s[0] != 0xc3 || left < 4) return false;
    if ((s[1] == 0x82 || s[1] == 0x83) && s[2] == 0xc2) return true;
    return left > 4 && memcmp(s, "\xc3\xa2\xe2\x82\xac", 5) == 0;
}

void attend_line_measure(attend_line_features *l)
{
    const unsigned char *s = (const unsigned char *)l->text;
    attend_span word, all = { 0, 0 }; /* all: from the first word to the last */
    for (size_t at = 0; attend_word_next(l->text, l->size, &at, &word);) {
        if (l->words++ == 0) all.begin = word.begin;
        all.end = word.end;
    }
    l->blanks = all.begin > 0 || (size_t)all.end < l->size;
    l->characters = attend_utf8_count(l->text, l->size);
    l->syllables = attend_hangul_syllables(l->text, l->size);
    for (size_t i = 0; i < l->size; i++) {
        if (s[i] >= 0x20 && s[i] < 0x7f) continue;
        if (is_control(s + i, l->size - i)) l->control = true;
        if (is_mojibake(s + i, l->size - i)) l->mojibake = true;
    }
}
