/* best.h: the words a model thinks most of. */
#ifndef ATTEND_DECODE_TOP_TOKENS_H
#define ATTEND_DECODE_TOP_TOKENS_H

#include <attend/real.h>

/* The `most` best of n words by log p, best first, of equal ones the lower number first; ATTEND_BEGIN, which no target has, those that are
 * banned (n flags, or NULL) and what is not a number are left out. Returns how many were found. */
int attend_top_tokens(const attend_real *log_p, int n, const unsigned char *banned, int most, int *words);

#endif
