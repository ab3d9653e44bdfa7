/* compare.c: elementwise comparison within the tolerance of a type. */
#include "compare.h"

#include "message.h"

#include <inttypes.h>
#include <math.h>

typedef struct tolerance {
    double relative, absolute;
} tolerance;

static tolerance tolerance_of(onnx_type type)
{
    if (type == ONNX_FLOAT16) return (tolerance){ 5e-3, 1e-3 };
    if (type == ONNX_BFLOAT16) return (tolerance){ 4e-2, 1e-2 };
    return (tolerance){ 1e-4, 1e-6 };
}

static bool near(double actual, double expected, tolerance t)
{
    if (isnan(expected)) return isnan(actual);
    if (isinf(expected) || isinf(actual)) return actual == expected;
    return fabs(actual - expected) <= t.absolute + t.relative * fabs(expected); /* false for a NaN */
}

static bool same_shape(const onnx_tensor *a, const onnx_tensor *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

static int compare_reals(size_t output, const onnx_tensor *actual, const onnx_tensor *expected, char *message)
{
    tolerance t = tolerance_of(expected->type);
    for (size_t i = 0; i < expected->size; i++) {
        double a = (double)actual->reals[i], e = (double)expected->reals[i];
        if (!near(a, e, t))
            return message_set(message, CASE_FAILED, "output %zu element %zu: %.9g instead of %.9g", output, i, a, e);
    }
    return CASE_OK;
}

static int compare_integers(size_t output, const onnx_tensor *actual, const onnx_tensor *expected, char *message)
{
    for (size_t i = 0; i < expected->size; i++) {
        int64_t a = actual->integers[i], e = expected->integers[i];
        if (a != e)
            return message_set(message, CASE_FAILED, "output %zu element %zu: %" PRId64 " instead of %" PRId64, output,
                               i, a, e);
    }
    return CASE_OK;
}

int compare_tensors(size_t output, const onnx_tensor *actual, const onnx_tensor *expected, char *message)
{
    char a[200], e[200];
    if (actual->reals == NULL && actual->integers == NULL)
        return message_set(message, CASE_FAILED, "output %zu: the operator did not make it", output);
    if (!same_shape(actual, expected))
        return message_set(message, CASE_FAILED, "output %zu: shape %s instead of %s", output,
                           onnx_tensor_shape(actual, a, sizeof a), onnx_tensor_shape(expected, e, sizeof e));
    if (actual->type != expected->type)
        return message_set(message, CASE_FAILED, "output %zu: type %d instead of %d", output, (int)actual->type,
                           (int)expected->type);
    return actual->reals != NULL ? compare_reals(output, actual, expected, message)
                                 : compare_integers(output, actual, expected, message);
}
