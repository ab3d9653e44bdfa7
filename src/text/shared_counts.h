/* shared_counts.h: counts of the lines that the ranks of a job have read, each a part of them, become those of all lines.
 *
 * Every rank calls these functions. Alone (ranks NULL) they do nothing. */
#ifndef ATTEND_TEXT_SHARED_COUNTS_H
#define ATTEND_TEXT_SHARED_COUNTS_H

#include "rank/ranks.h"
#include "text/seen_words.h"
#include <attend/string_table.h>

/* Adds up the counts of equal strings; the order of the strings changes. numbers: (count) are added up, too. */
int attend_shared_counts(attend_ranks *ranks, attend_string_table *table, uint64_t *numbers, int count);
/* The set of rank 0 becomes that of all lines; those of other ranks stay. */
int attend_shared_words(attend_ranks *ranks, attend_word_set *words);

#endif
