/* rank_gradient.h: the sum of the gradients of all ranks.
 *
 * Every rank has the gradients of a few nodes of the tree (gradient_tree.h). It sends to each other rank the numbers that
 * this one owns (pieces.h), gets from each the numbers that it owns itself, and adds them by the tree. So the sum has the
 * same bits on any number of ranks, and a rank sends (R - 1) / R of the numbers of its nodes. Of a sparse gradient only the
 * rows that were used are sent. */
#ifndef ATTEND_TRAIN_RANK_GRADIENT_H
#define ATTEND_TRAIN_RANK_GRADIENT_H

#include "train/team.h"

/* How the shards of this rank ended. */
typedef struct shards_outcome {
    int status, failed; /* the failed shard with the lowest number */
    char message[ATTEND_MESSAGE_SIZE];
} shards_outcome;

/* After the shards of this rank have run: the gradient of what this rank owns becomes the team's total, and the team's news
 * are exchanged. *outcome becomes that of the failed shard with the lowest number of all ranks. */
int attend_rank_gradient(attend_team *t, int shards, shards_outcome *outcome);

/* Memory for an exchange, valid until the next call; NULL: no memory. */
void *attend_rank_buffer(attend_team *t, size_t bytes);

int attend_rank_buffers_new(struct rank_buffers **out);
void attend_rank_buffers_free(struct rank_buffers *b);

#endif
