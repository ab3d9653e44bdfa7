/* onnx.h: the part of ONNX that node cases use: a model with one node, and tensors.
 *
 * Purpose    Readers for model.onnx (ModelProto) and input_K.pb, output_K.pb (TensorProto), which do
 *            not trust the files: see protobuf.h.
 * Ownership  A model owns all it points to (onnx_model_free), a tensor its elements (onnx_tensor_free).
 * Failure    CASE_FAILED: malformed; the message names the file and the byte. CASE_SKIPPED: valid, but not
 *            supported; the message says what. In both cases there is nothing to free. */
#ifndef CONFORMANCE_ONNX_H
#define CONFORMANCE_ONNX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- models ---- */

enum { ONNX_LIST_LIMIT = 4096 }; /* entries of any list in a model; more are skipped */

typedef enum onnx_attribute_type {
    ONNX_ATTRIBUTE_OTHER = 0, /* a tensor, a graph, ...: present, but not read */
    ONNX_ATTRIBUTE_FLOAT = 1,
    ONNX_ATTRIBUTE_INT = 2,
    ONNX_ATTRIBUTE_STRING = 3,
    ONNX_ATTRIBUTE_FLOATS = 6,
    ONNX_ATTRIBUTE_INTS = 7,
    ONNX_ATTRIBUTE_STRINGS = 8
} onnx_attribute_type;

/* A single value is a list of one. */
typedef struct onnx_attribute {
    const char *name;
    onnx_attribute_type type;
    size_t count;         /* of the list that the type selects */
    float *floats;        /* FLOAT, FLOATS */
    int64_t *ints;        /* INT, INTS */
    const char **strings; /* STRING, STRINGS; none contains a zero byte */
} onnx_attribute;

typedef struct onnx_names {
    const char **at;
    size_t count;
} onnx_names;

typedef struct onnx_opset {
    const char *domain;
    int64_t version;
} onnx_opset;

typedef struct onnx_model {
    const char *op_type;
    const char *domain;         /* of the node; "" for ONNX's own, also if the file has "ai.onnx" */
    int64_t opset;              /* the version of that domain */
    onnx_names inputs, outputs; /* of the node; "" for an omitted optional one */
    onnx_attribute *attributes; /* names are distinct */
    size_t attribute_count;
    onnx_names graph_inputs;  /* input_K.pb is the K-th; distinct */
    onnx_names graph_outputs; /* output_K.pb is the K-th; distinct */
    onnx_opset *opsets;
    size_t opset_count;
    size_t node_count, initializer_count; /* 1 and 0 in every model that onnx_model_read accepts */
    void *blocks;                         /* owns the memory of all members */
} onnx_model;

/* `name` is the name of the file in messages. */
int onnx_model_parse(onnx_model *out, const char *name, const uint8_t *bytes, size_t size, char *message);
int onnx_model_read(onnx_model *out, const char *path, char *message);
void onnx_model_free(onnx_model *model);

const onnx_attribute *onnx_model_attribute(const onnx_model *model, const char *name); /* NULL: none */

/* ---- tensors ---- */

enum { ONNX_MAX_RANK = 8, ONNX_MAX_ELEMENTS = 1 << 26 };

typedef enum onnx_type {
    ONNX_FLOAT = 1,
    ONNX_UINT8 = 2,
    ONNX_INT8 = 3,
    ONNX_UINT16 = 4,
    ONNX_INT16 = 5,
    ONNX_INT32 = 6,
    ONNX_INT64 = 7,
    ONNX_BOOL = 9,
    ONNX_FLOAT16 = 10,
    ONNX_DOUBLE = 11,
    ONNX_UINT32 = 12,
    ONNX_UINT64 = 13,
    ONNX_BFLOAT16 = 16
} onnx_type;

/* Elements of floating-point types are stored as float, all others as int64_t. */
typedef struct onnx_tensor {
    onnx_type type;
    int rank;
    int64_t dims[ONNX_MAX_RANK];
    size_t size;       /* the product of dims; 1 for rank 0 */
    float *reals;      /* (size), or NULL */
    int64_t *integers; /* (size), or NULL; exactly one of the two is set */
} onnx_tensor;

int onnx_tensor_parse(onnx_tensor *out, const char *name, const uint8_t *bytes, size_t size, char *message);
int onnx_tensor_read(onnx_tensor *out, const char *path, char *message);
/* Creates a tensor of zeros. */
int onnx_tensor_new(onnx_tensor *out, onnx_type type, int rank, const int64_t *dims, char *message);
void onnx_tensor_free(onnx_tensor *t);

/* Writes "(2, 3, 4)", truncated to fit; returns `text`. */
const char *onnx_tensor_shape(const onnx_tensor *t, char *text, size_t capacity);

float onnx_half_to_float(uint16_t bits);

#endif
