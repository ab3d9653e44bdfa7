/* rank_parameters.h: arrays in the sizes of the parameters, of which every rank owns a part. */
#ifndef ATTEND_TRAIN_RANK_PARAMETERS_H
#define ATTEND_TRAIN_RANK_PARAMETERS_H

#include "train/team.h"

/* Sends what this rank owns of the parameters to all others, and takes over theirs. The caller calls
 * attend_param_computed. Nothing if the process is alone. */
int attend_rank_parameters_gather(attend_team *t);
/* The weights of rank 0 become those of all ranks. */
int attend_rank_parameters_share(attend_team *t);
/* Collects the parts of a number array on rank 0: *whole has the numbers of the whole parameter, or is NULL on other ranks
 * and if there are none. It is the caller's, freed by attend_memory_free. */
int attend_rank_array_gather(attend_team *t, int parameter, number_array *array, real **whole);

#endif
