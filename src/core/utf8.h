/* utf8.h: decoding and encoding of UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF). The rest is
 * public: attend/utf8.h. */
#ifndef ATTEND_CORE_UTF8_H
#define ATTEND_CORE_UTF8_H

#include <attend/utf8.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at `text`; reads at most `left` bytes. Returns its length in bytes and stores its
 * code point; returns 0 if `left` is 0 or no valid character starts there. Reading stops at the first byte that is
 * not a continuation byte, so for a string that ends in '\0' `left` may be 4. */
size_t attend_utf8_next(const char *text, size_t left, int32_t *code_point);

/* Encodes a code point into `out`, an array of four bytes. Returns the number of bytes written. */
size_t attend_utf8_put(char *out, int32_t code_point);

/* The length in bytes of the character that starts with byte `first`, in text that is known to be valid. */
static inline size_t attend_utf8_length(char first)
{
    const unsigned char c = (unsigned char)first;
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

#endif
