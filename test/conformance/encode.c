/* encode.c: writes protocol buffers. */
#include "encode.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

void encode_raw(encoder *e, const void *bytes, size_t size)
{
    assert_true(size <= sizeof e->bytes - e->size);
    if (size > 0) memcpy(e->bytes + e->size, bytes, size);
    e->size += size;
}

void encode_varint(encoder *e, uint64_t value)
{
    do {
        uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        encode_raw(e, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

void encode_tag(encoder *e, uint32_t field, unsigned wire)
{
    encode_varint(e, (uint64_t)field << 3 | wire);
}

void encode_int(encoder *e, uint32_t field, int64_t value)
{
    encode_tag(e, field, 0);
    encode_varint(e, (uint64_t)value);
}

void encode_float(encoder *e, uint32_t field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    encode_tag(e, field, 5);
    for (int i = 0; i < 4; i++) encode_raw(e, &(uint8_t){ (uint8_t)(bits >> (8 * i)) }, 1);
}

void encode_bytes(encoder *e, uint32_t field, const void *bytes, size_t size)
{
    encode_tag(e, field, 2);
    encode_varint(e, size);
    encode_raw(e, bytes, size);
}

void encode_string(encoder *e, uint32_t field, const char *text)
{
    encode_bytes(e, field, text, strlen(text));
}

void encode_message(encoder *e, uint32_t field, const encoder *inner)
{
    encode_bytes(e, field, inner->bytes, inner->size);
}

/* ---- the messages of ONNX ---- */

void encode_attribute_int(encoder *node, const char *name, int64_t value)
{
    encoder a = { .size = 0 };
    encode_string(&a, 1, name);
    encode_int(&a, 3, value);
    encode_int(&a, 20, 2);
    encode_message(node, 5, &a);
}

void encode_attribute_float(encoder *node, const char *name, float value)
{
    encoder a = { .size = 0 };
    encode_string(&a, 1, name);
    encode_float(&a, 2, value);
    encode_int(&a, 20, 1);
    encode_message(node, 5, &a);
}

void encode_attribute_string(encoder *node, const char *name, const char *value)
{
    encoder a = { .size = 0 };
    encode_string(&a, 1, name);
    encode_string(&a, 4, value);
    encode_int(&a, 20, 3);
    encode_message(node, 5, &a);
}

void encode_attribute_ints(encoder *node, const char *name, size_t count, const int64_t *values)
{
    encoder a = { .size = 0 };
    encode_string(&a, 1, name);
    for (size_t i = 0; i < count; i++) encode_int(&a, 8, values[i]);
    encode_int(&a, 20, 7);
    encode_message(node, 5, &a);
}

void encode_attribute_floats(encoder *node, const char *name, size_t count, const float *values)
{
    encoder a = { .size = 0 };
    encode_string(&a, 1, name);
    for (size_t i = 0; i < count; i++) encode_float(&a, 7, values[i]);
    encode_int(&a, 20, 6);
    encode_message(node, 5, &a);
}

void encode_attribute_strings(encoder *node, const char *name, size_t count, const char *const *values)
{
    encoder a = { .size = 0 };
    encode_string(&a, 1, name);
    for (size_t i = 0; i < count; i++) encode_string(&a, 9, values[i]);
    encode_int(&a, 20, 8);
    encode_message(node, 5, &a);
}

static void encode_value(encoder *graph, uint32_t field, const char *name)
{
    encoder value = { .size = 0 };
    encode_string(&value, 1, name);
    encode_message(graph, field, &value);
}

void encode_model(encoder *out, const encoder *node, const char *const *inputs, const char *const *outputs)
{
    encoder graph = { .size = 0 }, opset = { .size = 0 };
    encode_message(&graph, 1, node);
    encode_string(&graph, 2, "graph");
    for (; *inputs != NULL; inputs++) encode_value(&graph, 11, *inputs);
    for (; *outputs != NULL; outputs++) encode_value(&graph, 12, *outputs);
    encode_string(&opset, 1, "");
    encode_int(&opset, 2, 22);
    out->size = 0;
    encode_int(out, 1, 10);
    encode_message(out, 7, &graph);
    encode_message(out, 8, &opset);
}

void encode_tensor(encoder *out, int64_t type, int rank, const int64_t *dims, const void *raw, size_t raw_size)
{
    out->size = 0;
    for (int i = 0; i < rank; i++) encode_int(out, 1, dims[i]);
    encode_int(out, 2, type);
    encode_string(out, 8, "tensor");
    encode_bytes(out, 9, raw, raw_size);
}
