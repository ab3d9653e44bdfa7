/* translation_result.c: the records Translation and Hypothesis. */
#include "translation.h"

#include <attend/view.h>
#include <string.h>

static PyTypeObject *hypothesis_type, *translation_type;

static const char *const hypothesis_fields[] = {
    "text",
    "the translation",
    "score",
    "what the search sorts by",
    "log_probability",
    "of the text, its end included",
    "confidence",
    "geometric mean of the probabilities of the tokens, 0 to 1",
    "tokens",
    "the tokens as text, a list; '</s>' is the end",
    "ids",
    "the tokens as numbers, a list, without the end",
    "alignment",
    "links between words, a list of (source, target); None: not requested, no attention, or a fault",
    "attention",
    "an Array of the weights: (tokens, source tokens), or (layers, heads, tokens, source tokens) with "
    "return_attention='all'; None: not requested, no attention, or a fault",
    NULL,
};

static const char *const translation_fields[] = {
    "text",
    "of the best hypothesis",
    "score",
    "of the best hypothesis",
    "log_probability",
    "of the best hypothesis",
    "confidence",
    "of the best hypothesis",
    "tokens",
    "of the best hypothesis",
    "ids",
    "of the best hypothesis",
    "alignment",
    "of the best hypothesis",
    "attention",
    "of the best hypothesis",
    "hypotheses",
    "a list of Hypothesis, best first, or in the order of sampling",
    "source_tokens",
    "the tokens of the line as text, a list; '</s>' is the end",
    "unknown",
    "characters and words of the line that the training data did not have, a list",
    "fault",
    "why the line could not be translated; None: it could",
    NULL,
};

int core_translation_add(PyObject *module)
{
    hypothesis_type = core_record_type(module, "Hypothesis", "One translation of a line.", hypothesis_fields);
    translation_type =
        core_record_type(module, "Translation", "The translations of a line. The fields of the best one are its own.",
                         translation_fields);
    return hypothesis_type && translation_type ? 0 : -1;
}

static PyObject *pieces(const attend_tokenizer *t, const int *ids, int count, bool end)
{
    PyObject *list = PyList_New(count + end);
    for (int i = 0; list && i < count + end; i++) {
        PyObject *piece = core_text(attend_tokenizer_token(t, i < count ? ids[i] : ATTEND_END));
        if (!piece || PyList_SetItem(list, i, piece) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *numbers(const int *ids, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *id = PyLong_FromLong(ids[i]);
        if (!id || PyList_SetItem(list, i, id) < 0) Py_CLEAR(list);
    }
    return list;
}

/* Whether a line without weights has an empty map: an empty line, for a model that has attention. */
static bool has_empty_map(const translation_request *q, const attend_line_result *r)
{
    const attend_config *config = attend_model_config(q->m->models[0]);
    return !r->fault && !r->source && attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) > 0;
}

static PyObject *alignment_of(const translation_request *q, const attend_line_result *r, const attend_hypothesis *h)
{
    if (q->alignment && !h->weights && has_empty_map(q, r)) return PyList_New(0);
    if (!q->alignment || !h->weights) return Py_NewRef(Py_None);
    attend_word_link *links = PyMem_Calloc((size_t)h->count + 1, sizeof *links);
    if (!links) return PyErr_NoMemory();
    PyObject *list = core_links(links, attend_hypothesis_links(r, h, links, h->count));
    PyMem_Free(links);
    return list;
}

/* The weights of every layer and head: the model reads the translation again, with forced decoding. */
static PyObject *all_weights(const translation_request *q, const char *line, const attend_hypothesis *h)
{
    attend_map *map = NULL;
    int status;
    Py_BEGIN_ALLOW_THREADS status = attend_map_new(&map, q->context, q->m->models[0], ATTEND_ATTENTION_CROSS,
                                                   ATTEND_UNIT_AUTO, line, NULL, h->tokens, h->count, h->score);
    Py_END_ALLOW_THREADS if (status != ATTEND_OK) return core_raise(status);
    PyObject *array = Py_NewRef(Py_None);
    if (map->weights) {
        const Py_ssize_t shape[4] = { map->layers, map->heads, map->target_count, map->source_count };
        void *data = NULL;
        Py_DECREF(array);
        array = core_array_new(4, shape, &data);
        if (array)
            memcpy(data, map->weights, (size_t)(shape[0] * shape[1] * shape[2] * shape[3]) * sizeof *map->weights);
    }
    attend_map_free(map);
    return array;
}

/* The same of an empty translation: a map without rows. */
static PyObject *no_weights(const translation_request *q, const attend_line_result *r)
{
    const attend_config *config = attend_model_config(q->m->models[0]);
    const Py_ssize_t shape[4] = { attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS),
                                  attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS), 0, r->source_count };
    void *data = NULL;
    return core_array_new(4, shape, &data);
}

static PyObject *attention_of(const translation_request *q, const char *line, const attend_line_result *r,
                              const attend_hypothesis *h)
{
    void *data = NULL;
    if (q->attention == ATTENTION_NONE || (!h->weights && !has_empty_map(q, r))) return Py_NewRef(Py_None);
    if (q->attention == ATTENTION_ALL) return h->count ? all_weights(q, line, h) : no_weights(q, r);
    const Py_ssize_t shape[2] = { h->weights ? h->count + 1 : 0, r->source_count };
    if (!h->weights) return core_array_new(2, shape, &data);
    PyObject *array = core_array_new(2, shape, &data);
    if (array) memcpy(data, h->weights, (size_t)(shape[0] * shape[1]) * sizeof *h->weights);
    return array;
}

enum { HYPOTHESIS_FIELDS = 8 };

static PyObject *hypothesis_of(const translation_request *q, const attend_tokenizer *t, const char *line,
                               const attend_line_result *r, const attend_hypothesis *h)
{
    const bool has_end = !r->fault && (r->source || model_is_language_model(q->m));
    PyObject *const values[HYPOTHESIS_FIELDS] = { core_text(h->text),
                                                  PyFloat_FromDouble(h->score),
                                                  PyFloat_FromDouble(h->log_probability),
                                                  PyFloat_FromDouble(h->confidence),
                                                  pieces(t, h->tokens, h->count, has_end),
                                                  numbers(h->tokens, h->count),
                                                  alignment_of(q, r, h),
                                                  attention_of(q, line, r, h) };
    return core_record(hypothesis_type, HYPOTHESIS_FIELDS, values);
}

static PyObject *unknowns(const attend_line_result *r)
{
    PyObject *list = PyList_New(r->unknown_count);
    for (int i = 0; list && i < r->unknown_count; i++) {
        PyObject *text = PyUnicode_DecodeUTF8(r->unknowns[i].text, (Py_ssize_t)r->unknowns[i].size, "replace");
        if (!text || PyList_SetItem(list, i, text) < 0) Py_CLEAR(list);
    }
    return list;
}

PyObject *translation_of(const translation_request *q, const attend_tokenizer *source, const attend_tokenizer *target,
                         const char *line, const attend_line_result *r)
{
    PyObject *list = PyList_New(r->count);
    for (int i = 0; list && i < r->count; i++) {
        PyObject *h = hypothesis_of(q, target, line, r, &r->hypotheses[i]);
        if (!h || PyList_SetItem(list, i, h) < 0) Py_CLEAR(list);
    }
    if (!list) return NULL;
    PyObject *values[HYPOTHESIS_FIELDS + 4], *best = PyList_GetItem(list, 0);
    for (int i = 0; i < HYPOTHESIS_FIELDS; i++) values[i] = Py_NewRef(PyStructSequence_GetItem(best, i));
    values[HYPOTHESIS_FIELDS] = list;
    values[HYPOTHESIS_FIELDS + 1] = pieces(source, r->source, r->source_count, false);
    values[HYPOTHESIS_FIELDS + 2] = unknowns(r);
    values[HYPOTHESIS_FIELDS + 3] = r->fault ? core_text(r->fault) : Py_NewRef(Py_None);
    return core_record(translation_type, HYPOTHESIS_FIELDS + 4, values);
}
