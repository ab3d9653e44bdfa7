#include "op/product.h"

bool attend_multiply(attend_ctx *c, packed_start start, const real *bias, size_t m, const real *x, size_t row,
                     const packed_matrix *w, real *y, size_t ldy)
{
    return attend_ctx_computed(c, attend_device_of(c)->product(&c->compute, start, bias, m, x, row, w, y, ldy));
}

bool attend_multiply_matrices(attend_ctx *c, const device_gemm *g)
{
    return attend_ctx_computed(c, attend_device_of(c)->gemm(&c->compute, g));
}

void attend_add_rows(attend_ctx *c, size_t n, size_t width, const real *x, size_t stride, real *sum)
{
    attend_device_of(c)->add(&c->compute, n, width, (device_input){ .data = x, .stride = stride },
                             (device_output){ .data = sum });
}
