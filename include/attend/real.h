/* real.h: the number type of tensors.
 *
 * libattend computes in float. Its twin libattend_double has the same functions computing in double; it
 * exists to check derivatives, where float's seven digits are too few. A program that links the twin is
 * compiled with -DATTEND_DOUBLE; nothing else about the headers changes. */
#ifndef ATTEND_REAL_H
#define ATTEND_REAL_H

#ifdef ATTEND_DOUBLE
typedef double attend_real;
#else
typedef float attend_real;
#endif

#endif
