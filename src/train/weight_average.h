/* weight_average.h: an exponential moving average of the weights: a = d a + (1 - d) w after every update, d =
 * min(decay, (1 + u) / (10 + u)) at update u, so that the random initial weights soon have no effect. */
#ifndef ATTEND_TRAIN_WEIGHT_AVERAGE_H
#define ATTEND_TRAIN_WEIGHT_AVERAGE_H

#include "train/number_array.h"
#include "train/team.h"

/* { 0 } is no average: every function then does nothing. The team must outlive it. A rank has the average of the numbers
 * that it owns. */
typedef struct weight_average {
    attend_team *team;
    double decay;
    number_array *values; /* by parameter */
} weight_average;

/* Begins with the current weights, unless the average will be loaded from a checkpoint. decay 0: no average. */
int attend_weight_average_begin(weight_average *a, attend_team *team, double decay, bool loaded_later);
void attend_weight_average_update(const weight_average *a, uint64_t update);
/* Exchanges the weights and their average; a second call undoes it. Fails only if there are several ranks. */
int attend_weight_average_swap(const weight_average *a);
void attend_weight_average_free(weight_average *a);

#endif
