/* vector_table.c: the table of one instruction set. */
#include ATTEND_VECTOR_HEADER
#include "kernel/tables.h"
#include "kernel/vector_fields.h"

const attend_kernel_table VNAME(table) = { .name = VTABLE_NAME, ATTEND_VECTOR_FIELDS, ATTEND_VECTOR_INT8_FIELDS };
