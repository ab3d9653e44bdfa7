/* arguments.c: arguments of functions, with their limits. */
#include "core.h"

#include <attend/parse.h>
#include <attend/processors.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* Names the first argument that is too large for an int, if there is one. */
static void refuse_overflow(PyObject *keywords)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    PyErr_Clear();
    while (keywords && PyDict_Next(keywords, &at, &name, &value)) {
        int overflow = 0;
        if (!PyLong_Check(value)) continue;
        const long long n = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (!overflow && n >= INT_MIN && n <= INT_MAX) continue;
        PyObject *text = PyUnicode_FromFormat("%U: must be at most %d in magnitude", name, INT_MAX);
        const char *chars = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
        if (chars) core_fail(ATTEND_BAD_USAGE, "%s", chars);
        Py_XDECREF(text);
        return;
    }
    core_fail(ATTEND_BAD_USAGE, "a number must be at most %d in magnitude", INT_MAX);
}

bool core_parse(PyObject *arguments, PyObject *keywords, const char *format, char **names, ...)
{
    va_list to;
    va_start(to, names);
    const bool ok = PyArg_VaParseTupleAndKeywords(arguments, keywords, format, names, to);
    va_end(to);
    if (!ok && PyErr_ExceptionMatches(PyExc_OverflowError)) refuse_overflow(keywords);
    return ok;
}

int core_uint64(PyObject *from, void *to)
{
    PyObject *index = PyNumber_Index(from);
    if (!index) return 0;
    const unsigned long long n = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        core_fail(ATTEND_BAD_USAGE, "seed and stream must be 0 to 2**64 - 1");
    }
    *(unsigned long long *)to = n;
    return !PyErr_Occurred();
}

int core_threads(PyObject *from, void *to)
{
    enum { MAX_THREADS = 1024 };
    int overflow = 0;
    const long n = from == Py_None ? attend_processors_threads() : PyLong_AsLongAndOverflow(from, &overflow);
    if (PyErr_Occurred()) return 0;
    if (overflow || n < 1 || n > MAX_THREADS) {
        core_fail(ATTEND_BAD_USAGE, "threads must be 1 to %d", MAX_THREADS);
        return 0;
    }
    *(int *)to = (int)n;
    return 1;
}

/* A number with one of the units that the command accepts. */
static bool read_size(const char *text, size_t *bytes)
{
    static const char units[] = "kMGT";
    const char *end;
    double x;
    if (!attend_parse_real(text, &end, &x) || !(x >= 0)) return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (int i = 0; unit && i <= unit - units; i++) x *= 1024;
    if ((*end && (!unit || end[1])) || !(x < (double)SIZE_MAX)) return false;
    *bytes = (size_t)x;
    return true;
}

int core_memory(PyObject *from, void *to)
{
    if (from == Py_None) return 1;
    if (PyUnicode_Check(from)) {
        const char *text = PyUnicode_AsUTF8AndSize(from, NULL);
        if (!text) return 0;
        if (read_size(text, to)) return 1;
        core_fail(ATTEND_BAD_USAGE, "memory='%.40s': must be bytes, or a size such as '2G', '500M' or '100k'", text);
        return 0;
    }
    PyObject *index = PyNumber_Index(from);
    if (!index) return 0;
    const size_t n = PyLong_AsSize_t(index);
    Py_DECREF(index);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        core_fail(ATTEND_BAD_USAGE, "memory must be at least 0 bytes and fit into 64 bits");
    }
    *(size_t *)to = n;
    return !PyErr_Occurred();
}

const char *core_utf8(PyObject *from, const char *what, Py_ssize_t *size)
{
    if (PyUnicode_Check(from)) return PyUnicode_AsUTF8AndSize(from, size);
    PyErr_Format(PyExc_TypeError, "%s must be a str", what);
    return NULL;
}
