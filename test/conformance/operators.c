/* operators.c: the list of operators, and helpers for them. */
#include "operators.h"

#include <string.h>

#define OPERATOR_ENTRY(op_type, run) { op_type, run },
static const op_entry operators[] = { OPERATORS(OPERATOR_ENTRY) };
#undef OPERATOR_ENTRY

const op_entry *op_find(const onnx_model *model)
{
    if (model->domain[0] != '\0') return NULL; /* all supported operators are in ONNX's own domain */
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (strcmp(operators[i].op_type, model->op_type) == 0) return &operators[i];
    return NULL;
}

int op_fail(op_call *call, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(call->message, MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    return CASE_FAILED;
}

int op_skip(op_call *call, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(call->message, MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    return CASE_SKIPPED;
}

const onnx_tensor *op_input(const op_call *call, size_t i)
{
    return i < call->input_count ? call->inputs[i] : NULL;
}

bool op_has_output(const op_call *call, size_t i)
{
    return i < call->output_count && call->model->outputs.at[i][0] != '\0';
}

int op_output(op_call *call, size_t i, onnx_type type, int rank, const int64_t *dims)
{
    if (!op_has_output(call, i)) return CASE_OK;
    return onnx_tensor_new(&call->outputs[i], type, rank, dims, call->message);
}

int op_attributes_known(op_call *call, const char *const *names)
{
    for (size_t i = 0; i < call->model->attribute_count; i++) {
        const char *name = call->model->attributes[i].name;
        const char *const *known = names;
        while (*known != NULL && strcmp(*known, name) != 0) known++;
        if (*known == NULL) return op_skip(call, "attribute %s is not implemented", name);
    }
    return CASE_OK;
}

int op_attribute_int(op_call *call, const char *name, int64_t fallback, int64_t *out)
{
    const onnx_attribute *a = onnx_model_attribute(call->model, name);
    *out = fallback;
    if (a == NULL) return CASE_OK;
    if (a->type != ONNX_ATTRIBUTE_INT) return op_fail(call, "attribute %s is not an integer", name);
    *out = a->ints[0];
    return CASE_OK;
}

int op_attribute_float(op_call *call, const char *name, float fallback, float *out)
{
    const onnx_attribute *a = onnx_model_attribute(call->model, name);
    *out = fallback;
    if (a == NULL) return CASE_OK;
    if (a->type != ONNX_ATTRIBUTE_FLOAT) return op_fail(call, "attribute %s is not a number", name);
    *out = a->floats[0];
    return CASE_OK;
}

int op_attribute_string(op_call *call, const char *name, const char *fallback, const char **out)
{
    const onnx_attribute *a = onnx_model_attribute(call->model, name);
    *out = fallback;
    if (a == NULL) return CASE_OK;
    if (a->type != ONNX_ATTRIBUTE_STRING) return op_fail(call, "attribute %s is not a string", name);
    *out = a->strings[0];
    return CASE_OK;
}
