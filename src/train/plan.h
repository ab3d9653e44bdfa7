/* plan.h: what a training will take, before it begins. */
#ifndef ATTEND_TRAIN_PLAN_H
#define ATTEND_TRAIN_PLAN_H

#include "train/trainer.h"

/* Fills the plan, and the trainer's intervals; makes shards as small and threads as few as the memory that is allowed asks for;
 * plan->resumed: shards are as the checkpoint has them. ATTEND_BAD_USAGE if even the smallest do not fit. */
int attend_trainer_plan(trainer *t, attend_plan *plan);

#endif
