/* precision.h: the number formats in which a matrix of parameters can be stored, and the precision of matrix products.
 *
 * bf16 and int8 weights are for inference only; training needs fp32.
 *     bf16   the upper half of a float: 8 bits of precision
 *     int8   w_ij = scale_i q_ij with q_ij in [-127, 127]: one scale per row, no offset
 *
 * The precision of products is a choice at run time and not a property of a model (attend_ctx_set_compute). Weights
 * stay in fp32, and sums are in fp32.
 *     fp32     factors are used as they are
 *     bf16x3   a factor is the sum of two bf16 numbers, x = hi + lo, and a product is hi hi + hi lo + lo hi: 16 bits
 *     bf16     factors are rounded to bf16, to nearest, half to even: 8 bits
 *     tf32     on a GPU: factors are rounded to 11 bits, the format of its tensor cores for fp32
 * On a GPU, bf16x3 is the same as fp32. */
#ifndef ATTEND_PRECISION_H
#define ATTEND_PRECISION_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attend_precision { ATTEND_FP32, ATTEND_BFLOAT16, ATTEND_INT8 } attend_precision;

extern const char *const attend_precision_names[]; /* "fp32", "bf16" and "int8", in order; NULL after the last */
/* One of them; NULL: there is no such precision. */
const char *attend_precision_name(attend_precision precision);

typedef enum attend_compute_precision {
    ATTEND_COMPUTE_FP32,
    ATTEND_COMPUTE_BF16X3,
    ATTEND_COMPUTE_BF16,
    ATTEND_COMPUTE_TF32
} attend_compute_precision;

/* "fp32", "bf16x3", "bf16" and "tf32", in order; NULL after the last */
extern const char *const attend_compute_names[];

#ifdef __cplusplus
}
#endif
#endif
