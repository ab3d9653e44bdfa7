#include "format/utf8.h"

#include <attend/text.h>
#include <stdbool.h>
#include <string.h>

size_t attend_utf8_next(const char *text, size_t left, int32_t *point)
{
    const unsigned char *s = (const unsigned char *)text;
    if (left == 0) return 0;
    *point = s[0];
    if (s[0] < 0x80) return 1;
    const size_t length = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > left) return 0;
    int32_t value = s[0] & (0xff >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        value = value << 6 | (s[i] & 0x3f);
    }
    static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
    *point = value;
    return length;
}

size_t attend_utf8_put(char *s, int32_t c)
{
    if (c < 0x80) {
        s[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        s[0] = (char)(0xc0 | c >> 6);
        s[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        s[0] = (char)(0xe0 | c >> 12);
        s[1] = (char)(0x80 | (c >> 6 & 0x3f));
        s[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    s[0] = (char)(0xf0 | c >> 18);
    s[1] = (char)(0x80 | (c >> 12 & 0x3f));
    s[2] = (char)(0x80 | (c >> 6 & 0x3f));
    s[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Bytes below 0x80 at the beginning, eight at a time: most text is made of them. */
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
    size_t i = 0;
    int32_t point;
    for (;;) {
        i += ascii_prefix(text + i, size - i);
        const size_t length = attend_utf8_next(text + i, size - i, &point);
        if (length == 0) return i;
        i += length;
    }
}
