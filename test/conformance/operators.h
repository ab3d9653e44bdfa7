/* operators.h: the ONNX operators that this runner supports, and their interface.
 *
 * To add one: a file op_NAME.c with its run function, and a line in OPERATORS. */
#ifndef CONFORMANCE_OPERATORS_H
#define CONFORMANCE_OPERATORS_H

#include "message.h"
#include "onnx.h"

/* op_type, run function */
#define OPERATORS(X)                                                                                                   \
    X("RNN", op_rnn)                                                                                                   \
    X("GRU", op_gru)                                                                                                   \
    X("LSTM", op_lstm)                                                                                                 \
    X("Attention", op_attention)

/* One run of a node. */
typedef struct op_call {
    const onnx_model *model;    /* the node: attributes, names, opset */
    const onnx_tensor **inputs; /* one for each input of the node; NULL: omitted */
    size_t input_count;
    onnx_tensor *outputs; /* one for each output of the node; the operator makes them with op_output */
    size_t output_count;
    char *message;
} op_call;

/* Computes the outputs of the node and returns CASE_OK, or CASE_FAILED or CASE_SKIPPED with the reason. */
typedef int (*op_run)(op_call *call);

#define OPERATOR_DECLARE(op_type, run) int run(op_call *call);
OPERATORS(OPERATOR_DECLARE)
#undef OPERATOR_DECLARE

typedef struct op_entry {
    const char *op_type;
    op_run run;
} op_entry;

/* The operator of a model, or NULL. */
const op_entry *op_find(const onnx_model *model);

/* ---- helpers for operators ---- */

__attribute__((format(printf, 2, 3))) int op_fail(op_call *call, const char *format, ...);
__attribute__((format(printf, 2, 3))) int op_skip(op_call *call, const char *format, ...);

/* Input i of the node, or NULL if it is omitted. */
const onnx_tensor *op_input(const op_call *call, size_t i);
bool op_has_output(const op_call *call, size_t i);
/* Creates output i as zeros of this type and shape, unless the node omits it. */
int op_output(op_call *call, size_t i, onnx_type type, int rank, const int64_t *dims);

/* CASE_SKIPPED if the node has an attribute that is not among `names`, which end with NULL. */
int op_attributes_known(op_call *call, const char *const *names);
/* An attribute, or `fallback` where the node has none; one of another type is CASE_FAILED. */
int op_attribute_int(op_call *call, const char *name, int64_t fallback, int64_t *out);
int op_attribute_float(op_call *call, const char *name, float fallback, float *out);
int op_attribute_string(op_call *call, const char *name, const char *fallback, const char **out);

#endif
