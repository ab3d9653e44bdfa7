/* parse.h: reading and writing numbers as text, and suggestions for misspelt names.
 *
 * Purpose    Numbers have a decimal point whatever the program's locale.
 * Ownership  Texts are the caller's; nothing is kept.
 * Threads    Every function may be called from any thread. */
#ifndef ATTEND_PARSE_H
#define ATTEND_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each reads a number in the syntax of strtod or of strtoll/strtoull in base 10 (which skip leading white space and
 * accept a sign). If `end` is NULL the number must be the whole text; otherwise *end is set to the character after the
 * number. Returns false, with *x and *end unspecified, if there is no number, or one whose magnitude is too large or
 * rounds to 0. attend_parse_real accepts "inf" and "nan"; attend_parse_unsigned refuses a minus sign. */
bool attend_parse_real(const char *text, const char **end, double *x);
bool attend_parse_integer(const char *text, const char **end, long long *x);
bool attend_parse_unsigned(const char *text, const char **end, uint64_t *x);

/* Writes x with the fewest digits, from `min_digits` to 17, that read back as the same number. Returns what snprintf
 * returns. */
int attend_format_real(char *text, size_t size, double x, int min_digits);

/* The edit distance of two words: letters to substitute, insert, delete or swap with a neighbour (Damerau 1964, optimal
 * string alignment). Letters after the 63rd are ignored. */
int attend_word_distance(const char *a, const char *b);

/* The word in `list` (count) that is closest to `word`, for a "did you mean" message; NULL if none is close enough. */
const char *attend_closest_word(const char *word, const char *const *list, size_t count);

#ifdef __cplusplus
}
#endif
#endif
