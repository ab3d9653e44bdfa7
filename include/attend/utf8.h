/* utf8.h: validation of UTF-8.
 *
 * Purpose    The library reads and writes text as UTF-8 (RFC 3629). This is the one check of it.
 * Threads    The function has no state. */
#ifndef ATTEND_UTF8_H
#define ATTEND_UTF8_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the length in bytes of the longest prefix of `text` that is valid UTF-8: no overlong forms, no surrogates,
 * no code point above U+10FFFF. The text is valid if the result equals `size`. */
size_t attend_utf8_valid(const char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
