/* input.c: arrays of numbers that a caller passes: the buffer protocol, or DLPack for those that do not export it. */
#include "core.h"

#include "dlpack.h"

#include <attend/real.h>
#include <stdint.h>
#include <string.h>

static const char *kind_name(core_kind kind)
{
    if (kind == CORE_REAL) return sizeof(attend_real) == sizeof(double) ? "float64" : "float32";
    return kind == CORE_FLAG ? "bool or uint8" : "int32 or int64";
}

/* Whether numbers of a type and size can be read as `kind`; sets in->kind. */
static bool fits(core_input *in, core_kind kind, int type, size_t size)
{
    in->kind = kind;
    switch (kind) {
    case CORE_REAL:
        return type == DLPACK_FLOAT && size == sizeof(attend_real);
    case CORE_FLAG:
        return (type == DLPACK_BOOL || type == DLPACK_UINT) && size == 1;
    default:
        in->kind = size == 8 ? CORE_INT64 : CORE_INT32;
        return type == DLPACK_INT && (size == 8 || size == 4);
    }
}

static int type_of_format(const char *format)
{
    if (!format) return DLPACK_UINT;
    if (*format && strchr("@=<", *format)) format++;
    if (strlen(format) != 1) return -1;
    if (strchr("fd", *format)) return DLPACK_FLOAT;
    if (strchr("bilqn", *format)) return DLPACK_INT;
    return *format == '?' ? DLPACK_BOOL : *format == 'B' ? DLPACK_UINT : -1;
}

static bool refuse(const char *what, core_kind kind, const char *why)
{
    PyErr_Format(PyExc_TypeError, "%s must be a contiguous array of %s with at most %d axes%s", what, kind_name(kind),
                 CORE_MAX_RANK, why);
    return false;
}

static bool open_buffer(core_input *in, PyObject *from, core_kind kind, const char *what)
{
    if (PyObject_GetBuffer(from, &in->buffer, PyBUF_FORMAT | PyBUF_STRIDES) < 0) return false;
    in->is_open = in->has_buffer = true;
    const Py_buffer *b = &in->buffer;
    if (b->ndim > CORE_MAX_RANK || !fits(in, kind, type_of_format(b->format), (size_t)b->itemsize))
        return refuse(what, kind, "");
    if (!PyBuffer_IsContiguous(b, 'C')) return refuse(what, kind, "; make it contiguous with numpy.ascontiguousarray");
    in->data = b->buf, in->rank = b->ndim, in->is_readonly = b->readonly;
    for (int i = 0; i < b->ndim; i++) in->shape[i] = b->shape[i];
    return true;
}

static bool is_contiguous(const dlpack_tensor *t)
{
    int64_t stride = 1;
    for (int i = t->rank - 1; t->strides && i >= 0; i--) {
        if (t->shape[i] == 0) return true;
        if (t->shape[i] > 1 && t->strides[i] != stride) return false;
        stride *= t->shape[i];
    }
    return true;
}

/* The capsule is not renamed, so that its own destructor returns the memory. */
static bool open_dlpack(core_input *in, PyObject *from, core_kind kind, const char *what)
{
    in->capsule = PyObject_CallMethod(from, "__dlpack__", NULL);
    if (!in->capsule) return false;
    in->is_open = true;
    const dlpack_managed *m = PyCapsule_GetPointer(in->capsule, DLPACK_NAME);
    if (!m) return false;
    const dlpack_tensor *t = &m->tensor;
    if (t->device_type != DLPACK_CPU) return refuse(what, kind, ", in the memory of the CPU");
    if (t->rank > CORE_MAX_RANK || t->lanes != 1 || !fits(in, kind, t->type, t->bits / 8U))
        return refuse(what, kind, "");
    if (!is_contiguous(t)) return refuse(what, kind, "; make it contiguous with tensor.contiguous()");
    in->data = (char *)t->data + t->byte_offset;
    in->rank = t->rank;
    for (int i = 0; i < t->rank; i++) in->shape[i] = (Py_ssize_t)t->shape[i];
    return true;
}

/* Arrays without numbers may have no memory; others need aligned memory. */
static bool check_memory(core_input *in, core_kind kind, const char *what)
{
    static int64_t nothing;
    const size_t sizes[] = { sizeof(attend_real), 1, sizeof(int32_t), sizeof(int64_t) };
    bool is_empty = false;
    for (int i = 0; i < in->rank; i++) is_empty |= in->shape[i] == 0;
    if (is_empty) in->data = &nothing;
    if (in->data && (uintptr_t)in->data % sizes[in->kind] == 0) return true;
    return refuse(what, kind, "; its memory is not aligned: copy it");
}

bool core_input_open(core_input *in, PyObject *from, core_kind kind, const char *what)
{
    *in = (core_input){ 0 };
    bool ok;
    const int has_dlpack = PyObject_CheckBuffer(from) ? 0 : core_has_attribute(from, "__dlpack__");
    if (PyObject_CheckBuffer(from))
        ok = open_buffer(in, from, kind, what);
    else if (has_dlpack > 0)
        ok = open_dlpack(in, from, kind, what);
    else
        ok = has_dlpack == 0 && refuse(what, kind, ": an object with the buffer protocol or __dlpack__");
    ok = ok && check_memory(in, kind, what);
    if (!ok) core_input_close(in);
    return ok;
}

void core_input_close(core_input *in)
{
    if (in->has_buffer) PyBuffer_Release(&in->buffer);
    Py_XDECREF(in->capsule);
    *in = (core_input){ 0 };
}
