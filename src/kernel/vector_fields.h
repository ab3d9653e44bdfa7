/* vector_fields.h: the members that every kernel table of an instruction set has; vector_*.c defines them. The name and
 * the products of 8-bit numbers, which differ between tables of the same vectors, are not among them. */
#ifndef ATTEND_VECTOR_FIELDS_H
#define ATTEND_VECTOR_FIELDS_H

/* clang-format off */
#define ATTEND_VECTOR_FIELDS \
    .exp = VNAME(exp), \
    .tanh = VNAME(tanh), \
    .sigmoid = VNAME(sigmoid), \
    .max = VNAME(max), \
    .exp_sum = VNAME(exp_sum), \
    .sum = VNAME(sum), \
    .dot = VNAME(dot), \
    .sum_squares = VNAME(sum_squares), \
    .add = VNAME(add), \
    .axpy = VNAME(axpy), \
    .weighted_sum = VNAME(weighted_sum), \
    .dot_rows = VNAME(dot_rows), \
    .weighted_sum_rows = VNAME(weighted_sum_rows), \
    .scale = VNAME(scale), \
    .mul = VNAME(mul), \
    .mul_add = VNAME(mul_add), \
    .scale_shift = VNAME(scale_shift), \
    .rotate_pairs = VNAME(rotate_pairs), \
    .rotate_pairs_backward = VNAME(rotate_pairs_backward), \
    .relu = VNAME(relu), \
    .relu_backward = VNAME(relu_backward), \
    .gelu = VNAME(gelu), \
    .gelu_backward = VNAME(gelu_backward), \
    .swiglu = VNAME(swiglu), \
    .swiglu_backward = VNAME(swiglu_backward), \
    .dropout_mask = VNAME(dropout_mask), \
    .apply_dropout = VNAME(apply_dropout), \
    .apply_dropout_add = VNAME(apply_dropout_add), \
    .layer_norm = VNAME(layer_norm), \
    .layer_norm_backward = VNAME(layer_norm_backward), \
    .simple = VNAME(simple), \
    .simple_backward = VNAME(simple_backward), \
    .gru = VNAME(gru), \
    .gru_backward = VNAME(gru_backward), \
    .lstm = VNAME(lstm), \
    .lstm_backward = VNAME(lstm_backward), \
    .lstm_fused = VNAME(lstm_fused), \
    .lstm_fused_backward = VNAME(lstm_fused_backward), \
    .additive_row = VNAME(additive_row), \
    .additive = VNAME(additive), \
    .additive_backward = VNAME(additive_backward), \
    .adam = VNAME(adam), \
    .panel = 2 * VLANES, \
    .packed = VNAME(packed), \
    .tile_rows = VPACKED_ROWS, \
    .packed_tiles = VNAME(packed_tiles), \
    .packed_bf16 = VNAME(packed_bf16)
/* clang-format on */

/* Members of the products of 8-bit numbers (vector_int8.c). */
#define ATTEND_VECTOR_INT8_FIELDS                                                                                      \
    .int8_group = VGROUP, .int8_depth = VGROUP, .int8_bytes = sizeof(vq), .int8_unsigned = VUNSIGNED,                  \
    .quantize = VINT8(quantize), .packed_int8 = VINT8(packed_int8)

#endif
