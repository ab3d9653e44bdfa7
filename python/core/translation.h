/* translation.h: translations as Python objects, for the files that translate. */
#ifndef ATTEND_PYTHON_TRANSLATION_H
#define ATTEND_PYTHON_TRANSLATION_H

#include "model.h"

typedef enum attention_request { ATTENTION_NONE, ATTENTION_ALIGNMENT, ATTENTION_ALL } attention_request;

/* What the results of a call have. */
typedef struct translation_request {
    model_object *m;
    bool alignment;
    attention_request attention;
    attend_ctx *context; /* of ATTENTION_ALL */
} translation_request;

/* The translations of a line as a Translation; `line` is its text. */
PyObject *translation_of(const translation_request *q, const attend_tokenizer *source, const attend_tokenizer *target,
                         const char *line, const attend_line_result *r);

/* Reads return_attention: True, False or 'all'. */
bool translation_read_attention(translation_request *q, PyObject *from);

/* The options of a translator that a model's calls begin with. Padding is zero, so that they can be compared. */
void translation_options_init(attend_translator_options *o, const model_object *m);
/* length_extra, unless it is None. */
bool translation_read_extra(attend_search_options *o, PyObject *from);

#endif
