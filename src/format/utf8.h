/* utf8.h: characters of UTF-8 (the public half is in attend/text.h).
 *
 * RFC 3629: shortest form, no surrogates, at most U+10FFFF. */
#ifndef ATTEND_FORMAT_UTF8_H
#define ATTEND_FORMAT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `s`, of which `left` can be read, and its code point; 0: there is none. */
size_t attend_utf8_next(const char *s, size_t left, int32_t *point);

/* Writes a code point to `s`, which has room for four bytes; returns how many it took. */
size_t attend_utf8_put(char *s, int32_t point);

/* Bytes of a character by its first one, in text that is known to be UTF-8. */
static inline size_t attend_utf8_length(char first)
{
    const unsigned char c = (unsigned char)first;
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

#endif
