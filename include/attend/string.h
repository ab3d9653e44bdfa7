/* string.h: a byte string that grows.
 *
 * Purpose    The type of every text that the library returns in one piece.
 * Ownership  { 0 } is empty. The caller owns the string and frees it with attend_string_free. Functions that fill a
 *            string reuse its memory.
 * Threads    One thread at a time. */
#ifndef ATTEND_STRING_H
#define ATTEND_STRING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_string {
    char *text; /* ends with '\0' once anything was written; NULL before */
    size_t size, capacity;
} attend_string;

/* Appends `size` bytes. ATTEND_NO_MEMORY: the string is unchanged. */
int attend_string_add(attend_string *s, const char *bytes, size_t size);
/* Frees the memory and leaves an empty string. */
void attend_string_free(attend_string *s);

#ifdef __cplusplus
}
#endif
#endif
