/* update_batch.h: the pairs of one update: batches one after another, cut into shards. */
#ifndef ATTEND_TRAIN_UPDATE_BATCH_H
#define ATTEND_TRAIN_UPDATE_BATCH_H

#include "core/tape.h"
#include "text/batches.h"

/* { 0 } is empty. Arrays are reused from update to update. */
typedef struct update_batch {
    attend_pairs pairs;             /* points into the arrays below */
    int rows;                       /* target rows */
    real *nll;                      /* (rows): for the loss of each */
    int *shard_first, *shard_count; /* (shards): pairs */
    int shards;
    int *tokens[2], *lengths[2]; /* source, target */
    size_t token_count[2], token_room[2], pair_count, pair_room, nll_room;
    int shard_room;
} update_batch;

/* Reads `accumulate` batches, moves the position past them, and cuts the pairs into shards of at most shard_tokens
 * source tokens and target rows together. The cut does not depend on the number of threads. */
int attend_update_batch_next(update_batch *b, attend_batches *batches, attend_batch_position *position, int accumulate,
                             int shard_tokens);
void attend_update_batch_free(update_batch *b);

#endif
