#include <attend/terminal.h>

#include "core/status.h"
#include "core/utf8.h"
#include <limits.h>
#include <string.h>
#include <utf8proc.h>

/* Hangul vowels and final consonants join the preceding letter; utf8proc gives them a width of their own. */
static int width_of(int32_t c)
{
    return (c >= 0x1160 && c <= 0x11ff) || (c >= 0xd7b0 && c <= 0xd7ff) ? 0 : utf8proc_charwidth(c);
}

size_t attend_columns_cut(const char *text, int max_columns, int *columns)
{
    ATTEND_REQUIRE(0, text && columns);
    const size_t size = strlen(text);
    size_t good = 0; /* the end of the last grapheme that fits */
    int width = 0, good_width = 0;
    int32_t last = 0, c, state = 0;
    for (size_t i = 0, n; i < size; i += n, last = c) {
        n = attend_utf8_next(text + i, size - i, &c);
        if (n == 0) break;
        if (i == 0 || utf8proc_grapheme_break_stateful(last, c, &state)) good = i, good_width = width;
        width += width_of(c);
        if (width > max_columns) {
            *columns = good_width;
            return good;
        }
    }
    *columns = width;
    return size;
}

int attend_columns(const char *text)
{
    ATTEND_REQUIRE(0, text);
    int columns;
    attend_columns_cut(text, INT_MAX, &columns);
    return columns;
}

bool attend_has_right_to_left(const char *text)
{
    ATTEND_REQUIRE(false, text);
    const size_t size = strlen(text);
    int32_t c;
    for (size_t i = 0, n; i < size && (n = attend_utf8_next(text + i, size - i, &c)) > 0; i += n) {
        const int class = utf8proc_get_property(c)->bidi_class;
        if (class == UTF8PROC_BIDI_CLASS_R || class == UTF8PROC_BIDI_CLASS_AL) return true;
    }
    return false;
}
