/* tokenizer.c: attend.Tokenizer: text to tokens and back. */
#include "interrupt.h"
#include "model.h"

#include <attend/text.h>
#include <limits.h>
#include <string.h>

typedef struct tokenizer_object {
    PyObject_HEAD attend_tokenizer *tokenizer;
} tokenizer_object;

static PyTypeObject *tokenizer_type;

static const attend_tokenizer *tokenizer_of(PyObject *self)
{
    return ((tokenizer_object *)self)->tokenizer;
}

PyObject *core_tokenizer_wrap(attend_tokenizer *t)
{
    tokenizer_object *o = PyObject_New(tokenizer_object, tokenizer_type);
    if (o)
        o->tokenizer = t;
    else
        attend_tokenizer_free(t);
    return (PyObject *)o;
}

static void tokenizer_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    attend_tokenizer_free(((tokenizer_object *)self)->tokenizer);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- learning ---- */

typedef struct line_reader {
    const core_texts *lines;
    int at;
    core_interrupt interrupt;
} line_reader;

static int next_line(void *user, const char **line, size_t *size)
{
    line_reader *r = user;
    if (r->at == r->lines->count) return 0;
    if (core_interrupted(&r->interrupt)) return -ATTEND_FAILED;
    *line = r->lines->text[r->at], *size = r->lines->size[r->at++];
    return 1;
}

PyDoc_STRVAR(learn_doc,
             "learn(lines, *, kind='bpe', vocab_size=0, min_count=1, lowercase=False, split='classes')\n--\n\n"
             "Learns a tokenizer from lines of text. The result does not depend on their order.\n\n"
             "kind        'bpe' (subwords), 'word', 'char' or 'jamo' (docs/text.md)\n"
             "vocab_size  maximum number of tokens; 0: 8000 for bpe, else no limit\n"
             "min_count   words, characters and merges with a lower count are not learned\n"
             "lowercase   texts are lower-cased before they are split\n"
             "split       bpe: where a word ends, which merges do not cross: 'classes', at spaces and where\n"
             "            letters, digits, other characters and scripts meet; or 'spaces'");

const char *const core_split_names[] = { "classes", "spaces", NULL };

static PyObject *learn(PyObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "lines", "kind", "vocab_size", "min_count", "lowercase", "split", NULL };
    attend_tokenizer_options o = ATTEND_TOKENIZER_OPTIONS_INIT;
    attend_tokenizer *t = NULL;
    const char *kind_name = "bpe", *split_name = core_split_names[CORE_SPLIT_CLASSES];
    PyObject *from;
    core_texts lines;
    int kind, split, lowercase = 0, status;
    (void)type;
    if (!core_parse(arguments, keywords, "O|$siips:learn", names, &from, &kind_name, &o.vocab_size, &o.min_count,
                    &lowercase, &split_name) ||
        !core_choice(kind_name, attend_token_kind_names, "kind", &kind) ||
        !core_choice(split_name, core_split_names, "split", &split) || !core_texts_read(&lines, from, "lines"))
        return NULL;
    o.kind = (attend_token_kind)kind, o.lowercase = lowercase, o.split_classes = split == CORE_SPLIT_CLASSES;
    line_reader reader = { .lines = &lines };
    o.stop = core_interrupted, o.stop_user = &reader.interrupt;
    core_interrupt_begin(&reader.interrupt);
    status = attend_tokenizer_learn(&t, &o, next_line, &reader);
    const bool stops = core_interrupt_end(&reader.interrupt);
    core_texts_free(&lines);
    if (!stops) return status == ATTEND_OK ? core_tokenizer_wrap(t) : core_raise(status);
    attend_tokenizer_free(t);
    return NULL;
}

/* ---- encoding and decoding ---- */

/* What encode, tokenize and spans make of the tokens of a text. */
static PyObject *id_at(const attend_tokenizer *t, const attend_ids *ids, int i)
{
    (void)t;
    return PyLong_FromLong(ids->ids[i]);
}

static PyObject *piece_at(const attend_tokenizer *t, const attend_ids *ids, int i)
{
    return core_text(attend_tokenizer_token(t, ids->ids[i]));
}

static PyObject *span_at(const attend_tokenizer *t, const attend_ids *ids, int i)
{
    (void)t;
    return Py_BuildValue("ii", ids->spans[i].begin, ids->spans[i].end);
}

static PyObject *encode_as(PyObject *self, PyObject *text, double dropout, unsigned long long seed,
                           PyObject *(*make)(const attend_tokenizer *, const attend_ids *, int))
{
    Py_ssize_t size;
    const char *bytes = core_utf8(text, "text", &size);
    attend_ids ids = { 0 };
    if (!bytes) return NULL;
    const int status = attend_tokenizer_encode(tokenizer_of(self), bytes, (size_t)size, &ids, dropout, seed, 0);
    PyObject *list = status == ATTEND_OK ? PyList_New(ids.count) : core_raise(status);
    for (int i = 0; list && i < ids.count; i++) {
        PyObject *x = make(tokenizer_of(self), &ids, i);
        if (!x || PyList_SetItem(list, i, x) < 0) Py_CLEAR(list);
    }
    attend_ids_free(&ids);
    return list;
}

PyDoc_STRVAR(encode_doc, "encode($self, text, *, dropout=0.0, seed=0)\n--\n\n"
                         "The tokens of a text, a list of int.\n\n"
                         "dropout  bpe: probability of skipping a merge (BPE-dropout)\n"
                         "seed     of dropout");

static PyObject *encode(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "text", "dropout", "seed", NULL };
    PyObject *text;
    double dropout = 0;
    unsigned long long seed = 0;
    if (!core_parse(arguments, keywords, "U|$dO&:encode", names, &text, &dropout, core_uint64, &seed)) return NULL;
    return encode_as(self, text, dropout, seed, id_at);
}

PyDoc_STRVAR(tokenize_doc,
             "tokenize($self, text, /)\n--\n\nThe tokens of a text as the vocabulary spells them, a list of "
             "str; U+2581 stands for a space.");

static PyObject *tokenize(PyObject *self, PyObject *text)
{
    return encode_as(self, text, 0, 0, piece_at);
}

PyDoc_STRVAR(spans_doc,
             "spans($self, text, /)\n--\n\nThe bytes (begin, end) of normalize(text), in UTF-8, from which each "
             "token is made, a list.");

static PyObject *spans(PyObject *self, PyObject *text)
{
    return encode_as(self, text, 0, 0, span_at);
}

PyDoc_STRVAR(decode_doc, "decode($self, ids, /)\n--\n\nThe text of tokens, an iterable of int.");

static PyObject *decode(PyObject *self, PyObject *from)
{
    PyObject *items = PySequence_Tuple(from), *text = NULL;
    if (!items) return NULL;
    const Py_ssize_t count = PyTuple_Size(items);
    const int size = attend_tokenizer_size(tokenizer_of(self));
    int *ids = count < INT_MAX ? PyMem_Calloc((size_t)count + 1, sizeof *ids) : NULL;
    attend_string out = { 0 };
    if (!ids) PyErr_NoMemory();
    for (Py_ssize_t i = 0; ids && i < count && !PyErr_Occurred(); i++) {
        const long id = PyLong_AsLong(PyTuple_GetItem(items, i));
        ids[i] = (int)id;
        if (!PyErr_Occurred() && (id < 0 || id >= size))
            core_fail(ATTEND_BAD_USAGE, "there is no token %ld: the vocabulary has %d", id, size);
    }
    if (ids && !PyErr_Occurred()) {
        const int status = attend_tokenizer_decode(tokenizer_of(self), ids, (int)count, &out);
        text = status == ATTEND_OK ? PyUnicode_DecodeUTF8(out.text ? out.text : "", (Py_ssize_t)out.size, "replace")
                                   : core_raise(status);
    }
    attend_string_free(&out);
    PyMem_Free(ids);
    Py_DECREF(items);
    return text;
}

PyDoc_STRVAR(normalize_doc,
             "normalize($self, text, /)\n--\n\nA text as the tokenizer reads it: in NFC, and in lower case if "
             "it has that option.");

static PyObject *normalize(PyObject *self, PyObject *text)
{
    Py_ssize_t size;
    const char *bytes = core_utf8(text, "text", &size);
    attend_string out = { 0 };
    if (!bytes) return NULL;
    const int status = attend_tokenizer_normalize(tokenizer_of(self), bytes, (size_t)size, &out);
    PyObject *result = status == ATTEND_OK
                           ? PyUnicode_DecodeUTF8(out.text ? out.text : "", (Py_ssize_t)out.size, "replace")
                           : core_raise(status);
    attend_string_free(&out);
    return result;
}

PyDoc_STRVAR(token_doc, "token($self, id, /)\n--\n\nA token as the vocabulary spells it.");

static PyObject *token(PyObject *self, PyObject *number)
{
    const long id = PyLong_AsLong(number);
    if (id == -1 && PyErr_Occurred()) return NULL;
    const char *text = id >= 0 && id < INT_MAX ? attend_tokenizer_token(tokenizer_of(self), (int)id) : NULL;
    if (text) return core_text(text);
    return core_fail(ATTEND_BAD_USAGE, "there is no token %ld: the vocabulary has %d", id,
                     attend_tokenizer_size(tokenizer_of(self)));
}

/* ---- the type ---- */

static Py_ssize_t length(PyObject *self)
{
    return attend_tokenizer_size(tokenizer_of(self));
}

static PyObject *get_kind(PyObject *self, void *closure)
{
    (void)closure;
    return core_text(attend_token_kind_name(attend_tokenizer_kind(tokenizer_of(self))));
}

static PyObject *get_lowercase(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(attend_tokenizer_is_lowercase(tokenizer_of(self)));
}

static PyObject *represent(PyObject *self)
{
    return PyUnicode_FromFormat("<attend.Tokenizer %s, %zd tokens>",
                                attend_token_kind_name(attend_tokenizer_kind(tokenizer_of(self))), length(self));
}

static PyMethodDef methods[] = {
    { "learn", CORE_METHOD(learn), METH_VARARGS | METH_KEYWORDS | METH_STATIC, learn_doc },
    { "encode", CORE_METHOD(encode), METH_VARARGS | METH_KEYWORDS, encode_doc },
    { "tokenize", tokenize, METH_O, tokenize_doc },
    { "spans", spans, METH_O, spans_doc },
    { "decode", decode, METH_O, decode_doc },
    { "normalize", normalize, METH_O, normalize_doc },
    { "token", token, METH_O, token_doc },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef properties[] = {
    { "kind", get_kind, NULL, "'bpe', 'word', 'char' or 'jamo'.", NULL },
    { "lowercase", get_lowercase, NULL, "Whether texts are lower-cased.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(tokenizer_doc, "Text to tokens and back. Tokenizer.learn makes one; those of a model are\n"
                            "Model.source_tokenizer and Model.target_tokenizer. len() is the size of the vocabulary.");

static PyType_Slot slots[] = {
    { Py_tp_doc, (void *)tokenizer_doc },
    { Py_tp_dealloc, tokenizer_free },
    { Py_tp_repr, represent },
    { Py_tp_methods, methods },
    { Py_tp_getset, properties },
    { Py_sq_length, length },
    { 0, NULL },
};
static PyType_Spec spec = { "attend.Tokenizer", sizeof(tokenizer_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };

int core_tokenizer_add(PyObject *module)
{
    return core_type_add(module, &spec, &tokenizer_type);
}
