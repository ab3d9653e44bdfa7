/* precision.h: quantised parameters; the formats are described in attend/precision.h. */
#ifndef ATTEND_CORE_PRECISION_H
#define ATTEND_CORE_PRECISION_H

#include <attend/precision.h>
#include <attend/real.h>
#include <attend/tape.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes per number. */
size_t attend_precision_bytes(attend_precision precision);

/* Rounds to nearest, half to even; finite numbers stay finite. */
void attend_bf16_quantize(size_t n, const attend_real *x, uint16_t *bits);
void attend_bf16_expand(size_t n, const uint16_t *bits, attend_real *x);

/* Quantises a row to integers in [-127, 127]: x = scale q. Returns the scale, max |x| / 127. */
float attend_int8_quantize(size_t n, const attend_real *x, int8_t *q);

/* Quantises a matrix. On failure (ATTEND_NO_MEMORY, or ATTEND_BAD_USAGE if it is not a matrix in fp32) the parameter is
 * unchanged. */
int attend_param_quantize(attend_param *p, attend_precision precision);

#endif
