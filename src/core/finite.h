/* finite.h: whether numbers in host memory, such as those of a file, are finite. */
#ifndef ATTEND_CORE_FINITE_H
#define ATTEND_CORE_FINITE_H

#include <attend/real.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether no number is infinite or NaN. */
bool attend_all_finite(size_t n, const attend_real *x);

#endif
