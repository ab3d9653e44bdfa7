/* row_sum.h: the column sums of a matrix: the gradient of a bias that was added to every row. */
#ifndef ATTEND_OP_ROW_SUM_H
#define ATTEND_OP_ROW_SUM_H

#include "kernel/kernel.h"

/* sum[j] += x[0][j] + x[1][j] + ...   x (n, width), rows `stride` numbers apart */
static inline void attend_row_sum(size_t n, size_t width, const real *x, size_t stride, real *sum)
{
    const attend_kernel_table *k = attend_kernel();
    for (size_t i = 0; i < n; i++) k->add(width, x + i * stride, sum);
}

#endif
