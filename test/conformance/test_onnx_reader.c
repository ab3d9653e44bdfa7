/* test_onnx_reader.c: the reader of ONNX files accepts valid files and refuses others with reason and position. */
#include "reader_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

/* ---- valid files ---- */

static void test_model(void **state)
{
    (void)state;
    encoder e = sample_model();
    onnx_model m;
    assert_int_equal(onnx_model_parse(&m, "test", e.bytes, e.size, message), CASE_OK);
    assert_string_equal(m.op_type, "Thing");
    assert_string_equal(m.domain, "");
    assert_int_equal(m.opset, 22);
    assert_int_equal(m.inputs.count, 3);
    assert_string_equal(m.inputs.at[0], "W");
    assert_string_equal(m.inputs.at[1], "");
    assert_string_equal(m.outputs.at[1], "Y");
    assert_string_equal(m.graph_inputs.at[0], "X");
    assert_int_equal(m.graph_outputs.count, 1);
    assert_int_equal(m.attribute_count, 6);
    assert_int_equal(onnx_model_attribute(&m, "size")->ints[0], -5);
    assert_true(onnx_model_attribute(&m, "scale")->floats[0] == 0.5f);
    assert_string_equal(onnx_model_attribute(&m, "mode")->strings[0], "slow");
    assert_int_equal(onnx_model_attribute(&m, "axes")->count, 3);
    assert_true(onnx_model_attribute(&m, "axes")->ints[1] == INT64_MIN);
    assert_true(onnx_model_attribute(&m, "slopes")->floats[1] == -2);
    assert_string_equal(onnx_model_attribute(&m, "words")->strings[1], "");
    assert_null(onnx_model_attribute(&m, "none"));
    onnx_model_free(&m);
}

/* Packed numbers, an omitted value, a tensor as attribute, unknown fields, a custom domain. */
static void test_model_variants(void **state)
{
    (void)state;
    encoder node = { .size = 0 }, packed = { .size = 0 }, empty = { .size = 0 }, other = { .size = 0 }, e;
    encode_string(&packed, 1, "axes");
    encode_bytes(&packed, 8, "\x01\x02\xac\x02", 4);
    encode_int(&packed, 20, 7);
    encode_string(&empty, 1, "zero");
    encode_int(&empty, 20, 2);
    encode_string(&other, 1, "tensor");
    encode_bytes(&other, 5, "anything", 8);
    encode_int(&other, 20, 4);
    encode_string(&node, 4, "Thing");
    encode_string(&node, 7, "ai.onnx");
    encode_int(&node, 1000, 7);
    encode_message(&node, 5, &packed);
    encode_message(&node, 5, &empty);
    encode_message(&node, 5, &other);
    encode_model(&e, &node, sample_inputs, sample_outputs);
    encode_float(&e, 536870911, 1); /* the largest field number */
    onnx_model m;
    assert_int_equal(onnx_model_parse(&m, "test", e.bytes, e.size, message), CASE_OK);
    assert_string_equal(m.domain, "");
    assert_int_equal(onnx_model_attribute(&m, "axes")->count, 3);
    assert_int_equal(onnx_model_attribute(&m, "axes")->ints[2], 300);
    assert_int_equal(onnx_model_attribute(&m, "zero")->ints[0], 0);
    assert_int_equal(onnx_model_attribute(&m, "tensor")->type, ONNX_ATTRIBUTE_OTHER);
    onnx_model_free(&m);
}

typedef struct typed_case {
    onnx_type type;
    const char *raw; /* two elements */
    size_t raw_size;
    double first, second;
    uint32_t field; /* the field that may contain them instead */
    const char *packed;
    size_t packed_size;
} typed_case;

#define BYTES(text) text, sizeof text - 1
static const typed_case typed_cases[] = {
    { ONNX_FLOAT, BYTES("\0\0\xc0\x3f\0\0\0\xc0"), 1.5, -2, 4, BYTES("\0\0\xc0\x3f\0\0\0\xc0") },
    { ONNX_UINT8, BYTES("\x01\xff"), 1, 255, 5, BYTES("\x01\xff\x01") },
    { ONNX_INT8, BYTES("\x01\xff"), 1, -1, 5, BYTES("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
    { ONNX_UINT16, BYTES("\x01\0\xff\xff"), 1, 65535, 5, BYTES("\x01\xff\xff\x03") },
    { ONNX_INT16, BYTES("\x01\0\xfe\xff"), 1, -2, 5, BYTES("\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
    { ONNX_INT32, BYTES("\x05\0\0\0\xfd\xff\xff\xff"), 5, -3, 5,
      BYTES("\x05\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
    { ONNX_INT64, BYTES("\x05\0\0\0\0\0\0\0\xfc\xff\xff\xff\xff\xff\xff\xff"), 5, -4, 7,
      BYTES("\x05\xfc\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
    { ONNX_BOOL, BYTES("\0\x01"), 0, 1, 5, BYTES("\0\x01") },
    { ONNX_FLOAT16, BYTES("\0\x3c\0\xc0"), 1, -2, 5, BYTES("\x80\x78\x80\x80\x03") },
    { ONNX_DOUBLE, BYTES("\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\0\xc0"), 1.5, -2, 10,
      BYTES("\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\0\xc0") },
    { ONNX_UINT32, BYTES("\x01\0\0\0\xff\xff\xff\xff"), 1, 4294967295.0, 11, BYTES("\x01\xff\xff\xff\xff\x0f") },
    { ONNX_UINT64, BYTES("\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"), 1, 2, 11, BYTES("\x01\x02") },
    { ONNX_BFLOAT16, BYTES("\x80\x3f\0\xc0"), 1, -2, 5, BYTES("\x80\x7f\x80\x80\x03") },
};

static void expect_two(const encoder *e, double first, double second)
{
    onnx_tensor t;
    int status = onnx_tensor_parse(&t, "test", e->bytes, e->size, message);
    if (status != CASE_OK) fail_msg("%s", message);
    assert_int_equal(t.size, 2);
    double a = t.reals != NULL ? (double)t.reals[0] : (double)t.integers[0];
    double b = t.reals != NULL ? (double)t.reals[1] : (double)t.integers[1];
    assert_true(a == first);
    assert_true(b == second);
    onnx_tensor_free(&t);
}

static void test_tensor_types(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof typed_cases / sizeof typed_cases[0]; i++) {
        const typed_case *c = &typed_cases[i];
        encoder e;
        encode_tensor(&e, c->type, 1, (int64_t[]){ 2 }, c->raw, c->raw_size);
        expect_two(&e, c->first, c->second);
        e.size = 0; /* the elements before the type and the packed shape */
        encode_bytes(&e, c->field, c->packed, c->packed_size);
        encode_int(&e, 2, c->type);
        encode_bytes(&e, 1, "\x02\x01", 2);
        expect_two(&e, c->first, c->second);
    }
}

static void test_tensor_shapes(void **state)
{
    (void)state;
    encoder e;
    onnx_tensor t;
    char text[64], little[6];
    encode_tensor(&e, ONNX_INT64, 0, NULL, "\x07\0\0\0\0\0\0\0", 8); /* rank 0: one element */
    assert_int_equal(onnx_tensor_parse(&t, "test", e.bytes, e.size, message), CASE_OK);
    assert_int_equal(t.size, 1);
    assert_int_equal(t.integers[0], 7);
    assert_string_equal(onnx_tensor_shape(&t, text, sizeof text), "()");
    onnx_tensor_free(&t);
    encode_tensor(&e, ONNX_FLOAT, 3, (int64_t[]){ 2, 0, 3 }, "", 0); /* no elements */
    assert_int_equal(onnx_tensor_parse(&t, "test", e.bytes, e.size, message), CASE_OK);
    assert_int_equal(t.size, 0);
    assert_string_equal(onnx_tensor_shape(&t, text, sizeof text), "(2, 0, 3)");
    assert_string_equal(onnx_tensor_shape(&t, little, sizeof little), "(2, 0");
    onnx_tensor_free(&t);
}

static void test_half(void **state)
{
    (void)state;
    assert_true(onnx_half_to_float(0x0000) == 0);
    assert_true(signbit(onnx_half_to_float(0x8000)));
    assert_true(onnx_half_to_float(0x0001) == 0x1p-24f);
    assert_true(onnx_half_to_float(0x03ff) == 1023 * 0x1p-24f);
    assert_true(onnx_half_to_float(0x0400) == 0x1p-14f);
    assert_true(onnx_half_to_float(0x3555) == 1365 * 0x1p-12f);
    assert_true(onnx_half_to_float(0x7bff) == 65504);
    assert_true(onnx_half_to_float(0xfc00) == -INFINITY);
    assert_true(isnan(onnx_half_to_float(0x7e00)));
}

/* ---- invalid files ---- */

typedef struct wire_case {
    const char *bytes;
    size_t size;
    const char *words;
} wire_case;

static const wire_case wire_cases[] = {
    { BYTES("\x08"), "byte 1: a number is cut off after 0 bytes" },
    { BYTES("\x08\x80\x80"), "byte 1: a number is cut off after 2 bytes" },
    { BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), "byte 1: a number does not fit 64 bits" },
    { BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "byte 1: a number does not fit 64 bits" },
    { BYTES("\x08\x01\x02\x01"), "byte 2: field number 0 is not allowed" },
    { BYTES("\x80\x80\x80\x80\x10\x01"), "byte 0: a tag of 4294967296 does not fit 32 bits" },
    { BYTES("\x3a\x06graph"), "byte 1: field 7 of 6 bytes runs past the end, 5 bytes away" },
    { BYTES("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "byte 1: field 7 of 18446744073709551615 bytes" },
    { BYTES("\x0b\x0c"), "byte 0: field 1 is a group" },
    { BYTES("\x0c"), "byte 0: field 1 is a group" },
    { BYTES("\x0e\x01"), "byte 0: field 1 has wire type 6" },
    { BYTES("\x0f\x01"), "byte 0: field 1 has wire type 7" },
    { BYTES("\x0d\x01\x02\x03"), "byte 1: a number of 4 bytes is cut off after 3" },
    { BYTES("\x09\x01\x02\x03\x04\x05\x06\x07"), "byte 1: a number of 8 bytes is cut off after 7" },
    { BYTES(""), "byte 0: " },
};

static void test_wire_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wire_cases / sizeof wire_cases[0]; i++) {
        encoder e = { .size = 0 };
        encode_raw(&e, wire_cases[i].bytes, wire_cases[i].size);
        expect_model(&e, CASE_FAILED, wire_cases[i].words);
        assert_int_equal(try_tensor(e.bytes, e.size), CASE_FAILED);
    }
}

static encoder node_of(const char *op_type)
{
    encoder node = { .size = 0 };
    encode_string(&node, 4, op_type);
    return node;
}

static void expect_node(const encoder *node, const char *words)
{
    encoder e;
    encode_model(&e, node, sample_inputs, sample_outputs);
    expect_model(&e, CASE_FAILED, words);
}

static void test_node_refusals(void **state)
{
    (void)state;
    encoder node = node_of("Thing");
    encode_string(&node, 4, "Other");
    expect_node(&node, "op_type comes twice");
    node = node_of("");
    expect_node(&node, "a node has no op_type");
    node.size = 0;
    encode_int(&node, 4, 3);
    expect_node(&node, "op_type has wire type 0 instead of 2");
    node.size = 0;
    encode_bytes(&node, 4, "Th\0ing", 6);
    expect_node(&node, "op_type has a zero byte within");
    node = node_of("Thing");
    encode_attribute_int(&node, "size", 1);
    encode_attribute_int(&node, "size", 2);
    expect_node(&node, "attribute 'size' comes twice");
    node = node_of("Thing");
    encode_attribute_int(&node, "", 1);
    expect_node(&node, "an attribute has no name");
    encoder e;
    node = node_of("Thing");
    encode_model(&e, &node, (const char *[]){ "X", "X", NULL }, sample_outputs);
    expect_model(&e, CASE_FAILED, "two graph inputs or outputs are named 'X'");
    encode_model(&e, &node, (const char *[]){ "", NULL }, sample_outputs);
    expect_model(&e, CASE_FAILED, "has no name");
}

/* An attribute "a" with the fields of `inner`. */
static void expect_attribute(encoder *inner, const char *words)
{
    encoder node = node_of("Thing");
    encode_string(inner, 1, "a");
    encode_message(&node, 5, inner);
    expect_node(&node, words);
    inner->size = 0;
}

static void test_attribute_refusals(void **state)
{
    (void)state;
    encoder a = { .size = 0 };
    encode_int(&a, 3, 5);
    expect_attribute(&a, "attribute 'a' has no type");
    encode_int(&a, 3, 5);
    encode_int(&a, 20, 1);
    expect_attribute(&a, "attribute 'a' is of type 1 but has a value in field 3");
    encode_int(&a, 3, 5);
    encode_int(&a, 3, 6);
    expect_attribute(&a, "field 3 of an attribute comes twice");
    encode_int(&a, 3, 5);
    encode_float(&a, 2, 6);
    expect_attribute(&a, "an attribute has both field 3 and field 2");
    encode_int(&a, 20, 2);
    encode_int(&a, 20, 2);
    expect_attribute(&a, "the type of an attribute comes twice");
    encode_bytes(&a, 3, "\x05", 1);
    expect_attribute(&a, "an integer attribute has wire type 2 instead of 0");
    encode_bytes(&a, 7, "\0\0\0\0\0", 5);
    expect_attribute(&a, "a number of 4 bytes is cut off after 1");
    encode_float(&a, 8, 1);
    expect_attribute(&a, "an integer attribute has wire type 5 instead of 0");
}

static void test_model_refusals(void **state)
{
    (void)state;
    encoder e = { .size = 0 }, opset = { .size = 0 }, node = node_of("Thing"), graph = { .size = 0 };
    encode_int(&e, 1, 10);
    expect_model(&e, CASE_FAILED, "byte 2: the model ends without a node");
    encode_message(&graph, 1, &node);
    encode_message(&e, 7, &graph);
    expect_model(&e, CASE_FAILED, "without an opset for the domain ''");
    encode_int(&opset, 2, 22);
    encode_message(&e, 8, &opset);
    expect_model(&e, CASE_OK, "");
    encode_message(&e, 8, &opset);
    expect_model(&e, CASE_FAILED, "opset '' comes twice");
    e = sample_model();
    encode_message(&e, 7, &graph);
    expect_model(&e, CASE_FAILED, "the graph comes twice");
    e = sample_model();
    opset.size = 0;
    encode_string(&opset, 1, "other");
    encode_message(&e, 8, &opset);
    expect_model(&e, CASE_FAILED, "opset 'other' has version 0");
}

static void test_model_skips(void **state)
{
    (void)state;
    encoder e = { .size = 0 }, node = node_of("Thing"), graph = { .size = 0 };
    encode_message(&graph, 1, &node);
    encode_message(&graph, 1, &node);
    encode_message(&e, 7, &graph);
    expect_model(&e, CASE_SKIPPED, "the graph has 2 nodes, not one");
    e.size = graph.size = 0;
    encode_message(&graph, 1, &node);
    encode_bytes(&graph, 5, "anything", 8);
    encode_message(&e, 7, &graph);
    expect_model(&e, CASE_SKIPPED, "the graph has 1 initializers");
    for (int i = 0; i <= ONNX_LIST_LIMIT; i++) encode_string(&node, 1, "");
    encode_model(&e, &node, sample_inputs, sample_outputs);
    expect_model(&e, CASE_SKIPPED, "a list of more than 4096 entries");
}

/* Tensors of one FLOAT with one error each. */
static void test_tensor_refusals(void **state)
{
    (void)state;
    static const char zeros[16];
    encoder e;
    encode_tensor(&e, 1, 2, (int64_t[]){ 1, -1 }, zeros, 4);
    expect_tensor(&e, CASE_FAILED, "byte 3: dimension 1 is -1");
    encode_tensor(&e, 1, 9, (int64_t[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1 }, zeros, 4);
    expect_tensor(&e, CASE_FAILED, "byte 17: a tensor of more than 8 dimensions");
    encode_tensor(&e, 1, 2, (int64_t[]){ INT64_C(1) << 32, INT64_C(1) << 32 }, zeros, 0);
    expect_tensor(&e, CASE_FAILED, "the shape has more than");
    encode_tensor(&e, 1, 3, (int64_t[]){ 1 << 25, 1 << 25, 1 << 25 }, zeros, 0);
    expect_tensor(&e, CASE_FAILED, "the shape has more than");
    encode_tensor(&e, 1, 2, (int64_t[]){ 4, INT64_C(1) << 62 }, zeros, 0);
    expect_tensor(&e, CASE_FAILED, "the shape has more than");
    encode_tensor(&e, 1, 2, (int64_t[]){ 0, INT64_MAX }, zeros, 0);
    expect_tensor(&e, CASE_FAILED, "the shape has more than");
    encode_tensor(&e, 1, 1, (int64_t[]){ 2 }, zeros, 7);
    expect_tensor(&e, CASE_FAILED, "raw_data of 7 bytes, but 2 elements of type FLOAT are 8 bytes");
    encode_tensor(&e, 1, 1, (int64_t[]){ 1 << 26 }, zeros, 4);
    expect_tensor(&e, CASE_FAILED, "raw_data of 4 bytes");
    encode_tensor(&e, 0, 1, (int64_t[]){ 1 }, zeros, 4);
    expect_tensor(&e, CASE_FAILED, "the tensor has data_type 0");
    encode_tensor(&e, -1, 1, (int64_t[]){ 1 }, zeros, 4);
    expect_tensor(&e, CASE_FAILED, "the tensor has data_type -1");
    encode_tensor(&e, ONNX_BOOL, 1, (int64_t[]){ 3 }, "\0\x01\x02", 3);
    expect_tensor(&e, CASE_FAILED, "element 2, 2, is out of the range of BOOL");
    encode_tensor(&e, ONNX_UINT64, 1, (int64_t[]){ 1 }, "\0\0\0\0\0\0\0\x80", 8);
    expect_tensor(&e, CASE_FAILED, "is out of the range of UINT64");
    encode_tensor(&e, ONNX_FLOAT, 1, (int64_t[]){ 1 }, zeros, 4);
    encode_int(&e, 2, 1);
    expect_tensor(&e, CASE_FAILED, "field 2 of a tensor comes twice");
    encode_tensor(&e, ONNX_FLOAT, 1, (int64_t[]){ 1 }, zeros, 4);
    encode_bytes(&e, 9, zeros, 4);
    expect_tensor(&e, CASE_FAILED, "field 9 of a tensor comes twice");
    encode_tensor(&e, ONNX_FLOAT, 1, (int64_t[]){ 1 }, zeros, 4);
    encode_float(&e, 4, 1);
    expect_tensor(&e, CASE_FAILED, "numbers both in field 9 and in field 4");
}

/* Numbers in typed fields. */
static void test_tensor_field_refusals(void **state)
{
    (void)state;
    encoder e = { .size = 0 };
    encode_int(&e, 1, 2);
    encode_int(&e, 2, ONNX_FLOAT);
    expect_tensor(&e, CASE_FAILED, "0 numbers, but the shape has 2");
    encode_float(&e, 4, 1);
    expect_tensor(&e, CASE_FAILED, "1 numbers, but the shape has 2");
    encode_float(&e, 4, 1);
    expect_tensor(&e, CASE_OK, "");
    encode_float(&e, 4, 1);
    expect_tensor(&e, CASE_FAILED, "3 numbers, but the shape has 2");
    e.size = 0;
    encode_int(&e, 1, 1);
    encode_int(&e, 2, ONNX_FLOAT);
    encode_int(&e, 5, 1);
    expect_tensor(&e, CASE_FAILED, "numbers of type FLOAT in field 5");
    e.size = 0;
    encode_int(&e, 2, ONNX_INT8);
    encode_int(&e, 5, 128);
    expect_tensor(&e, CASE_FAILED, "byte 3: element 0, 128, is out of the range of INT8");
    e.size = 0;
    encode_int(&e, 2, ONNX_INT32);
    encode_int(&e, 5, INT64_C(1) << 31);
    expect_tensor(&e, CASE_FAILED, "is out of the range of INT32");
    e.size = 0;
    encode_int(&e, 2, 8);
    expect_tensor(&e, CASE_SKIPPED, "data_type 8 is not read");
    e.size = 0;
    encode_int(&e, 2, 1);
    encode_int(&e, 14, 1);
    expect_tensor(&e, CASE_SKIPPED, "in another file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_model_variants),
        cmocka_unit_test(test_tensor_types),
        cmocka_unit_test(test_tensor_shapes),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_wire_refusals),
        cmocka_unit_test(test_node_refusals),
        cmocka_unit_test(test_attribute_refusals),
        cmocka_unit_test(test_model_refusals),
        cmocka_unit_test(test_model_skips),
        cmocka_unit_test(test_tensor_refusals),
        cmocka_unit_test(test_tensor_field_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
