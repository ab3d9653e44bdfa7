/* lowercase.c: the lower case of utf8proc, one character for each, and the two of Unicode's special cases that do not
 * depend on a language: the dotted I becomes two characters, and a sigma at the end of a word has a form of its own. */
#include "text/lowercase.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/utf8.h"
#include "text/normalize.h"
#include "text/token_ids.h"
#include <stdbool.h>
#include <utf8proc.h>

enum { CAPITAL_SIGMA = 0x3a3, SMALL_SIGMA = 0x3c3, FINAL_SIGMA = 0x3c2, DOTTED_I = 0x130, DOT_ABOVE = 0x307 };

/* The Unicode property Case_Ignorable: marks, modifiers, and punctuation inside words. */
static bool case_ignorable(uint32_t c)
{
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        break;
    }
    static const uint32_t inside[] = { '\'',   '.',    ':',    0xb7,   0x387,  0x55f,  0x5f4,  0x2018, 0x2019,
                                       0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a };
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (c == inside[i]) return true;
    return false;
}

/* The Unicode property Cased, for characters that are not ignorable: letters with case, and signs made of them. */
static bool cased(uint32_t c)
{
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
        return true;
    default:
        return c == 0xaa || c == 0xba || (c >= 0x2160 && c <= 0x217f) || (c >= 0x24b6 && c <= 0x24e9) ||
               (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
    }
}

/* True if the sigma at `at` ends a word: it follows a cased letter and no cased letter follows. Each run of ignorable
 * characters is scanned at most twice, so the cost is linear in the length of the line. */
static bool is_final(const uint32_t *c, size_t n, size_t at)
{
    size_t i = at;
    while (i > 0 && case_ignorable(c[i - 1])) i--;
    if (i == 0 || !cased(c[i - 1])) return false;
    i = at + 1;
    while (i < n && case_ignorable(c[i])) i++;
    return i == n || !cased(c[i]);
}

size_t attend_lowercase_points(const uint32_t *c, size_t n, uint32_t *lower)
{
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (c[i] == CAPITAL_SIGMA) {
            lower[m++] = is_final(c, n, i) ? FINAL_SIGMA : SMALL_SIGMA;
        } else if (c[i] == DOTTED_I) {
            lower[m++] = 'i';
            lower[m++] = DOT_ABOVE;
        } else {
            lower[m++] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c[i]);
        }
    }
    return m;
}

/* Whether a text has a character that lower-casing changes. */
static bool has_upper(const char *text, size_t size)
{
    int32_t c = 0;
    for (size_t i = 0, n; i < size; i += n) {
        n = 1;
        if (text[i] >= 'A' && text[i] <= 'Z') return true;
        if ((unsigned char)text[i] < 0x80) continue;
        n = attend_utf8_next(text + i, size - i, &c);
        if (n == 0) n = 1; /* callers pass valid text */
        if (utf8proc_tolower(c) != c) return true;
    }
    return false;
}

/* Replaces `own` by code points. */
static int write_points(attend_string *own, const uint32_t *c, size_t n)
{
    int status = ATTEND_OK;
    own->size = 0;
    for (size_t i = 0; status == ATTEND_OK && i < n; i++) {
        char piece[4];
        status = attend_string_add(own, piece, attend_utf8_put(piece, (int32_t)c[i]));
    }
    return status;
}

int attend_to_lowercase(const char **text, size_t *size, attend_string *own)
{
    if (!has_upper(*text, *size)) return ATTEND_OK;
    uint32_t *points = attend_memory_zeroed(3 * *size, sizeof *points), *lower = points ? points + *size : NULL;
    if (!points) return attend_fail(ATTEND_NO_MEMORY, "no memory for the lower case of %zu bytes", *size);
    size_t n = 0;
    int32_t c = 0;
    for (size_t i = 0, length; i < *size; i += length ? length : 1) {
        length = attend_utf8_next(*text + i, *size - i, &c);
        points[n++] = (uint32_t)c;
    }
    n = attend_lowercase_points(points, n, lower);
    const int status = write_points(own, lower, n);
    attend_memory_free(points);
    if (status != ATTEND_OK) return status;
    *text = own->text, *size = own->size;
    return attend_to_nfc(text, size, own); /* letters may compose with marks that capitals do not compose with */
}
