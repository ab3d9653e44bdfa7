/* texts.c: texts, pairs, file names and links between Python and the library. */
#include "core.h"

#include <limits.h>
#include <string.h>

/* A tuple of the items, so that no other thread can change the list while the GIL is released. */
static PyObject *items_of(PyObject *from, const char *what)
{
    if (PyUnicode_Check(from) || PyBytes_Check(from)) {
        PyErr_Format(PyExc_TypeError, "%s must be a list of str; for a single text, pass [text]", what);
        return NULL;
    }
    PyObject *items = PySequence_Tuple(from);
    if (items && PyTuple_Size(items) > INT_MAX - 1) {
        Py_DECREF(items);
        return core_fail(ATTEND_BAD_USAGE, "%s has more than %d items", what, INT_MAX - 1);
    }
    return items;
}

void core_texts_free(core_texts *t)
{
    PyMem_Free((void *)t->text);
    PyMem_Free(t->size);
    Py_XDECREF(t->items);
    *t = (core_texts){ 0 };
}

/* Makes the arrays of a list of texts; steals the reference to the tuple. */
static bool texts_take(core_texts *t, PyObject *items, const char *what)
{
    *t = (core_texts){ .items = items };
    if (!items) return false;
    t->count = (int)PyTuple_Size(items);
    t->text = PyMem_Calloc((size_t)t->count + 1, sizeof *t->text);
    t->size = PyMem_Calloc((size_t)t->count + 1, sizeof *t->size);
    bool ok = t->text && t->size;
    if (!ok) PyErr_NoMemory();
    for (int i = 0; ok && i < t->count; i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        Py_ssize_t size = 0;
        ok = item && PyUnicode_Check(item);
        if (ok) {
            t->text[i] = PyUnicode_AsUTF8AndSize(item, &size);
            ok = t->text[i] != NULL;
            t->size[i] = (size_t)size;
        } else {
            PyErr_Format(PyExc_TypeError, "%s: item %d is not a str", what, i);
        }
    }
    if (!ok) core_texts_free(t);
    return ok;
}

bool core_texts_read(core_texts *t, PyObject *from, const char *what)
{
    return texts_take(t, items_of(from, what), what);
}

bool core_texts_have_no_nul(const core_texts *t, const char *what)
{
    for (int i = 0; i < t->count; i++)
        if (strlen(t->text[i]) != t->size[i])
            return core_fail(ATTEND_BAD_DATA, "%s: item %d contains a NUL character", what, i) != NULL;
    return true;
}

void core_pairs_free(core_pairs *p)
{
    core_texts_free(&p->source);
    core_texts_free(&p->target);
}

bool core_pairs_read(core_pairs *p, PyObject *from, const char *what)
{
    *p = (core_pairs){ 0 };
    PyObject *items = items_of(from, what);
    if (!items) return false;
    const Py_ssize_t count = PyTuple_Size(items);
    PyObject *sides[2] = { PyTuple_New(count), PyTuple_New(count) };
    bool ok = sides[0] && sides[1];
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        PyObject *pair = PyTuple_GetItem(items, i);
        ok = !PyUnicode_Check(pair) && PySequence_Check(pair) && PySequence_Size(pair) == 2;
        if (!ok && !PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s: item %zd is not a pair (source, target)", what, i);
        for (int side = 0; ok && side < 2; side++) {
            PyObject *text = PySequence_GetItem(pair, side);
            ok = text && PyTuple_SetItem(sides[side], i, text) == 0; /* steals the reference */
        }
    }
    Py_DECREF(items);
    if (!ok) {
        Py_XDECREF(sides[0]);
        Py_XDECREF(sides[1]);
        return false;
    }
    ok = texts_take(&p->source, sides[0], what);
    if (!ok)
        Py_DECREF(sides[1]);
    else
        ok = texts_take(&p->target, sides[1], what);
    ok = ok && core_texts_have_no_nul(&p->source, what) && core_texts_have_no_nul(&p->target, what);
    if (!ok) core_pairs_free(p);
    return ok;
}

/* ---- file names ---- */

void core_paths_free(core_paths *p)
{
    PyMem_Free((void *)p->names);
    Py_XDECREF(p->items);
    *p = (core_paths){ 0 };
}

static int is_path(PyObject *o)
{
    return PyUnicode_Check(o) || PyBytes_Check(o) ? 1 : core_has_attribute(o, "__fspath__");
}

bool core_paths_read(core_paths *p, PyObject *from, const char *what)
{
    *p = (core_paths){ 0 };
    const int is_single = is_path(from);
    PyObject *items = is_single > 0 ? PyTuple_Pack(1, from) : is_single == 0 ? PySequence_Tuple(from) : NULL;
    if (!items && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s must be a path or a list of paths", what);
    }
    if (!items) return false;
    const Py_ssize_t count = PyTuple_Size(items);
    bool ok = count > 0 && count < INT_MAX;
    if (!ok) PyErr_Format(PyExc_TypeError, "%s must be a path or a list of paths", what);
    p->items = ok ? PyTuple_New(count) : NULL;
    p->names = ok ? PyMem_Calloc((size_t)count + 1, sizeof *p->names) : NULL;
    p->count = (int)count;
    ok = p->items && p->names;
    if (!ok && !PyErr_Occurred()) PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        PyObject *bytes = NULL;
        ok = PyUnicode_FSConverter(PyTuple_GetItem(items, i), &bytes);
        if (ok) ok = (p->names[i] = PyBytes_AsString(bytes)) != NULL;
        if (ok)
            ok = PyTuple_SetItem(p->items, i, bytes) == 0;
        else
            Py_XDECREF(bytes);
    }
    Py_DECREF(items);
    if (!ok) core_paths_free(p);
    return ok;
}

bool core_path_read(core_paths *p, PyObject *from, const char *what)
{
    *p = (core_paths){ 0 };
    const int is_single = is_path(from);
    if (is_single == 0) PyErr_Format(PyExc_TypeError, "%s must be a path", what);
    return is_single > 0 && core_paths_read(p, from, what);
}

/* ---- names, links ---- */

int core_has_attribute(PyObject *o, const char *name)
{
    PyObject *value = PyObject_GetAttrString(o, name);
    Py_XDECREF(value);
    if (value) return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
}

int core_dict_find(PyObject *dict, const char *key, PyObject **value)
{
    PyObject *name = PyUnicode_FromString(key);
    *value = name ? PyDict_GetItemWithError(dict, name) : NULL;
    Py_XDECREF(name);
    return *value ? 1 : PyErr_Occurred() ? -1 : 0;
}

bool core_choice(const char *name, const char *const *names, const char *what, int *index)
{
    char list[400] = "";
    for (*index = 0; names[*index]; ++*index)
        if (strcmp(names[*index], name) == 0) return true;
    for (int i = 0; names[i]; i++) {
        const size_t n = strlen(list);
        PyOS_snprintf(list + n, sizeof list - n, "%s'%s'", i ? ", " : "", names[i]);
    }
    core_fail(ATTEND_BAD_USAGE, "%s='%.80s': must be one of %s", what, name, list);
    return false;
}

PyObject *core_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *core_text_part(const char *text, attend_span span)
{
    return PyUnicode_DecodeUTF8(text + span.begin, span.end - span.begin, "replace");
}

PyObject *core_links(const attend_word_link *links, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *link = Py_BuildValue("ii", links[i].source, links[i].target);
        if (!link || PyList_SetItem(list, i, link) < 0) Py_CLEAR(list);
    }
    return list;
}

bool core_links_read(PyObject *from, attend_word_link **links, int *count)
{
    PyObject *items = PySequence_Tuple(from);
    *links = NULL;
    if (!items) return false;
    const Py_ssize_t size = PyTuple_Size(items);
    *count = (int)size;
    *links = size < INT_MAX ? PyMem_Calloc((size_t)size + 1, sizeof **links) : NULL;
    bool ok = *links != NULL;
    if (!ok) PyErr_NoMemory();
    for (int i = 0; ok && i < *count; i++) {
        PyObject *link = PySequence_Tuple(PyTuple_GetItem(items, i));
        int sure = 1;
        ok = link && PyArg_ParseTuple(link,
                                      "ii|p;a link is a pair (source, target), with True for a sure link as an "
                                      "optional third item",
                                      &(*links)[i].source, &(*links)[i].target, &sure);
        (*links)[i].sure = sure;
        Py_XDECREF(link);
    }
    Py_DECREF(items);
    if (!ok) {
        PyMem_Free(*links);
        *links = NULL;
    }
    return ok;
}
