/* shortlist_pairs.h: a shortlist from training pairs, by the statistical aligner. */
#ifndef ATTEND_CLI_SHORTLIST_PAIRS_H
#define ATTEND_CLI_SHORTLIST_PAIRS_H

#include "options.h"

#include <attend/shortlist.h>

typedef struct shortlist_options {
    int threads;
    size_t memory; /* limit in bytes; 0: none */
    bool quiet;
} shortlist_options;

/* Aligns the tokens of the pairs and counts, for each source token, the tokens of the target words that are linked with it;
 * target words without a link count for the end of the source. */
int shortlist_count_pairs(attend_shortlist *list, const attend_model *m, const pairs_list *input,
                          const shortlist_options *o);

#endif
