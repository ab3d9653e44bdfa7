/* non_finite.h: what a line or pair is said to lack if the model's computation with it overflows. */
#ifndef ATTEND_DECODE_NON_FINITE_H
#define ATTEND_DECODE_NON_FINITE_H

extern const char attend_non_finite_fault[];

#endif
