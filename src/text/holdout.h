/* holdout.h: decides which pairs are held out for validation (attend/pairs_file.h). */
#ifndef ATTEND_TEXT_HOLDOUT_H
#define ATTEND_TEXT_HOLDOUT_H

#include "text/hash_set.h"
#include <attend/pairs_file.h>

/* What the decision about the next pair depends on, besides the pair; {0} before the first pair. */
typedef struct attend_holdout {
    attend_hash_set sources; /* held out so far; only with a maximum number of pairs */
    uint64_t pairs;          /* held out so far */
} attend_holdout;

/* Sets *is_read to true if this pair belongs to the part of the data that the spec names. ATTEND_NO_MEMORY. */
int attend_holdout_reads(attend_holdout *h, const attend_pairs_spec *spec, const attend_text_pair *pair, bool *is_read);
void attend_holdout_free(attend_holdout *h);

#endif
