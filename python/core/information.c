/* information.c: the version, the machine and, in builds with tests, a way to make the library's allocations fail. */
#include "core.h"

#include <attend/processors.h>
#include <attend/sentences.h>
#include <attend/version.h>

#ifdef ATTEND_PYTHON_TESTS
/* core/memory.h; the module is linked with the static library. */
void attend_memory_refuse(long n);
long attend_memory_requests(void);

static PyObject *refuse(PyObject *self, PyObject *arguments)
{
    long n;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "l:_refuse_memory", &n)) return NULL;
    const long requests = attend_memory_requests();
    attend_memory_refuse(n);
    return PyLong_FromLong(requests);
}
#endif

PyDoc_STRVAR(split_doc,
             "split_sentences(text, /)\n--\n\n"
             "Splits a text into sentences by rules (docs/text.md). Returns a list of str, without the white\n"
             "space around them.");

static PyObject *split(PyObject *self, PyObject *text)
{
    Py_ssize_t size;
    const char *bytes = core_utf8(text, "text", &size);
    (void)self;
    if (!bytes) return NULL;
    PyObject *list = PyList_New(0);
    attend_sentence_reader r = attend_sentences_begin(bytes, (size_t)size);
    attend_span s;
    while (list && attend_sentence_next(&r, &s)) {
        PyObject *part = core_text_part(bytes, s), *stripped = part ? PyObject_CallMethod(part, "strip", NULL) : NULL;
        if (!stripped || PyList_Append(list, stripped) < 0) Py_CLEAR(list);
        Py_XDECREF(stripped);
        Py_XDECREF(part);
    }
    return list;
}

PyDoc_STRVAR(kernel_doc, "kernel_name()\n--\n\nThe kernels in use, such as 'avx2'.");

static PyObject *kernel(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return core_text(attend_kernel_name());
}

static PyMethodDef functions[] = {
    { "kernel_name", kernel, METH_NOARGS, kernel_doc },
    { "split_sentences", split, METH_O, split_doc },
#ifdef ATTEND_PYTHON_TESTS
    { "_refuse_memory", refuse, METH_VARARGS, "For tests: attend_memory_refuse; returns the requests before." },
#endif
    { NULL, NULL, 0, NULL },
};

int core_information_add(PyObject *module)
{
    if (PyModule_AddStringConstant(module, "__version__", attend_version()) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
