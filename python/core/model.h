/* model.h: the object of attend.Model, for the files that run a model. */
#ifndef ATTEND_PYTHON_MODEL_H
#define ATTEND_PYTHON_MODEL_H

#include "interrupt.h"

#include <attend/batcher.h>
#include <attend/model.h>
#include <attend/scorer.h>
#include <attend/translator.h>

/* A translator that no call uses at the moment. Translators and scorers have threads and memory of their own, which are
 * worth keeping for the next call with the same options. Threads that call at the same time use one each. */
enum { MODEL_IDLE = 4 };
typedef struct idle_translator {
    attend_translator *translator; /* NULL: none */
    core_interrupt *interrupt;     /* which the translator asks; freed with it */
    attend_translator_options options;
    unsigned generation; /* core_generation */
} idle_translator;
typedef struct idle_scorer {
    attend_scorer *scorer;
    bool weights;
    unsigned generation;
} idle_scorer;

typedef struct model_object {
    PyObject_HEAD attend_model **models; /* (count): an ensemble if there are several */
    int count;
    PyObject *paths; /* a tuple of str */
    int threads;
    attend_compute_precision compute;
    size_t memory;
    idle_translator translators[MODEL_IDLE];
    idle_scorer scorers[MODEL_IDLE];
    PyObject *tokenizers[2]; /* of source and target, once they were asked for */
    /* of submit, from its first call on (batching.c) */
    attend_batcher *batcher;
    attend_batcher_model *batcher_model;
    unsigned batcher_generation;
    struct model_object *next; /* in the list of models with a batcher */
} model_object;

extern PyTypeObject *core_model_type;

bool model_is_language_model(const model_object *m);
/* The only model. An exception if there are several: `what` needs a single one. */
const attend_model *model_single(const model_object *m, const char *what);

/* An exception, and false, if nothing was computed (`done` lines or pairs) and for `non_finite` the probabilities are not
 * finite: the fault is the model's. */
bool model_check_finite(const model_object *m, unsigned long long done, unsigned long long non_finite);

/* A context with the model's threads and precision, freed by attend_ctx_free; NULL: *status says why. */
attend_ctx *model_context(const model_object *m, int *status);

/* Frees the models and the batcher. The models go last: batchers, translators and scorers borrow them. */
void model_batcher_free(model_object *m, attend_model **models, int count);

/* Frees a translator and its interrupt. */
void model_translator_free(idle_translator *t);

/* attend_tokenizer as a Python object; takes it over. */
PyObject *core_tokenizer_wrap(attend_tokenizer *t);

/* The methods of attend.Model that are defined in other files, with their documentation. */
PyObject *model_translate(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *model_sample(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *model_submit(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *model_score(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *model_align(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *model_map(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *model_decode(PyObject *self, PyObject *arguments);
extern const char model_translate_doc[], model_sample_doc[], model_submit_doc[], model_score_doc[], model_align_doc[],
    model_map_doc[], model_decode_doc[];

#endif
