/* arguments.h: the arguments of kernels that pass through a device (device/device.h). Types only: code above the device
 * fills them in and calls no kernel. */
#ifndef ATTEND_KERNEL_ARGUMENTS_H
#define ATTEND_KERNEL_ARGUMENTS_H

#include <attend/precision.h>
#include <attend/real.h>
#include <stddef.h>

typedef attend_real real;

/* The initial value of a product with packed weights. */
typedef enum packed_start {
    PACKED_ZERO, /* C  = A B */
    PACKED_BIAS, /* C  = A B + bias, for each row */
    PACKED_ADD   /* C += A B */
} packed_start;

/* The factors of one Adam update. The caller computes rest = 1 - beta in double, because in float the difference loses
 * digits. */
typedef struct adam_settings {
    real scale; /* of the gradient, applied first */
    real rate, beta1, rest1, beta2, rest2;
    real correction1, correction2; /* 1 / (1 - beta^steps) */
    real epsilon, decay;
} adam_settings;

/* Weights laid out for y = x W', W (n, k):
 *     fp32, bf16   panels of `panel` columns; a panel has k rows of `panel` numbers
 *     int8         a panel has k / int8_group rows of `panel` groups, each of consecutive k; k is padded to a multiple */
typedef struct packed_matrix {
    attend_precision precision;
    attend_compute_precision compute; /* not fp32: halves.h describes the layout */
    size_t k, n;
    const void *data;
    const real *scales; /* (n), int8 only */
} packed_matrix;

#endif
