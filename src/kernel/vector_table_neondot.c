/* vector_table_neondot.c: the table of NEON with the dot product extension: the functions of NEON, and its own products
 * of 8-bit numbers. */
#include "kernel/vec_neondot.h"

#include "kernel/tables.h"
#include "kernel/vector_fields.h"

const attend_kernel_table VINT8(table) = { .name = VTABLE_NAME "dot", ATTEND_VECTOR_FIELDS, ATTEND_VECTOR_INT8_FIELDS };
