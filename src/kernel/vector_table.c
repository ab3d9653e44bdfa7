/* vector_table.c: the table of one instruction set. */
#include ATTEND_VECTOR_HEADER
#include "kernel/tables.h"

const attend_kernel_table VNAME(table) = {
    .name = VTABLE_NAME,
    .exp = VNAME(exp),
    .tanh = VNAME(tanh),
    .sigmoid = VNAME(sigmoid),
    .max = VNAME(max),
    .exp_sum = VNAME(exp_sum),
    .sum = VNAME(sum),
    .dot = VNAME(dot),
    .sum_squares = VNAME(sum_squares),
    .add = VNAME(add),
    .axpy = VNAME(axpy),
    .scale = VNAME(scale),
    .mul = VNAME(mul),
    .mul_add = VNAME(mul_add),
    .scale_shift = VNAME(scale_shift),
    .layer_norm = VNAME(layer_norm),
    .layer_norm_backward = VNAME(layer_norm_backward),
    .simple = VNAME(simple),
    .simple_backward = VNAME(simple_backward),
    .gru = VNAME(gru),
    .gru_backward = VNAME(gru_backward),
    .lstm = VNAME(lstm),
    .lstm_backward = VNAME(lstm_backward),
    .adam = VNAME(adam),
    .panel = 2 * VLANES,
    .packed = VNAME(packed),
};
