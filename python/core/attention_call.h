/* attention_call.h: the arguments of attend.Attention, read into the structs of the library. */
#ifndef ATTEND_PYTHON_ATTENTION_CALL_H
#define ATTEND_PYTHON_ATTENTION_CALL_H

#include "core.h"

#include <attend/attention.h>

/* The inputs that have a gradient, in the order of attend_array_gradients, and the mask. */
enum { INPUT_QUERY, INPUT_KEY, INPUT_VALUE, INPUT_BIAS, INPUT_POSITION, INPUT_PREVIOUS, INPUT_MASK, INPUTS };

typedef struct attention_call {
    attend_attention_options options;
    attend_arrays arrays;
    core_input inputs[INPUTS];
    core_input parameters[ATTEND_SCORE_PARAMETERS];
    const attend_real *parameter_data[ATTEND_SCORE_PARAMETERS];
    int parameter_count;
    int *lengths[2]; /* of queries and keys; NULL: all */
    double *advantage;
    int threads, context_rank;
    Py_ssize_t context_shape[CORE_MAX_RANK];
    bool wants_weights, wants_scores;
} attention_call;

extern const char attention_call_doc[];
/* False: an exception is set. attention_call_free is needed in both cases. */
bool attention_call_read(attention_call *c, PyObject *arguments, PyObject *keywords);
void attention_call_free(attention_call *c);

#endif
