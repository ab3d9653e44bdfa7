/* device.h: a device: its memory and the table of functions that compute with the numbers in it.
 *
 * Purpose    Operations describe what is computed: shapes, nodes, and the structure of the derivative. Everything that
 *            reads or writes numbers is a function of this table. Another kind of device is another table.
 *            functions.h lists the functions.
 * Memory     Pointers to numbers are memory of the device. Index arrays (const int *), lengths and argument structs are
 *            host memory and are not used after the call returns.
 * Threads    Contexts of several threads may call a device at once. A function may use the threads of c->pool; results
 *            are bit-identical for any number of them.
 * Failure    A function that returns false has run out of scratch memory. The others cannot fail. */
#ifndef ATTEND_DEVICE_DEVICE_H
#define ATTEND_DEVICE_DEVICE_H

#include "core/tape.h"
#include "device/functions.h"

/* The precision of products with such weights, if `compute` is asked for. Products with int8 weights have their own. With
 * bf16 weights and bf16x3, fp32 is as fast and more exact. */
attend_compute_precision attend_product_precision(attend_precision weights, attend_compute_precision compute);

typedef struct attend_device {
    device_memory memory; /* first, so that a context's memory is its device */
#define ATTEND_MEMBER(name, parameters, arguments)              void(*name) parameters;
#define ATTEND_RESULT_MEMBER(type, name, parameters, arguments) type(*name) parameters;
    ATTEND_DEVICE_FUNCTIONS(ATTEND_MEMBER, ATTEND_RESULT_MEMBER)
    ATTEND_DEVICE_QUERIES(ATTEND_RESULT_MEMBER)
#undef ATTEND_MEMBER
#undef ATTEND_RESULT_MEMBER
} attend_device;

extern const attend_device attend_device_cpu, attend_device_guard;

/* The device of a memory. */
static inline const attend_device *attend_device_at(const device_memory *m)
{
    return (const attend_device *)m;
}

/* The device of a context. */
static inline const attend_device *attend_device_of(const attend_ctx *c)
{
    return attend_device_at(c->memory);
}

/* The numbers of a variable, which may be a quantised parameter. */
static inline device_table attend_var_table(const attend_var *v)
{
    if (v->value) return (device_table){ .value = v->value };
    return (device_table){ v->param->precision, NULL, v->param->quantized, v->param->scales };
}

#endif
