/* vector_table_bf16.c: the table of AVX-512 with VNNI and BF16: the functions of VNNI, and products of bfloat16 numbers. */
#include "kernel/vec_avx512bf16.h"

#include "kernel/tables.h"
#include "kernel/vector_fields.h"

const attend_kernel_table VBF16(table) = {
    .name = VTABLE_NAME "bf16", ATTEND_VECTOR_FIELDS, ATTEND_VECTOR_INT8_FIELDS, .bf16 = &VBF16(kernels)
};
