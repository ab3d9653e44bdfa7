/* array.c: attend.Array, numbers that the library computed. It exports the buffer protocol and DLPack, so that NumPy,
 * PyTorch and others read and write its memory without a copy. */
#include "core.h"

#include "dlpack.h"

#include <attend/real.h>
#include <stdlib.h>
#include <string.h>

#ifdef ATTEND_DOUBLE
static char format[] = "d";
static const char type_name[] = "float64";
#else
static char format[] = "f";
static const char type_name[] = "float32";
#endif

typedef struct array {
    PyObject_HEAD PyObject *owner; /* of the memory; NULL: the array itself */
    attend_real *data;
    int rank;
    Py_ssize_t shape[CORE_MAX_RANK], strides[CORE_MAX_RANK]; /* strides in bytes */
} array;

static PyTypeObject *array_type;

static size_t element_count(const array *a)
{
    size_t count = 1;
    for (int i = 0; i < a->rank; i++) count *= (size_t)a->shape[i];
    return count;
}

/* The memory belongs to the owner; NULL: to the array. */
static array *make(int rank, const Py_ssize_t *shape, attend_real *data, PyObject *owner)
{
    array *a = PyObject_New(array, array_type);
    if (!a) return NULL;
    a->owner = Py_XNewRef(owner);
    a->data = data;
    a->rank = rank;
    Py_ssize_t stride = (Py_ssize_t)sizeof *data;
    for (int i = rank - 1; i >= 0; i--) {
        a->shape[i] = shape[i], a->strides[i] = stride;
        stride *= shape[i];
    }
    return a;
}

PyObject *core_array_new(int rank, const Py_ssize_t *shape, void **data)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        if (shape[i] > 0 && count > PY_SSIZE_T_MAX / sizeof(attend_real) / (size_t)shape[i]) return PyErr_NoMemory();
        count *= (size_t)shape[i];
    }
    const size_t bytes = (count * sizeof(attend_real) + 63) / 64 * 64;
    attend_real *numbers = aligned_alloc(64, bytes ? bytes : 64);
    if (!numbers) return PyErr_NoMemory();
    memset(numbers, 0, bytes);
    array *a = make(rank, shape, numbers, NULL);
    if (!a) free(numbers);
    if (a) *data = numbers;
    return (PyObject *)a;
}

static void array_free(PyObject *self)
{
    array *a = (array *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (!a->owner) free(a->data);
    Py_XDECREF(a->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- the buffer protocol ---- */

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    array *a = (array *)self;
    const Py_ssize_t bytes = (Py_ssize_t)(element_count(a) * sizeof *a->data);
    if (PyBuffer_FillInfo(view, self, a->data, bytes, 0, flags) < 0) return -1;
    view->itemsize = (Py_ssize_t)sizeof *a->data;
    view->format = flags & PyBUF_FORMAT ? format : NULL;
    view->ndim = flags & PyBUF_ND ? a->rank : 1;
    view->shape = flags & PyBUF_ND ? a->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? a->strides : NULL;
    return 0;
}

/* ---- DLPack ---- */

typedef struct shared {
    dlpack_managed managed;
    int64_t shape[CORE_MAX_RANK], strides[CORE_MAX_RANK];
} shared;

/* Any thread may call it, with or without the GIL. */
static void shared_free(dlpack_managed *m)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)m->context);
    PyGILState_Release(state);
    free(m);
}

static void capsule_free(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, DLPACK_NAME)) return; /* its content was taken over */
    dlpack_managed *m = PyCapsule_GetPointer(capsule, DLPACK_NAME);
    m->deleter(m);
}

PyDoc_STRVAR(dlpack_doc, "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
                         "A DLPack capsule of the same memory, for torch.from_dlpack and others.");

static PyObject *to_dlpack(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
    array *a = (array *)self;
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!core_parse(arguments, keywords, "|$OOOO:__dlpack__", names, &stream, &version, &device, &copy)) return NULL;
    if (stream != Py_None) return PyErr_Format(PyExc_BufferError, "memory of the CPU has no streams");
    if (copy == Py_True) return PyErr_Format(PyExc_BufferError, "an attend.Array is shared, not copied");
    shared *s = calloc(1, sizeof *s);
    if (!s) return PyErr_NoMemory();
    for (int i = 0; i < a->rank; i++) {
        s->shape[i] = a->shape[i];
        s->strides[i] = a->strides[i] / (Py_ssize_t)sizeof *a->data;
    }
    s->managed = (dlpack_managed){ .tensor = { .data = a->data,
                                               .device_type = DLPACK_CPU,
                                               .rank = a->rank,
                                               .type = DLPACK_FLOAT,
                                               .bits = 8 * sizeof *a->data,
                                               .lanes = 1,
                                               .shape = s->shape,
                                               .strides = s->strides },
                                   .context = self,
                                   .deleter = shared_free };
    PyObject *capsule = PyCapsule_New(&s->managed, DLPACK_NAME, capsule_free);
    if (capsule)
        Py_INCREF(self);
    else
        free(s);
    return capsule;
}

static PyObject *dlpack_device(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("ii", DLPACK_CPU, 0);
}

/* ---- as a sequence ---- */

static Py_ssize_t length(PyObject *self)
{
    const array *a = (const array *)self;
    return a->rank ? a->shape[0] : 0;
}

/* A number, or an array of one axis less that shares the memory. Python adds the length to an index below 0. */
static PyObject *item(PyObject *self, Py_ssize_t i)
{
    array *a = (array *)self;
    if (a->rank == 0 || i < 0 || i >= a->shape[0])
        return PyErr_Format(PyExc_IndexError, "index %zd is out of range: the axis has length %zd", i, length(self));
    attend_real *data = a->data + i * (a->strides[0] / (Py_ssize_t)sizeof *a->data);
    if (a->rank == 1) return PyFloat_FromDouble((double)*data);
    return (PyObject *)make(a->rank - 1, a->shape + 1, data, self);
}

PyDoc_STRVAR(to_list_doc, "tolist($self)\n--\n\nThe numbers as nested lists of float.");

static PyObject *to_list(PyObject *self, PyObject *unused)
{
    const Py_ssize_t count = length(self);
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *x = item(self, i);
        if (x && Py_TYPE(x) == array_type) {
            PyObject *inner = to_list(x, unused);
            Py_DECREF(x);
            x = inner;
        }
        if (!x || PyList_SetItem(list, i, x) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *shape_of(PyObject *self, void *closure)
{
    (void)closure;
    const array *a = (const array *)self;
    PyObject *shape = PyTuple_New(a->rank);
    for (int i = 0; shape && i < a->rank; i++) {
        PyObject *n = PyLong_FromSsize_t(a->shape[i]);
        if (!n || PyTuple_SetItem(shape, i, n) < 0) Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *rank_of(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((const array *)self)->rank);
}

static PyObject *dtype_of(PyObject *self, void *closure)
{
    (void)self, (void)closure;
    return PyUnicode_FromString(type_name);
}

static PyObject *represent(PyObject *self)
{
    PyObject *shape = shape_of(self, NULL);
    PyObject *text = shape ? PyUnicode_FromFormat("<attend.Array of %s, shape %R>", type_name, shape) : NULL;
    Py_XDECREF(shape);
    return text;
}

/* ---- pickling, which copies the numbers ---- */

static PyObject *unpickle; /* the function _array of the module */

static PyObject *reduce(PyObject *self, PyObject *unused)
{
    const array *a = (const array *)self;
    (void)unused;
    return Py_BuildValue("O(Ny#)", unpickle, shape_of(self, NULL), (const char *)a->data,
                         (Py_ssize_t)(element_count(a) * sizeof *a->data));
}

static PyObject *from_bytes(PyObject *module, PyObject *arguments)
{
    PyObject *axes, *result = NULL;
    Py_ssize_t shape[CORE_MAX_RANK], size;
    const char *bytes;
    void *data;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!y#:_array", &PyTuple_Type, &axes, &bytes, &size)) return NULL;
    const Py_ssize_t rank = PyTuple_Size(axes);
    bool ok = rank <= CORE_MAX_RANK;
    for (Py_ssize_t i = 0; ok && i < rank; i++) {
        shape[i] = PyLong_AsSsize_t(PyTuple_GetItem(axes, i));
        if (PyErr_Occurred()) return NULL;
        ok = shape[i] >= 0 && shape[i] <= size;
    }
    if (ok && !(result = core_array_new((int)rank, shape, &data))) return NULL;
    if (ok && element_count((const array *)result) * sizeof(attend_real) == (size_t)size) {
        memcpy(data, bytes, (size_t)size);
        return result;
    }
    Py_XDECREF(result);
    return core_fail(ATTEND_BAD_USAGE, "a pickled attend.Array has %zd bytes, which do not fit its shape", size);
}

static PyMethodDef functions[] = {
    { "_array", from_bytes, METH_VARARGS, "_array($module, shape, bytes, /)\n--\n\nAn Array that was pickled." },
    { NULL, NULL, 0, NULL },
};

static PyMethodDef methods[] = {
    { "__reduce__", reduce, METH_NOARGS, "Pickles a copy of the numbers." },
    { "__dlpack__", CORE_METHOD(to_dlpack), METH_VARARGS | METH_KEYWORDS, dlpack_doc },
    { "__dlpack_device__", dlpack_device, METH_NOARGS, "(1, 0): the memory of the CPU." },
    { "tolist", to_list, METH_NOARGS, to_list_doc },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef properties[] = {
    { "shape", shape_of, NULL, "The lengths of the axes, a tuple.", NULL },
    { "ndim", rank_of, NULL, "The number of axes.", NULL },
    { "dtype", dtype_of, NULL, "The type of the numbers.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(array_doc,
             "Numbers that the library computed, row-major, with up to four axes.\n\n"
             "numpy.asarray, torch.from_dlpack and memoryview read and write the same memory, without a copy.\n"
             "Without any of them, index the array (a[0][3]) or convert it to lists (a.tolist()).");

static PyType_Slot slots[] = {
    { Py_tp_doc, (void *)array_doc },
    { Py_tp_dealloc, array_free },
    { Py_tp_repr, represent },
    { Py_tp_methods, methods },
    { Py_tp_getset, properties },
    { Py_sq_length, length },
    { Py_sq_item, item },
    { Py_bf_getbuffer, get_buffer },
    { 0, NULL },
};
static PyType_Spec spec = { "attend.Array", sizeof(array), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                            slots };

int core_array_add(PyObject *module)
{
    if (core_type_add(module, &spec, &array_type) < 0 || PyModule_AddFunctions(module, functions) < 0) return -1;
    unpickle = PyObject_GetAttrString(module, functions[0].ml_name);
    return unpickle ? 0 : -1;
}
