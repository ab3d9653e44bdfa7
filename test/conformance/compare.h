/* compare.h: compares a tensor with its expected value. */
#ifndef CONFORMANCE_COMPARE_H
#define CONFORMANCE_COMPARE_H

#include "onnx.h"

/* Requires the same shape and type, and each element within |a - e| <= absolute + relative |e|, by the type of
 * `expected`:
 *     FLOAT, DOUBLE  relative 1e-4, absolute 1e-6     (DOUBLE too: the library computes in float)
 *     FLOAT16        relative 5e-3, absolute 1e-3     (5 units in the last place)
 *     BFLOAT16       relative 4e-2, absolute 1e-2
 *     any other      exactly equal
 * NaN equals NaN; an infinity equals only itself. Otherwise returns CASE_FAILED with "output K ...". */
int compare_tensors(size_t output, const onnx_tensor *actual, const onnx_tensor *expected, char *message);

#endif
