/* shards.h: how the pairs of an update are cut into shards, the units of work of threads and of ranks. */
#ifndef ATTEND_TRAIN_SHARDS_H
#define ATTEND_TRAIN_SHARDS_H

#include <attend/model.h>

/* Cuts the pairs into shards of at most max_tokens source tokens and target rows together, or of one pair. Returns their number.
 * Shard i begins with pair first[i], and first[number] is the number of pairs; `first` has room for two ints more than there
 * are pairs. The cut depends on nothing but the lengths. */
int attend_cut_shards(const attend_pairs *pairs, int max_tokens, int *first);

#endif
