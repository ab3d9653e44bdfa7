#include "core/utf8.h"

#include "core/status.h"
#include <stdbool.h>
#include <string.h>

/* True for every byte of a character but its first. */
static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t attend_utf8_next(const char *text, size_t left, int32_t *code_point)
{
    const unsigned char *s = (const unsigned char *)text;
    if (left == 0) return 0;
    *code_point = s[0];
    if (s[0] < 0x80) return 1;
    const size_t length = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > left) return 0;
    int32_t value = s[0] & (0xff >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (!is_continuation(text[i])) return 0;
        value = value << 6 | (s[i] & 0x3f);
    }
    static const int32_t min_value[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (value < min_value[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
    *code_point = value;
    return length;
}

size_t attend_utf8_put(char *out, int32_t code_point)
{
    static const int lead[] = { 0, 0x00, 0xc0, 0xe0, 0xf0 };
    const size_t length = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; code_point >>= 6) out[i] = (char)(0x80 | (code_point & 0x3f));
    out[0] = (char)(lead[length] | code_point);
    return length;
}

/* The number of leading ASCII bytes. Checks eight bytes at a time, since most text is mostly ASCII. */
static size_t ascii_prefix(const char *text, size_t size)
{
    size_t i = 0;
    for (uint64_t eight; i + 8 <= size; i += 8) {
        memcpy(&eight, text + i, 8);
        if (eight & 0x8080808080808080u) break;
    }
    while (i < size && (unsigned char)text[i] < 0x80) i++;
    return i;
}

size_t attend_utf8_valid(const char *text, size_t size)
{
    ATTEND_REQUIRE(0, text || size == 0);
    size_t i = 0;
    int32_t code_point;
    for (;;) {
        i += ascii_prefix(text + i, size - i);
        const size_t length = attend_utf8_next(text + i, size - i, &code_point);
        if (length == 0) return i;
        i += length;
    }
}

size_t attend_utf8_count(const char *text, size_t size)
{
    ATTEND_REQUIRE(0, text || size == 0);
    size_t count = 0;
    for (size_t i = 0; i < size; i++) count += !is_continuation(text[i]);
    return count;
}

size_t attend_utf8_cut(const char *text, size_t size, size_t max)
{
    if (size <= max) return size;
    while (max > 0 && is_continuation(text[max])) max--;
    return max;
}
