/* model.c: attend.Model: loading, saving and what a model is. */
#include "model.h"

#include <attend/file_content.h>
#include <attend/processors.h>
#include <attend/text.h>
#include <stdlib.h>
#include <string.h>

PyTypeObject *core_model_type;

bool model_is_language_model(const model_object *m)
{
    return attend_model_config(m->models[0])->task == ATTEND_TASK_LANGUAGE_MODEL;
}

const attend_model *model_single(const model_object *m, const char *what)
{
    if (m->count == 1) return m->models[0];
    core_fail(ATTEND_BAD_USAGE, "%s needs a single model file, and this is an ensemble of %d files", what, m->count);
    return NULL;
}

attend_ctx *model_context(const model_object *m, int *status)
{
    attend_ctx *c = NULL;
    *status = attend_ctx_new(&c);
    if (*status == ATTEND_OK) *status = attend_ctx_set_threads(c, m->threads);
    if (*status == ATTEND_OK) *status = attend_ctx_set_compute(c, m->compute);
    if (*status == ATTEND_OK) return c;
    attend_ctx_free(c);
    return NULL;
}

/* ---- loading ---- */

static model_object *model_new(int count)
{
    model_object *m = PyObject_New(model_object, core_model_type);
    if (!m) return NULL;
    memset((char *)m + sizeof(PyObject), 0, sizeof *m - sizeof(PyObject));
    m->models = calloc((size_t)count, sizeof *m->models);
    m->paths = PyTuple_New(count);
    if (m->models && m->paths) return m;
    Py_DECREF((PyObject *)m);
    PyErr_NoMemory();
    return NULL;
}

static void model_free(PyObject *self)
{
    model_object *m = (model_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i < MODEL_IDLE; i++) { /* those of a parent process have lost their threads */
        if (m->translators[i].generation == core_generation) model_translator_free(&m->translators[i]);
        if (m->scorers[i].generation == core_generation) attend_scorer_free(m->scorers[i].scorer);
    }
    model_batcher_free(m, m->models, m->count);
    Py_XDECREF(m->paths);
    Py_XDECREF(m->tokenizers[0]);
    Py_XDECREF(m->tokenizers[1]);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Loads and quantises the models; precision -1: as in the file. */
static int load_all(model_object *m, const core_paths *paths, int precision, bool verify)
{
    const attend_load_options o = { .skip_checksum = !verify };
    for (int i = 0; i < paths->count; i++) {
        int status = attend_model_load(&m->models[i], paths->names[i], &o);
        if (status == ATTEND_OK) m->count++;
        if (status == ATTEND_OK && precision >= 0 && (int)attend_model_precision(m->models[i]) != precision)
            status = attend_model_quantize(m->models[i], (attend_precision)precision);
        if (status != ATTEND_OK) return status;
    }
    return ATTEND_OK;
}

PyDoc_STRVAR(load_doc,
             "load(paths, *, precision=None, threads=None, compute='fp32', memory=None, verify=True)\n--\n\n"
             "Loads a model file, or several that form an ensemble.\n\n"
             "paths      a path or a list of paths\n"
             "precision  of the weights: 'fp32', 'bf16' or 'int8'; None: as in the file\n"
             "threads    of each call; None: one for each physical core. Results do not depend on it\n"
             "compute    precision of the products with fp32 weights: 'fp32', 'bf16x3' or 'bf16'\n"
             "memory     limit in bytes, or a text such as '2G'; 0: none; None: half of the machine's memory\n"
             "verify     compare the file with its checksum\n\n"
             "Raises ModelError for a file that is not a valid model, FileError if it cannot be read.");

static PyObject *load(PyObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "paths", "precision", "threads", "compute", "memory", "verify", NULL };
    PyObject *from;
    size_t memory = attend_memory_total() / 2;
    int threads = attend_processors_threads();
    const char *precision_name = NULL, *compute_name = "fp32";
    int precision = -1, compute = 0, verify = 1, status;
    core_paths paths;
    (void)type;
    if (!core_parse(arguments, keywords, "O|$zO&sO&p:load", names, &from, &precision_name, core_threads, &threads,
                    &compute_name, core_memory, &memory, &verify))
        return NULL;
    if (precision_name && !core_choice(precision_name, attend_precision_names, "precision", &precision)) return NULL;
    if (!core_choice(compute_name, attend_compute_names, "compute", &compute)) return NULL;
    if (!core_paths_read(&paths, from, "paths")) return NULL;
    model_object *m = model_new(paths.count);
    if (m) {
        m->threads = threads, m->compute = (attend_compute_precision)compute, m->memory = memory;
        for (int i = 0; m && i < paths.count; i++) {
            PyObject *path = PyUnicode_DecodeFSDefault(paths.names[i]);
            if (!path || PyTuple_SetItem(m->paths, i, path) < 0) Py_CLEAR(m);
        }
    }
    if (m) {
        Py_BEGIN_ALLOW_THREADS status = load_all(m, &paths, precision, verify);
        Py_END_ALLOW_THREADS if (status != ATTEND_OK)
        {
            core_raise(status);
            Py_CLEAR(m);
        }
    }
    core_paths_free(&paths);
    return (PyObject *)m;
}

bool model_check_finite(const model_object *m, unsigned long long done, unsigned long long non_finite)
{
    if (done > 0 || non_finite == 0) return true;
    PyObject *separator = PyUnicode_FromString(", "), *paths = separator ? PyUnicode_Join(separator, m->paths) : NULL;
    const char *text = paths ? PyUnicode_AsUTF8AndSize(paths, NULL) : NULL;
    if (!text) PyErr_Clear(); /* a name that is not UTF-8 */
    core_raise(attend_check_finite(text ? text : "the model", non_finite, non_finite));
    Py_XDECREF(separator);
    Py_XDECREF(paths);
    return false;
}

PyDoc_STRVAR(save_doc,
             "save($self, path, /)\n--\n\n"
             "Writes the model to a file, in its present precision. An existing model is replaced atomically; a\n"
             "checkpoint, and any other kind of file, is not replaced: ValueError.");

static PyObject *save(PyObject *self, PyObject *path)
{
    const attend_model *m = model_single((model_object *)self, "save");
    core_paths to;
    int status;
    if (!m || !core_path_read(&to, path, "path")) return NULL;
    Py_BEGIN_ALLOW_THREADS status = attend_content_check(to.names[0], ATTEND_CONTENT_MODEL, NULL);
    if (status == ATTEND_OK) status = attend_model_save(m, to.names[0]);
    Py_END_ALLOW_THREADS core_paths_free(&to);
    return status == ATTEND_OK ? Py_NewRef(Py_None) : core_raise(status);
}

/* ---- properties ---- */

/* Numbers and switches as such, names as text. */
static PyObject *field_value(const attend_config_field *field, const char *text)
{
    switch (field->type) {
    case ATTEND_FIELD_INTEGER:
        return PyLong_FromString(text, NULL, 10);
    case ATTEND_FIELD_REAL:
        return PyFloat_FromDouble(PyOS_string_to_double(text, NULL, NULL));
    case ATTEND_FIELD_SWITCH:
        return PyBool_FromLong(strcmp(text, "yes") == 0);
    default:
        return core_text(text);
    }
}

static PyObject *get_config(PyObject *self, void *closure)
{
    const attend_config *config = attend_model_config(((model_object *)self)->models[0]);
    const attend_config_field *field;
    char text[64];
    PyObject *all = PyDict_New();
    (void)closure;
    for (int i = 0; all && (field = attend_config_field_at(i)); i++) {
        const int status = attend_config_get(config, field->name, text, sizeof text);
        PyObject *value = status == ATTEND_OK ? field_value(field, text) : core_raise(status);
        if (!value || PyDict_SetItemString(all, field->name, value) < 0) Py_CLEAR(all);
        Py_XDECREF(value);
    }
    return all;
}

static PyObject *get_precision(PyObject *self, void *closure)
{
    (void)closure;
    return core_text(attend_precision_name(attend_model_precision(((model_object *)self)->models[0])));
}

static PyObject *get_compute(PyObject *self, void *closure)
{
    (void)closure;
    return core_text(attend_compute_names[((model_object *)self)->compute]);
}

static PyObject *get_task(PyObject *self, void *closure)
{
    (void)closure;
    return core_text(model_is_language_model((model_object *)self) ? "language-model" : "translation");
}

static PyObject *get_parameters(PyObject *self, void *closure)
{
    const model_object *m = (model_object *)self;
    size_t count = 0;
    (void)closure;
    for (int i = 0; i < m->count; i++)
        for (int k = 0; k < attend_model_member_count(m->models[i]); k++)
            count += attend_params_size(attend_model_params(attend_model_member(m->models[i], k)));
    return PyLong_FromSize_t(count);
}

static PyObject *get_members(PyObject *self, void *closure)
{
    const model_object *m = (model_object *)self;
    int count = 0;
    (void)closure;
    for (int i = 0; i < m->count; i++) count += attend_model_member_count(m->models[i]);
    return PyLong_FromLong(count);
}

static PyObject *get_paths(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((model_object *)self)->paths);
}

static PyObject *get_threads(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((model_object *)self)->threads);
}

static PyObject *get_tokenizer(PyObject *self, void *side)
{
    model_object *m = (model_object *)self;
    const int target = strcmp(side, "target") == 0;
    if (!m->tokenizers[target]) {
        attend_tokenizer *t = NULL;
        const int status = attend_tokenizer_from_model(&t, m->models[0], side);
        m->tokenizers[target] = status == ATTEND_OK ? core_tokenizer_wrap(t) : core_raise(status);
    }
    return Py_XNewRef(m->tokenizers[target]);
}

static PyObject *represent(PyObject *self)
{
    const model_object *m = (model_object *)self;
    return PyUnicode_FromFormat("<attend.Model %R, %s>", m->paths,
                                attend_precision_name(attend_model_precision(m->models[0])));
}

static PyMethodDef methods[] = {
    { "load", CORE_METHOD(load), METH_VARARGS | METH_KEYWORDS | METH_STATIC, load_doc },
    { "save", save, METH_O, save_doc },
    { "translate", CORE_METHOD(model_translate), METH_VARARGS | METH_KEYWORDS, model_translate_doc },
    { "sample", CORE_METHOD(model_sample), METH_VARARGS | METH_KEYWORDS, model_sample_doc },
    { "submit", CORE_METHOD(model_submit), METH_VARARGS | METH_KEYWORDS, model_submit_doc },
    { "score", CORE_METHOD(model_score), METH_VARARGS | METH_KEYWORDS, model_score_doc },
    { "align", CORE_METHOD(model_align), METH_VARARGS | METH_KEYWORDS, model_align_doc },
    { "map", CORE_METHOD(model_map), METH_VARARGS | METH_KEYWORDS, model_map_doc },
    { "_decode", model_decode, METH_O, model_decode_doc },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef properties[] = {
    { "config", get_config, NULL, "The configuration, a dict of its fields (docs/models.md).", NULL },
    { "precision", get_precision, NULL, "The precision of the weights: 'fp32', 'bf16' or 'int8'.", NULL },
    { "compute", get_compute, NULL, "The precision of products: 'fp32', 'bf16x3' or 'bf16'.", NULL },
    { "task", get_task, NULL, "'translation' or 'language-model'.", NULL },
    { "parameter_count", get_parameters, NULL, "The number of weights of all members.", NULL },
    { "member_count", get_members, NULL, "The number of models that predict together; 1: not an ensemble.", NULL },
    { "paths", get_paths, NULL, "The files that were loaded, a tuple.", NULL },
    { "threads", get_threads, NULL, "The number of threads of a call.", NULL },
    { "source_tokenizer", get_tokenizer, NULL, "The Tokenizer of the source.", "source" },
    { "target_tokenizer", get_tokenizer, NULL, "The Tokenizer of the target, or of a language model.", "target" },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(model_doc,
             "A model, or an ensemble of several, that translates, scores, aligns and shows its attention.\n\n"
             "Model.load makes one. Any number of threads may call its methods at the same time. After a fork the\n"
             "child process can use it as well.");

static PyType_Slot slots[] = {
    { Py_tp_doc, (void *)model_doc }, { Py_tp_dealloc, model_free }, { Py_tp_repr, represent },
    { Py_tp_methods, methods },       { Py_tp_getset, properties },  { 0, NULL },
};
static PyType_Spec spec = { "attend.Model", sizeof(model_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };

int core_model_add(PyObject *module)
{
    return core_type_add(module, &spec, &core_model_type);
}
