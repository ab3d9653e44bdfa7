/* map.c: attend.Map: the attention of a model between a source and a target, in every layer and head. */
#include "model.h"

#include "picture.h"

#include <attend/view.h>
#include <string.h>

enum { PAGE_HEIGHT = 560 }; /* of a page in a notebook, in pixels */

typedef struct map_object {
    PyObject_HEAD attend_map *map;
    PyObject *name; /* of the model, a str */
} map_object;

static PyTypeObject *map_type;

static void map_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    attend_map_free(((map_object *)self)->map);
    Py_XDECREF(((map_object *)self)->name);
    PyObject_Free(self);
    Py_DECREF(type);
}

const char model_map_doc[] =
    "map($self, source, target=None, *, kind='cross', beam=5)\n--\n\n"
    "The attention of the model while it predicts a target, in every layer and head. Returns a Map, which shows\n"
    "itself in Jupyter.\n\n"
    "source  a str; None for a language model\n"
    "target  a str; None: the translation that a search finds\n"
    "kind    'cross' (target to source), 'encoder' or 'decoder' (self-attention)\n"
    "beam    of the search";

/* The translation of a line: token ids, which the caller frees with PyMem_Free. */
static int find_target(PyObject *self, PyObject *source, int beam, int **ids, double *score)
{
    PyObject *lines = PyList_New(1), *arguments = NULL, *keywords = NULL, *result = NULL;
    int count = -1;
    if (lines && PyList_SetItem(lines, 0, Py_NewRef(source)) == 0) {
        arguments = PyTuple_Pack(1, lines);
        keywords = Py_BuildValue("{s:i}", "beam", beam);
    }
    if (arguments && keywords) result = model_translate(self, arguments, keywords);
    PyObject *first = result ? PyList_GetItem(result, 0) : NULL;
    PyObject *list = first ? PyObject_GetAttrString(first, "ids") : NULL;
    PyObject *value = first ? PyObject_GetAttrString(first, "score") : NULL;
    PyObject *fault = first ? PyObject_GetAttrString(first, "fault") : NULL;
    if (fault && fault != Py_None) {
        PyObject *text = PyUnicode_AsUTF8String(fault);
        if (text) core_fail(ATTEND_BAD_DATA, "the source cannot be translated: %s", PyBytes_AsString(text));
        Py_XDECREF(text);
    } else if (list && value && fault) {
        *score = PyFloat_AsDouble(value);
        *ids = PyMem_Calloc((size_t)PyList_Size(list) + 1, sizeof **ids);
        if (*ids) count = (int)PyList_Size(list);
        for (int i = 0; i < count; i++) (*ids)[i] = (int)PyLong_AsLong(PyList_GetItem(list, i));
        if (!*ids) PyErr_NoMemory();
    }
    Py_XDECREF(fault);
    Py_XDECREF(value);
    Py_XDECREF(list);
    Py_XDECREF(result);
    Py_XDECREF(keywords);
    Py_XDECREF(arguments);
    Py_XDECREF(lines);
    return count;
}

static PyObject *wrap(model_object *m, attend_map *map)
{
    map_object *o = PyObject_New(map_object, map_type);
    if (o) {
        o->map = map;
        o->name = Py_NewRef(PyTuple_GetItem(m->paths, 0));
    } else {
        attend_map_free(map);
    }
    return (PyObject *)o;
}

PyObject *model_map(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "source", "target", "kind", "beam", NULL };
    model_object *m = (model_object *)self;
    const char *source = NULL, *target = NULL, *kind_name = "cross";
    PyObject *texts[2] = { Py_None, Py_None };
    int kind, beam = 5, *ids = NULL, count = 0, status;
    double score = Py_NAN;
    if (!core_parse(arguments, keywords, "O|O$si:map", names, &texts[0], &texts[1], &kind_name, &beam) ||
        !core_choice(kind_name, attend_attention_kind_names, "kind", &kind) || !model_single(m, "map"))
        return NULL;
    for (int i = 0; i < 2; i++) {
        const char **text = i ? &target : &source;
        Py_ssize_t size = 0;
        if (texts[i] != Py_None && !(*text = core_utf8(texts[i], names[i], &size))) return NULL;
        if (*text && strlen(*text) != (size_t)size)
            return core_fail(ATTEND_BAD_DATA, "the %s contains a NUL character", names[i]);
    }
    if (!source && !model_is_language_model(m)) return core_fail(ATTEND_BAD_USAGE, "source is required");
    if (!target && model_is_language_model(m)) return core_fail(ATTEND_BAD_USAGE, "a language model needs a target");
    if (!target) count = find_target(self, texts[0], beam, &ids, &score);
    if (count < 0) return NULL;
    attend_map *map = NULL;
    attend_ctx *c = model_context(m, &status);
    if (c) {
        Py_BEGIN_ALLOW_THREADS status = attend_map_new(&map, c, m->models[0], (attend_attention_kind)kind,
                                                       ATTEND_UNIT_AUTO, source, target, ids, count, score);
        attend_ctx_free(c);
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(ids);
    return status == ATTEND_OK ? wrap(m, map) : core_raise(status);
}

/* ---- output ---- */

typedef int (*writer)(const attend_map *, const attend_view_options *, attend_string *);

static int write_page(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    const attend_map *const maps[] = { map };
    return attend_view_html(&(attend_map_list){ maps, 1 }, 1, o, out);
}

static int write_archive(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    const attend_map *const maps[] = { map };
    return attend_view_npz(&(attend_map_list){ maps, 1 }, o, out);
}

/* Layer, head and tokens of the keywords that the outputs share. */
static PyObject *write_as(PyObject *self, PyObject *arguments, PyObject *keywords, writer write, bool is_text)
{
    static char *names[] = { "layer", "head", "by_token", "width", NULL };
    map_object *o = (map_object *)self;
    attend_view_options options = ATTEND_VIEW_OPTIONS_INIT;
    attend_string out = { 0 };
    int by_token = 0, status;
    if (!core_parse(arguments, keywords, "|$iipi", names, &options.layer, &options.head, &by_token, &options.width))
        return NULL;
    PyObject *name = PyUnicode_AsEncodedString(o->name, "utf-8", "backslashreplace"); /* it may not be UTF-8 */
    if (!name) return NULL;
    const attend_view_model model = { PyBytes_AsString(name), options.layer, options.head };
    options.by_token = by_token, options.models = &model, options.model_count = 1;
    options.all_heads = write == attend_view_json;
    Py_BEGIN_ALLOW_THREADS status = write(o->map, &options, &out);
    Py_END_ALLOW_THREADS Py_DECREF(name);
    const char *bytes = out.text ? out.text : "";
    PyObject *result = status != ATTEND_OK ? core_raise(status)
                       : is_text           ? PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)out.size, "replace")
                                           : PyBytes_FromStringAndSize(bytes, (Py_ssize_t)out.size);
    attend_string_free(&out);
    return result;
}

#define OUTPUT(name, function, is_text)                                                                                \
    static PyObject *name(PyObject *self, PyObject *arguments, PyObject *keywords)                                     \
    {                                                                                                                  \
        return write_as(self, arguments, keywords, function, is_text);                                                 \
    }
OUTPUT(to_html, write_page, true)
OUTPUT(to_json, attend_view_json, true)
OUTPUT(to_terminal, attend_view_terminal, true)
OUTPUT(to_npz, write_archive, false)
OUTPUT(to_svg, picture_svg, true)

static PyObject *represent_terminal(PyObject *self)
{
    PyObject *none = PyTuple_New(0), *text = none ? to_terminal(self, none, NULL) : NULL;
    Py_XDECREF(none);
    return text;
}

/* The page has styles and scripts for a whole document: a frame keeps them apart from the notebook. */
static PyObject *represent_html(PyObject *self, PyObject *unused)
{
    PyObject *none = PyTuple_New(0), *page = none ? to_html(self, none, NULL) : NULL;
    static const char *const escapes[][2] = { { "&", "&amp;" }, { "\"", "&quot;" } };
    (void)unused;
    for (int i = 0; page && i < 2; i++) {
        PyObject *escaped = PyObject_CallMethod(page, "replace", "ss", escapes[i][0], escapes[i][1]);
        Py_DECREF(page);
        page = escaped;
    }
    PyObject *frame = page ? PyUnicode_FromFormat("<iframe srcdoc=\"%U\" style=\"width:100%%;height:%dpx;border:0\" "
                                                  "sandbox=\"allow-scripts\"></iframe>",
                                                  page, PAGE_HEIGHT)
                           : NULL;
    Py_XDECREF(page);
    Py_XDECREF(none);
    return frame;
}

/* None where libattend-view is not installed: Jupyter then shows the page. */
static PyObject *represent_svg(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (!picture_is_available()) Py_RETURN_NONE;
    PyObject *none = PyTuple_New(0), *text = none ? to_svg(self, none, NULL) : NULL;
    Py_XDECREF(none);
    return text;
}

PyDoc_STRVAR(weights_doc,
             "weights($self, *, layer=-1, head=-1, by_token=False)\n--\n\n"
             "The weights of one layer and head, or their mean (-1), as an Array (target, source) between words or,\n"
             "with by_token, between tokens. Map.attention has those of every layer and head.");

static PyObject *weights(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "layer", "head", "by_token", NULL };
    const attend_map *map = ((map_object *)self)->map;
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    int by_token = 0;
    void *data = NULL;
    if (!core_parse(arguments, keywords, "|$iip:weights", names, &o.layer, &o.head, &by_token)) return NULL;
    if (!map->weights) return core_fail(ATTEND_BAD_USAGE, "the model has no attention");
    const int status = attend_view_check(map, &o);
    if (status != ATTEND_OK) return core_raise(status);
    const Py_ssize_t shape[2] = { by_token ? map->target_count : map->target_word_count,
                                  by_token ? map->source_count : map->source_word_count };
    PyObject *array = core_array_new(2, shape, &data);
    if (array) (by_token ? attend_map_weights : attend_map_word_weights)(map, o.layer, o.head, data);
    return array;
}

/* ---- properties ---- */

static PyObject *get_attention(PyObject *self, void *closure)
{
    const attend_map *map = ((map_object *)self)->map;
    const Py_ssize_t shape[4] = { map->layers, map->heads, map->target_count, map->source_count };
    void *data = NULL;
    (void)closure;
    if (!map->weights) Py_RETURN_NONE;
    PyObject *array = core_array_new(4, shape, &data);
    if (array) memcpy(data, map->weights, (size_t)(shape[0] * shape[1] * shape[2] * shape[3]) * sizeof *map->weights);
    return array;
}

static PyObject *texts(const char *const *words, const attend_map_token *tokens, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *text = core_text(words ? words[i] : tokens[i].text);
        if (!text || PyList_SetItem(list, i, text) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_source_tokens(PyObject *self, void *closure)
{
    (void)closure;
    return texts(NULL, ((map_object *)self)->map->source, ((map_object *)self)->map->source_count);
}

static PyObject *get_target_tokens(PyObject *self, void *closure)
{
    (void)closure;
    return texts(NULL, ((map_object *)self)->map->target, ((map_object *)self)->map->target_count);
}

static PyObject *get_source_words(PyObject *self, void *closure)
{
    (void)closure;
    return texts(((map_object *)self)->map->source_words, NULL, ((map_object *)self)->map->source_word_count);
}

static PyObject *get_target_words(PyObject *self, void *closure)
{
    (void)closure;
    return texts(((map_object *)self)->map->target_words, NULL, ((map_object *)self)->map->target_word_count);
}

static PyObject *get_probabilities(PyObject *self, void *closure)
{
    const attend_map *map = ((map_object *)self)->map;
    (void)closure;
    if (!map->probability) Py_RETURN_NONE;
    PyObject *list = PyList_New(map->target_count);
    for (int i = 0; list && i < map->target_count; i++) {
        PyObject *p = PyFloat_FromDouble(map->probability[i]);
        if (!p || PyList_SetItem(list, i, p) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_log_probability(PyObject *self, void *closure)
{
    (void)closure;
    return PyFloat_FromDouble(((map_object *)self)->map->log_probability);
}

static PyObject *represent(PyObject *self)
{
    const attend_map *map = ((map_object *)self)->map;
    return PyUnicode_FromFormat("<attend.Map %s: %d layers, %d heads, %d x %d tokens>",
                                attend_attention_kind_name(map->kind), map->layers, map->heads, map->target_count,
                                map->source_count);
}

#define OUTPUT_ARGUMENTS "($self, *, layer=-1, head=-1, by_token=False, width=0)\n--\n\n"
static PyMethodDef methods[] = {
    { "html", CORE_METHOD(to_html), METH_VARARGS | METH_KEYWORDS,
      "html" OUTPUT_ARGUMENTS "The map as an HTML page that stands alone. layer, head: with which it begins." },
    { "json", CORE_METHOD(to_json), METH_VARARGS | METH_KEYWORDS, "json" OUTPUT_ARGUMENTS "The map as JSON." },
    { "terminal", CORE_METHOD(to_terminal), METH_VARARGS | METH_KEYWORDS,
      "terminal" OUTPUT_ARGUMENTS "The map as text for a terminal of `width` columns; 0: 80." },
    { "npz", CORE_METHOD(to_npz), METH_VARARGS | METH_KEYWORDS,
      "npz" OUTPUT_ARGUMENTS "The map as a NumPy archive, bytes (docs/show.md)." },
    { "svg", CORE_METHOD(to_svg), METH_VARARGS | METH_KEYWORDS,
      "svg" OUTPUT_ARGUMENTS "The map as SVG. Needs the shared library libattend-view." },
    { "weights", CORE_METHOD(weights), METH_VARARGS | METH_KEYWORDS, weights_doc },
    { "_repr_html_", represent_html, METH_NOARGS, "The page, for Jupyter." },
    { "_repr_svg_", represent_svg, METH_NOARGS, "The picture, for Jupyter; None without libattend-view." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef properties[] = {
    { "attention", get_attention, NULL,
      "A new Array of the weights: (layers, heads, target tokens, source tokens). None: the model has no attention.",
      NULL },
    { "source_tokens", get_source_tokens, NULL, "The columns of the map, a list of str.", NULL },
    { "target_tokens", get_target_tokens, NULL, "The rows of the map, a list of str.", NULL },
    { "source_words", get_source_words, NULL, "The words of the source, a list of str.", NULL },
    { "target_words", get_target_words, NULL, "The words of the target, a list of str.", NULL },
    { "probabilities", get_probabilities, NULL, "The probability of each target token; None: an encoder's map.", NULL },
    { "log_probability", get_log_probability, NULL, "Of the whole target.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(map_doc, "The attention of a model between a source and a target. Model.map makes one. print() draws it\n"
                      "as text, Jupyter as a page.");

static PyType_Slot slots[] = {
    { Py_tp_doc, (void *)map_doc },
    { Py_tp_dealloc, map_free },
    { Py_tp_repr, represent },
    { Py_tp_str, represent_terminal },
    { Py_tp_methods, methods },
    { Py_tp_getset, properties },
    { 0, NULL },
};
static PyType_Spec spec = { "attend.Map", sizeof(map_object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                            slots };

int core_map_add(PyObject *module)
{
    return core_type_add(module, &spec, &map_type);
}
