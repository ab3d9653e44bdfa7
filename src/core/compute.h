/* compute.h: what a context lends to a computation on a device. */
#ifndef ATTEND_CORE_COMPUTE_H
#define ATTEND_CORE_COMPUTE_H

#include "core/arena.h"
#include "core/pool.h"
#include <attend/precision.h>

typedef struct attend_compute {
    attend_pool *pool;                  /* threads; NULL: only the calling one */
    attend_arena *scratch;              /* temporary host memory; the computation rewinds it */
    attend_compute_precision precision; /* of matrix products */
} attend_compute;

#endif
