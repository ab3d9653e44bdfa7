/* vector_table_vnni.c: the table of AVX-512 with VNNI: the functions of AVX-512, and its own products of 8-bit numbers. */
#include "kernel/vec_avx512vnni.h"

#include "kernel/tables.h"
#include "kernel/vector_fields.h"

const attend_kernel_table
    VINT8(table) = { .name = VTABLE_NAME "vnni", ATTEND_VECTOR_FIELDS, ATTEND_VECTOR_INT8_FIELDS };
