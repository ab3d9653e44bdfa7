/* team.h: the fields of a team, for optimizers and validation. */
#ifndef ATTEND_TRAIN_TEAM_H
#define ATTEND_TRAIN_TEAM_H

#include "core/pool.h"
#include "core/tape.h"
#include <attend/train.h>

struct attend_team {
    attend_params *params;
    int count; /* of parameters; fixed */
    attend_pool *pool;
    attend_grads *total;
    attend_ctx **contexts; /* (threads) */
    attend_grads **shard;  /* (threads) */
    double *losses;        /* (threads) */
    double *squares;       /* (chunks): sums of squares, for attend_team_norm */
    int chunks;
};

#endif
