/* encode.h: a minimal writer of protocol buffers, which makes valid and invalid input for tests of the reader. */
#ifndef CONFORMANCE_ENCODE_H
#define CONFORMANCE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

enum { ENCODE_ROOM = 16384 };

typedef struct encoder {
    uint8_t bytes[ENCODE_ROOM]; /* the test fails if this is exceeded */
    size_t size;
} encoder;

void encode_raw(encoder *e, const void *bytes, size_t size);
void encode_varint(encoder *e, uint64_t value);
void encode_tag(encoder *e, uint32_t field, unsigned wire);

void encode_int(encoder *e, uint32_t field, int64_t value);
void encode_float(encoder *e, uint32_t field, float value);
void encode_bytes(encoder *e, uint32_t field, const void *bytes, size_t size);
void encode_string(encoder *e, uint32_t field, const char *text);
void encode_message(encoder *e, uint32_t field, const encoder *inner);

/* ---- the messages of ONNX ---- */

void encode_attribute_int(encoder *node, const char *name, int64_t value);
void encode_attribute_float(encoder *node, const char *name, float value);
void encode_attribute_string(encoder *node, const char *name, const char *value);
void encode_attribute_ints(encoder *node, const char *name, size_t count, const int64_t *values);
void encode_attribute_floats(encoder *node, const char *name, size_t count, const float *values);
void encode_attribute_strings(encoder *node, const char *name, size_t count, const char *const *values);

/* A model with one node; the lists of graph inputs and outputs end with NULL. */
void encode_model(encoder *out, const encoder *node, const char *const *inputs, const char *const *outputs);

/* A tensor with raw_data. */
void encode_tensor(encoder *out, int64_t type, int rank, const int64_t *dims, const void *raw, size_t raw_size);

#endif
