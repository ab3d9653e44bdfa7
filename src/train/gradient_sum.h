/* gradient_sum.h: adding and zeroing the gradients of shards on several threads. Elements do not depend on each other,
 * so neither do results on the number of threads. */
#ifndef ATTEND_TRAIN_GRADIENT_SUM_H
#define ATTEND_TRAIN_GRADIENT_SUM_H

#include "core/pool.h"
#include "core/tape.h"

/* to += from, and from becomes zero, on the threads of the pool that are without work. */
void attend_gradient_add(attend_pool *pool, attend_grads *to, attend_grads *from);
/* Zeroes all gradients, on the threads of the pool that are without work. */
void attend_gradient_zero(attend_pool *pool, attend_grads *g);

#endif
