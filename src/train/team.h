/* team.h: the fields of a team, for optimizers and validation.
 *
 * The team of a rank runs some of the shards; attend_team_gradient then computes the gradient of what the rank owns
 * (pieces.h), and an optimizer updates that. */
#ifndef ATTEND_TRAIN_TEAM_H
#define ATTEND_TRAIN_TEAM_H

#include "core/pool.h"
#include "core/tape.h"
#include "rank/ranks.h"
#include "train/gradient_tree.h"
#include "train/number_array.h"
#include <attend/train.h>

/* What the ranks tell each other in attend_team_gradient besides gradients. */
typedef struct team_news {
    bool stop;             /* training ends after this update: in, whether this rank wants it; out, whether any does */
    real *numbers;         /* numbers of the shards, one after another: in, those of this rank; out, all. NULL: none */
    const size_t *offsets; /* (shards + 1) where those of a shard begin */
} team_news;

struct attend_team {
    attend_params *params;
    int count; /* of parameters; fixed */
    attend_pool *pool;
    attend_grads *total;
    gradient_tree tree;
    attend_ctx **contexts; /* (threads) */
    double *losses;        /* (loss_capacity) of the shards */
    int loss_capacity;
    double *squares; /* (pieces.count): sums of squares, for attend_team_norm */
    parameter_pieces pieces;
    attend_ranks *ranks; /* NULL: alone */
    team_news news;
    struct rank_buffers *buffers; /* rank_gradient.c; NULL: alone */
};

/* Before the optimizer is created: divides the work among ranks. The handle is borrowed. */
int attend_team_set_ranks(attend_team *t, attend_ranks *ranks);
/* attend_team_norm, on all ranks. */
int attend_team_measure_norm(attend_team *t, double *norm);
/* The numbers of a moment; NULL: there is none. */
number_array *attend_optimizer_array(attend_optimizer *o, int parameter, int which);

#endif
