/* precision.h: numbers in fewer bits (attend/tape.h has the formats). */
#ifndef ATTEND_CORE_PRECISION_H
#define ATTEND_CORE_PRECISION_H

#include <attend/precision.h>
#include <attend/real.h>
#include <attend/tape.h>
#include <stddef.h>
#include <stdint.h>

size_t attend_precision_bytes(attend_precision precision); /* of a number */

/* The nearest, of two as near the even one. Finite numbers stay finite. */
void attend_bf16_quantize(size_t n, const attend_real *x, uint16_t *bits);
void attend_bf16_expand(size_t n, const uint16_t *bits, attend_real *x);

/* A row of weights in [-127, 127] whole steps; returns the step: max |x| / 127. */
float attend_int8_quantize(size_t n, const attend_real *x, int8_t *q);

/* Keeps a matrix in fewer bits from now on. ATTEND_NO_MEMORY, and nothing has changed. */
int attend_param_quantize(attend_param *p, attend_precision precision);

#endif
