/* gradient_sum.h: adding the gradients of shards. */
#ifndef ATTEND_TRAIN_GRADIENT_SUM_H
#define ATTEND_TRAIN_GRADIENT_SUM_H

#include "core/tape.h"

/* to += from[0], += from[1], ..., element by element in that order, and every `from` becomes zero. In three steps:
 * begin once; part for every part in [0, parts), in any order and at the same time; end once. */
void attend_gradient_sum_begin(attend_grads *to, attend_grads *const *from, int count);
void attend_gradient_sum_part(attend_grads *to, attend_grads *const *from, int count, int part, int parts);
void attend_gradient_sum_end(attend_grads *const *from, int count);

#endif
