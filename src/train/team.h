/* team.h: the inside of a team, for the optimizers. */
#ifndef ATTEND_TRAIN_TEAM_H
#define ATTEND_TRAIN_TEAM_H

#include "core/pool.h"
#include "core/tape.h"
#include <attend/train.h>

struct attend_team {
    attend_params *params;
    int count; /* of parameters when the team was made; no more may come */
    attend_pool *pool;
    attend_grads *total;
    attend_ctx **contexts; /* one a thread, each with .. */
    attend_grads **shard;  /* .. gradients of its own */
    double *losses;
    double *squares; /* of fixed pieces of the gradient, see attend_team_norm */
    int pieces;
};

#endif
