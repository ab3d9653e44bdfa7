/* vec_neondot.h: NEON with the dot product extension: vec_neon.h, with the instruction that multiplies four 8-bit numbers
 * at a time. */
#ifndef ATTEND_VEC_NEONDOT_H
#define ATTEND_VEC_NEONDOT_H

#define VINT8(name) attend_neondot_##name
#include "kernel/vec_neon.h"

/* clang-format off */
/* sum + a0 b0 + a1 b1 + a2 b2 + a3 b3, in every lane */
static inline vi vi_dot(vi sum, vi a, vi b) { return vdotq_s32(sum, vreinterpretq_s8_s32(b), vreinterpretq_s8_s32(a)); }
/* clang-format on */
#endif
