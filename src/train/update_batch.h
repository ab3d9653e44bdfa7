/* update_batch.h: the pairs of one update: batches one after another, cut into shards. */
#ifndef ATTEND_TRAIN_UPDATE_BATCH_H
#define ATTEND_TRAIN_UPDATE_BATCH_H

#include "core/tape.h"
#include "text/batches.h"
#include "train/guided_links.h"

/* { 0 } is empty. Arrays are reused from update to update. */
typedef struct update_batch {
    attend_pairs pairs; /* points into the arrays below */
    int rows;           /* target rows */
    real *nll;          /* (rows): for the loss of each */
    int *shard_first;   /* (shards + 1): the first pair of each, and the number of pairs */
    size_t *shard_rows; /* (shards + 1): target rows before those of a shard */
    int shards;
    int *tokens[2], *lengths[2]; /* source, target */
    attend_link *links;
    size_t link_count, link_capacity;
    size_t token_count[2], token_room[2], pair_count, pair_room, nll_room;
    uint64_t *numbers, *epochs; /* of the pairs, where only some of the tokens are read */
    size_t number_room, shard_room;
    int shard_rows_room;
} update_batch;

/* Reads `accumulate` batches, with the links of their pairs (links NULL: none), moves the position past them, and cuts the
 * pairs into shards of at most shard_tokens source tokens and target rows together. The cut does not depend on the number of
 * threads and of ranks; a rank of several reads only the tokens of its shards, if it can know the lengths of the others. */
int attend_update_batch_next(update_batch *b, attend_batches *batches, const attend_guided_links *links,
                             attend_batch_position *position, int accumulate, int shard_tokens, int ranks, int rank);
void attend_update_batch_free(update_batch *b);

#endif
