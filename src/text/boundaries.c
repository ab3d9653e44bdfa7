/* boundaries.c: character classes by Unicode's general category, and scripts by the blocks of the Unicode Standard.
 * utf8proc has no scripts. Kana and Han are one script, since Japanese words mix them (as SentencePiece has it);
 * scripts that are not in the table are one. */
#include "text/boundaries.h"

#include <stdbool.h>
#include <stdint.h>
#include <utf8proc.h>

enum { OTHER_SCRIPT, LATIN, GREEK, CYRILLIC, ARMENIAN, HEBREW, ARABIC, INDIC, THAI, GEORGIAN, HANGUL, ETHIOPIC, HAN };

typedef struct script_range {
    int32_t first, last;
    int script;
} script_range;

/* Sorted. An Indic script has a number of its own: INDIC_FIRST and the number of its block of 128 characters. */
enum { INDIC_FIRST = 100 };
static const script_range ranges[] = {
    { 0x0000, 0x02af, LATIN },    { 0x0370, 0x03ff, GREEK },    { 0x0400, 0x052f, CYRILLIC },
    { 0x0530, 0x058f, ARMENIAN }, { 0x0590, 0x05ff, HEBREW },   { 0x0600, 0x06ff, ARABIC },
    { 0x0750, 0x077f, ARABIC },   { 0x08a0, 0x08ff, ARABIC },   { 0x0900, 0x0dff, INDIC },
    { 0x0e00, 0x0e7f, THAI },     { 0x10a0, 0x10ff, GEORGIAN }, { 0x1100, 0x11ff, HANGUL },
    { 0x1200, 0x139f, ETHIOPIC }, { 0x1c80, 0x1c8f, CYRILLIC }, { 0x1c90, 0x1cbf, GEORGIAN },
    { 0x1d00, 0x1dbf, LATIN },    { 0x1e00, 0x1eff, LATIN },    { 0x1f00, 0x1fff, GREEK },
    { 0x2c60, 0x2c7f, LATIN },    { 0x2d00, 0x2d2f, GEORGIAN }, { 0x2d80, 0x2ddf, ETHIOPIC },
    { 0x2de0, 0x2dff, CYRILLIC }, { 0x3005, 0x3007, HAN },      { 0x3040, 0x30ff, HAN },
    { 0x3130, 0x318f, HANGUL },   { 0x31f0, 0x31ff, HAN },      { 0x3400, 0x9fff, HAN },
    { 0xa640, 0xa69f, CYRILLIC }, { 0xa720, 0xa7ff, LATIN },    { 0xa960, 0xa97f, HANGUL },
    { 0xab30, 0xab6f, LATIN },    { 0xac00, 0xd7ff, HANGUL },   { 0xf900, 0xfaff, HAN },
    { 0xfb00, 0xfb06, LATIN },    { 0xfb13, 0xfb17, ARMENIAN }, { 0xfb1d, 0xfb4f, HEBREW },
    { 0xfb50, 0xfdff, ARABIC },   { 0xfe70, 0xfeff, ARABIC },   { 0xff21, 0xff5a, LATIN },
    { 0xff66, 0xff9f, HAN },      { 0xffa0, 0xffdc, HANGUL },   { 0x1b000, 0x1b16f, HAN },
    { 0x20000, 0x323af, HAN },
};

static int script_of(int32_t c)
{
    size_t low = 0, high = sizeof ranges / sizeof *ranges;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (c > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == sizeof ranges / sizeof *ranges || c < ranges[low].first) return OTHER_SCRIPT;
    return ranges[low].script == INDIC ? INDIC_FIRST + (int)(c >> 7) : ranges[low].script;
}

enum { CONTINUES = -1, DIGIT = -2, SPACE = -3, MARKS = -4 }; /* otherwise letters, by script */

static int class_of(int32_t c)
{
    if (c < 0x80) {
        const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        return letter ? LATIN : c >= '0' && c <= '9' ? DIGIT : c == ' ' || (c >= 9 && c <= 13) ? SPACE : MARKS;
    }
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
        return script_of(c);
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
        return CONTINUES;
    case UTF8PROC_CATEGORY_ND:
        return DIGIT;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return SPACE;
    default:
        return MARKS;
    }
}

size_t attend_boundary_next(const char *text, size_t size, size_t begin)
{
    int run = CONTINUES;
    size_t at = begin;
    while (at < size && (text[at] != ' ' || at == begin)) {
        utf8proc_int32_t c;
        const utf8proc_ssize_t length =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(size - at), &c);
        const int here = length > 0 ? class_of(c) : MARKS;
        if (here != CONTINUES && run != CONTINUES && here != run) break;
        if (here != CONTINUES) run = here;
        at += length > 0 ? (size_t)length : 1;
    }
    return at;
}
