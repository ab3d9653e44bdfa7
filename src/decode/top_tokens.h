/* top_tokens.h: the most probable tokens. */
#ifndef ATTEND_DECODE_TOP_TOKENS_H
#define ATTEND_DECODE_TOP_TOKENS_H

#include "core/top_k.h"
#include <attend/real.h>

/* Selects the best->k best of n tokens by log p, best first, the lower id first among equals. Left out are
 * ATTEND_BEGIN, which no target contains, tokens whose flag in `banned` (n flags, or NULL) is set, and values that are
 * NaN or minus infinity. */
void attend_top_tokens(attend_top_k *best, const attend_real *log_p, int n, const unsigned char *banned);

#endif
