/* utf8.h: validation of UTF-8, and counting and cutting by characters.
 *
 * Purpose    The library reads and writes text as UTF-8 (RFC 3629). A character is a code point.
 * Threads    The functions have no state. */
#ifndef ATTEND_UTF8_H
#define ATTEND_UTF8_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the length in bytes of the longest prefix of `text` that is valid UTF-8: no overlong forms, no surrogates,
 * no code point above U+10FFFF. The text is valid if the result equals `size`. */
size_t attend_utf8_valid(const char *text, size_t size);
/* Returns the number of characters of a text that is valid UTF-8. */
size_t attend_utf8_count(const char *text, size_t size);
/* Returns the length of the longest prefix of at most `max` bytes that does not end inside a character, for a text
 * that is valid UTF-8. */
size_t attend_utf8_cut(const char *text, size_t size, size_t max);

#ifdef __cplusplus
}
#endif
#endif
