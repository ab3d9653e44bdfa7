/* precision.h: the number formats in which a matrix of parameters can be stored.
 *
 * bf16 and int8 are for inference only; training needs fp32.
 *     bf16   the upper half of a float: 8 bits of precision
 *     int8   w_ij = scale_i q_ij with q_ij in [-127, 127]: one scale per row, no offset */
#ifndef ATTEND_PRECISION_H
#define ATTEND_PRECISION_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attend_precision { ATTEND_FP32, ATTEND_BFLOAT16, ATTEND_INT8 } attend_precision;

/* "fp32", "bf16" or "int8"; NULL if there is no such precision. */
const char *attend_precision_name(attend_precision precision);

#ifdef __cplusplus
}
#endif
#endif
