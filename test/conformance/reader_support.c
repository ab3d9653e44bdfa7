/* reader_support.c: reads files and checks all results; makes valid files as a basis for mutations. */
#include "reader_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char message[MESSAGE_SIZE];

static uint8_t *exact_copy(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size);
    assert_true(copy != NULL || size == 0);
    if (size > 0) memcpy(copy, bytes, size);
    return copy;
}

/* A failure names the byte (0 for an empty file); a skip has a message. */
static void check_message(int status)
{
    unsigned long at;
    if (status == CASE_OK) return;
    assert_true(status == CASE_FAILED || status == CASE_SKIPPED);
    assert_true(strlen(message) > 10);
    if (status == CASE_FAILED) assert_int_equal(sscanf(message, "test: byte %lu: ", &at), 1);
}

static size_t names_length(const onnx_names *names)
{
    size_t sum = 0;
    for (size_t i = 0; i < names->count; i++) sum += strlen(names->at[i]);
    return sum;
}

static void walk_model(const onnx_model *m)
{
    assert_true(strlen(m->op_type) > 0);
    assert_true(m->opset > 0);
    size_t sum = strlen(m->domain) + names_length(&m->inputs) + names_length(&m->outputs);
    sum += names_length(&m->graph_inputs) + names_length(&m->graph_outputs);
    for (size_t i = 0; i < m->attribute_count; i++) {
        const onnx_attribute *a = &m->attributes[i];
        assert_ptr_equal(onnx_model_attribute(m, a->name), a);
        for (size_t k = 0; k < a->count; k++) {
            if (a->type == ONNX_ATTRIBUTE_INT || a->type == ONNX_ATTRIBUTE_INTS) sum += (size_t)(a->ints[k] & 1);
            if (a->type == ONNX_ATTRIBUTE_FLOAT || a->type == ONNX_ATTRIBUTE_FLOATS) sum += a->floats[k] > 0;
            if (a->type == ONNX_ATTRIBUTE_STRING || a->type == ONNX_ATTRIBUTE_STRINGS) sum += strlen(a->strings[k]);
        }
    }
    assert_true(sum < SIZE_MAX); /* uses the sum, so that all bytes are read */
}

static void walk_tensor(const onnx_tensor *t)
{
    size_t product = 1, sum = 0;
    assert_in_range(t->rank, 0, ONNX_MAX_RANK);
    for (int i = 0; i < t->rank; i++) product *= (size_t)t->dims[i];
    assert_int_equal(product, t->size);
    assert_true((t->reals == NULL) != (t->integers == NULL));
    for (size_t i = 0; i < t->size; i++) sum += t->reals != NULL ? t->reals[i] > 0 : t->integers[i] > 0;
    assert_true(sum <= t->size);
}

int try_model(const uint8_t *bytes, size_t size)
{
    onnx_model m;
    uint8_t *copy = exact_copy(bytes, size);
    int status = onnx_model_parse(&m, "test", copy, size, message);
    free(copy);
    check_message(status);
    if (status == CASE_OK) walk_model(&m);
    if (status == CASE_OK) onnx_model_free(&m);
    return status;
}

int try_tensor(const uint8_t *bytes, size_t size)
{
    onnx_tensor t;
    uint8_t *copy = exact_copy(bytes, size);
    int status = onnx_tensor_parse(&t, "test", copy, size, message);
    free(copy);
    check_message(status);
    if (status == CASE_OK) walk_tensor(&t);
    if (status == CASE_OK) onnx_tensor_free(&t);
    return status;
}

void expect_model(const encoder *e, int status, const char *words)
{
    message[0] = '\0';
    assert_int_equal(try_model(e->bytes, e->size), status);
    if (strstr(message, words) == NULL) fail_msg("'%s' is not in '%s'", words, message);
}

void expect_tensor(const encoder *e, int status, const char *words)
{
    message[0] = '\0';
    assert_int_equal(try_tensor(e->bytes, e->size), status);
    if (strstr(message, words) == NULL) fail_msg("'%s' is not in '%s'", words, message);
}

/* ---- valid files ---- */

const char *const sample_inputs[] = { "X", "W", NULL };
const char *const sample_outputs[] = { "Y", NULL };

static encoder sample_node(void)
{
    encoder node = { .size = 0 };
    encode_string(&node, 1, "W");
    encode_string(&node, 1, "");
    encode_string(&node, 1, "X");
    encode_string(&node, 2, "");
    encode_string(&node, 2, "Y");
    encode_string(&node, 4, "Thing");
    encode_attribute_int(&node, "size", -5);
    encode_attribute_float(&node, "scale", 0.5f);
    encode_attribute_string(&node, "mode", "slow");
    encode_attribute_ints(&node, "axes", 3, (int64_t[]){ 1, INT64_MIN, INT64_MAX });
    encode_attribute_floats(&node, "slopes", 2, (float[]){ 1.5f, -2 });
    encode_attribute_strings(&node, "words", 2, (const char *[]){ "a", "" });
    return node;
}

encoder sample_model(void)
{
    encoder node = sample_node(), model;
    encode_model(&model, &node, sample_inputs, sample_outputs);
    return model;
}

encoder sample_tensor(bool raw)
{
    encoder e = { .size = 0 };
    encode_tensor(&e, ONNX_FLOAT, 3, (int64_t[]){ 2, 1, 3 }, "abcdefghijklmnopqrstuvwx", 24);
    if (raw) return e;
    e.size = 0;
    encode_int(&e, 1, 2);
    encode_int(&e, 1, 2);
    encode_int(&e, 2, ONNX_INT32);
    encode_bytes(&e, 5, "\x01\xff\x01\x80\x01", 5);
    encode_int(&e, 5, -7);
    return e;
}
