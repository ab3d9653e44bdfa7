/* errors.c: one exception for each status of the library. Each is a subclass of attend.Error and, where Python has one,
 * of the exception that Python programs expect. */
#include "core.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { STATUSES = ATTEND_BUSY + 1 };
static PyObject *errors[STATUSES]; /* [ATTEND_OK]: the base of all */

static const struct {
    const char *name, *doc;
} descriptions[STATUSES] = {
    [ATTEND_OK] = { "attend.Error", "The base of all exceptions of this module." },
    [ATTEND_FAILED] = { "attend.FailedError",
                        "An operation failed: training diverged, a request is not supported, or an internal error." },
    [ATTEND_BAD_USAGE] = { "attend.UsageError", "An argument is invalid. Also a ValueError." },
    [ATTEND_BAD_DATA] = { "attend.DataError", "Input data is invalid. Also a ValueError." },
    [ATTEND_BAD_MODEL] = { "attend.ModelError", "A model file is invalid. Also a ValueError." },
    [ATTEND_IO] = { "attend.FileError", "Reading or writing failed. Also an OSError." },
    [ATTEND_NO_MEMORY] = { "attend.OutOfMemoryError", "There is not enough memory. Also a MemoryError." },
    [ATTEND_BUSY] = { "attend.BusyError", "A queue is full; the same request may succeed later." },
};

static PyObject *python_base(int status)
{
    switch (status) {
    case ATTEND_FAILED:
    case ATTEND_BUSY:
        return PyExc_RuntimeError;
    case ATTEND_IO:
        return PyExc_OSError;
    case ATTEND_NO_MEMORY:
        return PyExc_MemoryError;
    default:
        return PyExc_ValueError;
    }
}

int core_errors_add(PyObject *module)
{
    for (int status = 0; status < STATUSES; status++) {
        PyObject *bases =
            status == ATTEND_OK ? Py_NewRef(PyExc_Exception) : PyTuple_Pack(2, errors[ATTEND_OK], python_base(status));
        if (!bases) return -1;
        errors[status] = PyErr_NewExceptionWithDoc(descriptions[status].name, descriptions[status].doc, bases, NULL);
        Py_DECREF(bases);
        if (!errors[status] ||
            PyModule_AddObjectRef(module, descriptions[status].name + sizeof "attend", errors[status]) < 0)
            return -1;
    }
    return 0;
}

int core_errors_import(void)
{
    PyObject *core = PyImport_ImportModule("attend._core");
    for (int status = 0; core && status < STATUSES; status++) {
        errors[status] = PyObject_GetAttrString(core, descriptions[status].name + sizeof "attend");
        if (!errors[status]) Py_CLEAR(core);
    }
    Py_XDECREF(core);
    return core ? 0 : -1;
}

/* Sets `errno` of a FileError: the library's messages end with the text of the system's error. */
static void raise_file_error(const char *message)
{
    enum { ERRORS = 134 };
    const size_t length = strlen(message);
    int found = 0;
    for (int e = 1; !found && e < ERRORS; e++) {
        const char *text = strerror(e);
        const size_t n = strlen(text);
        if (n < length && strcmp(message + length - n, text) == 0 && message[length - n - 1] == ' ') found = e;
    }
    if (!found && strstr(message, " does not exist")) found = ENOENT; /* a directory, with advice */
    PyObject *error = PyObject_CallFunction(errors[ATTEND_IO], "s", message);
    PyObject *number = error && found ? PyLong_FromLong(found) : NULL;
    if (number && PyObject_SetAttrString(error, "errno", number) < 0) Py_CLEAR(error);
    if (error && !PyErr_Occurred()) PyErr_SetObject(errors[ATTEND_IO], error);
    Py_XDECREF(number);
    Py_XDECREF(error);
}

PyObject *core_raise(int status)
{
    if (PyErr_Occurred()) return NULL;
    if (status == ATTEND_IO) {
        raise_file_error(attend_message());
        return NULL;
    }
    PyErr_SetString(errors[status > 0 && status < STATUSES ? status : ATTEND_FAILED], attend_message());
    return NULL;
}

PyObject *core_fail(int status, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    attend_fail(status, "%s", text);
    return core_raise(status);
}
