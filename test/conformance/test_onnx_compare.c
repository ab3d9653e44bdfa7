/* test_onnx_compare.c: the comparison of outputs. */
#include "compare.h"
#include "message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

static char message[MESSAGE_SIZE];

/* Two tensors of three elements that differ in the last. */
static int compare_reals(onnx_type type, float actual, float expected)
{
    float a[] = { 1, 2, actual }, e[] = { 1, 2, expected };
    onnx_tensor left = { .type = type, .rank = 1, .dims = { 3 }, .size = 3, .reals = a };
    onnx_tensor right = { .type = type, .rank = 1, .dims = { 3 }, .size = 3, .reals = e };
    return compare_tensors(0, &left, &right, message);
}

static void test_tolerance(void **state)
{
    (void)state;
    assert_int_equal(compare_reals(ONNX_FLOAT, 1000.09f, 1000), CASE_OK);
    assert_int_equal(compare_reals(ONNX_FLOAT, 999.88f, 1000), CASE_FAILED);
    assert_string_equal(message, "output 0 element 2: 999.880005 instead of 1000");
    assert_int_equal(compare_reals(ONNX_FLOAT, 0.9e-6f, 0), CASE_OK);
    assert_int_equal(compare_reals(ONNX_FLOAT, -1.1e-6f, 0), CASE_FAILED);
    assert_int_equal(compare_reals(ONNX_DOUBLE, 1.001f, 1), CASE_FAILED);
    assert_int_equal(compare_reals(ONNX_FLOAT16, 1.004f, 1), CASE_OK);
    assert_int_equal(compare_reals(ONNX_FLOAT16, 1.01f, 1), CASE_FAILED);
    assert_int_equal(compare_reals(ONNX_BFLOAT16, 1.04f, 1), CASE_OK);
    assert_int_equal(compare_reals(ONNX_BFLOAT16, 1.1f, 1), CASE_FAILED);
}

static void test_not_finite(void **state)
{
    (void)state;
    assert_int_equal(compare_reals(ONNX_FLOAT, NAN, NAN), CASE_OK);
    assert_int_equal(compare_reals(ONNX_FLOAT, NAN, 1), CASE_FAILED);
    assert_int_equal(compare_reals(ONNX_FLOAT, 1, NAN), CASE_FAILED);
    assert_int_equal(compare_reals(ONNX_FLOAT, NAN, INFINITY), CASE_FAILED);
    assert_int_equal(compare_reals(ONNX_FLOAT, INFINITY, INFINITY), CASE_OK);
    assert_int_equal(compare_reals(ONNX_FLOAT, -INFINITY, INFINITY), CASE_FAILED);
    assert_int_equal(compare_reals(ONNX_FLOAT, 3e38f, INFINITY), CASE_FAILED);
    assert_int_equal(compare_reals(ONNX_FLOAT, INFINITY, 3e38f), CASE_FAILED);
}

static void test_integers(void **state)
{
    (void)state;
    int64_t a[] = { 1, INT64_MAX }, e[] = { 1, INT64_MAX - 1 };
    onnx_tensor left = { .type = ONNX_INT64, .rank = 1, .dims = { 2 }, .size = 2, .integers = a };
    onnx_tensor right = { .type = ONNX_INT64, .rank = 1, .dims = { 2 }, .size = 2, .integers = e };
    assert_int_equal(compare_tensors(1, &left, &left, message), CASE_OK);
    assert_int_equal(compare_tensors(1, &left, &right, message), CASE_FAILED);
    assert_string_equal(message, "output 1 element 1: 9223372036854775807 instead of 9223372036854775806");
}

static void test_shape_and_type(void **state)
{
    (void)state;
    float numbers[] = { 1, 2 };
    onnx_tensor left = { .type = ONNX_FLOAT, .rank = 1, .dims = { 2 }, .size = 2, .reals = numbers }, right = left;
    right.rank = 2;
    right.dims[1] = 1;
    assert_int_equal(compare_tensors(3, &left, &right, message), CASE_FAILED);
    assert_string_equal(message, "output 3: shape (2) instead of (2, 1)");
    right = left;
    right.type = ONNX_FLOAT16;
    assert_int_equal(compare_tensors(3, &left, &right, message), CASE_FAILED);
    assert_string_equal(message, "output 3: type 1 instead of 10");
    assert_int_equal(compare_tensors(3, &(onnx_tensor){ .rank = 0 }, &right, message), CASE_FAILED);
    assert_string_equal(message, "output 3: the operator did not make it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_shape_and_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
