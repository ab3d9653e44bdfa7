/* plain_math.h: the elementary functions of the plain kernels, from libm, in the precision of `real`. */
#ifndef ATTEND_PLAIN_MATH_H
#define ATTEND_PLAIN_MATH_H

#include "kernel/kernel.h"
#include <math.h>

#ifdef ATTEND_DOUBLE
#define REAL(function) function
#else
#define REAL(function) function##f
#endif

static inline real real_exp(real x)
{
    return REAL(exp)(x);
}

static inline real real_tanh(real x)
{
    return REAL(tanh)(x);
}

static inline real real_sqrt(real x)
{
    return REAL(sqrt)(x);
}

/* From e^-|x|, which cannot overflow; accurate for large negative x, where the result is tiny. */
static inline real real_sigmoid(real x)
{
    real e = real_exp(-REAL(fabs)(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static inline real real_relu(real x)
{
    return x < 0 ? 0 : x; /* NaN stays */
}

#endif
