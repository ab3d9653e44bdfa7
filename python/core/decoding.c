/* decoding.c: decoding step by step, for attend.explore. */
#include "model.h"

#include <attend/text.h>
#include <string.h>

typedef struct decoding_object {
    PyObject_HEAD model_object *model;
    attend_ctx *context;
    attend_decoding *decoding;
    int *source;
    int source_count, width; /* width: hypotheses of the last step */
    unsigned generation;
} decoding_object;

static PyTypeObject *decoding_type;

static void decoding_free(PyObject *self)
{
    decoding_object *d = (decoding_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (d->generation == core_generation) {
        attend_decoding_free(d->decoding);
        attend_ctx_free(d->context);
    }
    PyMem_Free(d->source);
    Py_XDECREF((PyObject *)d->model);
    PyObject_Free(self);
    Py_DECREF(type);
}

const char model_decode_doc[] = "_decode($self, ids, /)\n--\n\n"
                                "Encodes a source, a list of token ids with its end, for decoding step by step.";

PyObject *model_decode(PyObject *self, PyObject *from)
{
    model_object *m = (model_object *)self;
    const attend_model *model = model_single(m, "exploring a search");
    PyObject *items = model ? PySequence_Tuple(from) : NULL;
    decoding_object *d = items ? PyObject_New(decoding_object, decoding_type) : NULL;
    int status = ATTEND_OK;
    if (d) {
        memset((char *)d + sizeof(PyObject), 0, sizeof *d - sizeof(PyObject));
        d->model = (model_object *)Py_NewRef(self);
        d->generation = core_generation;
        d->source_count = (int)PyTuple_Size(items);
        d->source = PyMem_Calloc((size_t)d->source_count + 1, sizeof *d->source);
        if (!d->source) PyErr_NoMemory();
        for (int i = 0; d->source && i < d->source_count; i++)
            d->source[i] = (int)PyLong_AsLong(PyTuple_GetItem(items, i));
        if (!PyErr_Occurred()) d->context = model_context(m, &status);
    }
    Py_XDECREF(items);
    if (d && d->context) {
        Py_BEGIN_ALLOW_THREADS status =
            attend_decoding_new(&d->decoding, d->context, model, 1, d->source, &d->source_count);
        Py_END_ALLOW_THREADS
    }
    if (d && d->decoding) return (PyObject *)d;
    if (status != ATTEND_OK) core_raise(status);
    Py_XDECREF((PyObject *)d);
    return NULL;
}

PyDoc_STRVAR(step_doc,
             "step($self, parents, tokens, /)\n--\n\n"
             "One step: hypothesis i extends hypothesis parents[i] of the step before by tokens[i]. The first\n"
             "step is step([0], [1]).");

/* Reads a list of `count` integers; count -1: any number. */
static int *read_ids(PyObject *from, int *count)
{
    PyObject *items = PySequence_Tuple(from);
    int *ids = items ? PyMem_Calloc((size_t)PyTuple_Size(items) + 1, sizeof *ids) : NULL;
    if (items && !ids) PyErr_NoMemory();
    *count = items ? (int)PyTuple_Size(items) : 0;
    for (int i = 0; ids && i < *count; i++) ids[i] = (int)PyLong_AsLong(PyTuple_GetItem(items, i));
    Py_XDECREF(items);
    if (!PyErr_Occurred()) return ids;
    PyMem_Free(ids);
    return NULL;
}

static bool is_usable(const decoding_object *d)
{
    if (d->generation == core_generation) return true;
    core_fail(ATTEND_BAD_USAGE, "the search belongs to the parent process");
    return false;
}

static PyObject *step(PyObject *self, PyObject *arguments)
{
    decoding_object *d = (decoding_object *)self;
    PyObject *parents_from, *tokens_from;
    int count = 0, token_count = 0, status = ATTEND_OK;
    if (!PyArg_ParseTuple(arguments, "OO:step", &parents_from, &tokens_from) || !is_usable(d)) return NULL;
    int *parents = read_ids(parents_from, &count), *tokens = parents ? read_ids(tokens_from, &token_count) : NULL;
    const int vocabulary = attend_model_config(d->model->models[0])->target_vocab, before = d->width ? d->width : 1;
    bool ok = tokens && count > 0 && count == token_count;
    for (int i = 0; ok && i < count; i++)
        ok = parents[i] >= 0 && parents[i] < before && tokens[i] >= 0 && tokens[i] < vocabulary;
    if (tokens && !ok) core_fail(ATTEND_BAD_USAGE, "step: a parent or a token does not exist, or their numbers differ");
    if (ok) {
        Py_BEGIN_ALLOW_THREADS status = attend_decoding_step(d->decoding, &count, parents, tokens);
        Py_END_ALLOW_THREADS if (status != ATTEND_OK) core_raise(status);
        d->width = status == ATTEND_OK ? count : 0;
    }
    PyMem_Free(parents);
    PyMem_Free(tokens);
    if (!ok || status != ATTEND_OK) return NULL;
    Py_RETURN_NONE;
}

static bool has_hypothesis(const decoding_object *d, int hypothesis)
{
    if (!is_usable(d)) return false;
    if (hypothesis >= 0 && hypothesis < d->width) return true;
    core_fail(ATTEND_BAD_USAGE, "there is no hypothesis %d: the last step had %d", hypothesis, d->width);
    return false;
}

PyDoc_STRVAR(log_probabilities_doc, "log_probabilities($self, hypothesis, /)\n--\n\n"
                                    "log p of every token after a hypothesis of the last step, an Array.");

static PyObject *log_probabilities(PyObject *self, PyObject *arguments)
{
    decoding_object *d = (decoding_object *)self;
    int hypothesis, count = 0;
    const int *tokens;
    if (!PyArg_ParseTuple(arguments, "i:log_probabilities", &hypothesis) || !has_hypothesis(d, hypothesis)) return NULL;
    const attend_real *row = attend_decoding_row(d->decoding, hypothesis, &count, &tokens);
    if (!row) return core_raise(ATTEND_FAILED);
    void *data = NULL;
    PyObject *array = core_array_new(1, &(Py_ssize_t){ count }, &data);
    if (array) memcpy(data, row, (size_t)count * sizeof *row);
    return array;
}

PyDoc_STRVAR(attention_doc, "attention($self, hypothesis, layer, head, /)\n--\n\n"
                            "The attention of a hypothesis to the source tokens, an Array; None: there is none.");

static PyObject *attention(PyObject *self, PyObject *arguments)
{
    decoding_object *d = (decoding_object *)self;
    int hypothesis, layer, head;
    if (!PyArg_ParseTuple(arguments, "iii:attention", &hypothesis, &layer, &head) || !has_hypothesis(d, hypothesis))
        return NULL;
    const attend_config *config = attend_model_config(d->model->models[0]);
    if (layer < 0 || layer >= attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) || head < 0 ||
        head >= attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS))
        Py_RETURN_NONE;
    const attend_real *weights = attend_decoding_weights(d->decoding, hypothesis, layer, head);
    const int status = weights ? ATTEND_OK : attend_ctx_status(d->context);
    if (status != ATTEND_OK) return core_fail(status, "%s", attend_ctx_message(d->context));
    if (!weights) Py_RETURN_NONE;
    void *data = NULL;
    PyObject *array = core_array_new(1, &(Py_ssize_t){ d->source_count }, &data);
    if (array) memcpy(data, weights, (size_t)d->source_count * sizeof *weights);
    return array;
}

static PyMethodDef methods[] = {
    { "step", step, METH_VARARGS, step_doc },
    { "log_probabilities", log_probabilities, METH_VARARGS, log_probabilities_doc },
    { "attention", attention, METH_VARARGS, attention_doc },
    { NULL, NULL, 0, NULL },
};

static PyObject *get_max_length(PyObject *self, void *closure)
{
    const attend_config *config = attend_model_config(((decoding_object *)self)->model->models[0]);
    (void)closure;
    return PyLong_FromLong(attend_config_max_tokens(config, true) - 1);
}

static PyGetSetDef properties[] = {
    { "max_length", get_max_length, NULL, "The maximum number of target tokens of the model.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_getset, properties },
    { Py_tp_doc, "Decoding step by step (attend.explore)." },
    { Py_tp_dealloc, decoding_free },
    { Py_tp_methods, methods },
    { 0, NULL },
};
static PyType_Spec spec = { "attend.Decoding", sizeof(decoding_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };

int core_decoding_add(PyObject *module)
{
    return core_type_add(module, &spec, &decoding_type);
}
