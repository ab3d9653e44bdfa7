/* lowercase.h: the full lower-casing of Unicode, with the final sigma and the dotted I.
 *
 * Purpose    One definition for tokenizers, the words that a model has seen, and metrics.
 * Threads    No state. */
#ifndef ATTEND_TEXT_LOWERCASE_H
#define ATTEND_TEXT_LOWERCASE_H

#include <attend/string.h>
#include <stdint.h>

/* Writes the code points `c` (n) in lower case to `lower`, which has room for 2 n; returns their number. */
size_t attend_lowercase_points(const uint32_t *c, size_t n, uint32_t *lower);

/* Sets *text and *size to a text in lower case and in NFC: unchanged if it has no upper case, otherwise in `own`, whose
 * content is replaced; `own` may hold the text. The text is in NFC. ATTEND_NO_MEMORY; ATTEND_BAD_DATA if the result is
 * longer than ATTEND_MAX_TEXT_BYTES. */
int attend_to_lowercase(const char **text, size_t *size, attend_string *own);

#endif
