/* records.c: types with named fields that are also tuples, as collections.namedtuple makes them, but made from C. */
#include "core.h"

#include <string.h>

PyTypeObject *core_record_type(PyObject *module, const char *name, const char *doc, const char *const *fields)
{
    enum { MAX_FIELDS = 24 };
    static char full[64]; /* Python copies it */
    PyStructSequence_Field list[MAX_FIELDS + 1] = { { NULL, NULL } };
    int count = 0;
    for (; fields[2 * count] && count < MAX_FIELDS; count++)
        list[count] = (PyStructSequence_Field){ fields[2 * count], fields[2 * count + 1] };
    PyOS_snprintf(full, sizeof full, "attend.%s", name);
    PyStructSequence_Desc description = { full, doc, list, count };
    PyTypeObject *type = PyStructSequence_NewType(&description);
    if (type && PyModule_AddObjectRef(module, name, (PyObject *)type) < 0) Py_CLEAR(type);
    return type;
}

PyObject *core_record(PyTypeObject *type, int count, PyObject *const *values)
{
    bool ok = true;
    for (int i = 0; i < count; i++) ok &= values[i] != NULL;
    PyObject *record = ok ? PyStructSequence_New(type) : NULL;
    for (int i = 0; i < count; i++) {
        if (record)
            PyStructSequence_SetItem(record, i, values[i]);
        else
            Py_XDECREF(values[i]);
    }
    return record;
}
