/* pair_block.h: consecutive pairs of a corpus, in memory. */
#ifndef ATTEND_TRAIN_PAIR_BLOCK_H
#define ATTEND_TRAIN_PAIR_BLOCK_H

#include "text/corpus.h"
#include <attend/model.h>

typedef struct pair_block {
    attend_pairs pairs;       /* refers to the arrays below */
    int *lengths[2], *ids[2]; /* source, target */
} pair_block;

/* Reads pairs first .. first + count - 1. *b is freed by attend_pair_block_free, also after a failure. */
int attend_pair_block_read(pair_block *b, const attend_corpus *from, uint64_t first, int count);
void attend_pair_block_free(pair_block *b);

#endif
