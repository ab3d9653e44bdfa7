/* team.h: the fields of a team, for optimizers and validation. */
#ifndef ATTEND_TRAIN_TEAM_H
#define ATTEND_TRAIN_TEAM_H

#include "core/pool.h"
#include "core/tape.h"
#include "train/gradient_tree.h"
#include <attend/train.h>

struct attend_team {
    attend_params *params;
    int count; /* of parameters; fixed */
    attend_pool *pool;
    attend_grads *total;
    gradient_tree tree;
    attend_ctx **contexts; /* (threads) */
    double *losses;        /* (loss_capacity) of the shards */
    int loss_capacity;
    double *squares; /* (chunks): sums of squares, for attend_team_norm */
    int chunks;
};

#endif
