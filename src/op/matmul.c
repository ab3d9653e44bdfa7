/* matmul.c: y = op(a) op(b)
 *     y = a b:   da += dy b'    db += a' dy      (and the three transposed forms) */
#include "core/tape.h"
#include "op/product.h"
#include <attend/op.h>

typedef struct matmul_node {
    attend_node node;
    attend_var *a, *b, *y;
    bool ta, tb;
    size_t m, n, k;
} matmul_node;

static void matmul_backward(attend_ctx *c, attend_node *node)
{
    matmul_node *p = (matmul_node *)node;
    const real *dy = p->y->grad;
    if (!dy) return;
    size_t lda = (size_t)p->a->shape[1], ldb = (size_t)p->b->shape[1];
    real *da = attend_grad(c, p->a), *db = attend_grad(c, p->b);
    const real *va = p->a->value, *vb = p->b->value;
    const size_t m = p->m, n = p->n, k = p->k;
    if (da && !p->ta)
        attend_multiply_matrices(c, &(device_gemm){ false, !p->tb, PACKED_ADD, m, k, n, dy, n, vb, ldb, da, lda });
    if (da && p->ta)
        attend_multiply_matrices(c, &(device_gemm){ p->tb, true, PACKED_ADD, k, m, n, vb, ldb, dy, n, da, lda });
    if (db && !p->tb)
        attend_multiply_matrices(c, &(device_gemm){ !p->ta, false, PACKED_ADD, k, n, m, va, lda, dy, n, db, ldb });
    if (db && p->tb)
        attend_multiply_matrices(c, &(device_gemm){ true, p->ta, PACKED_ADD, n, k, m, dy, n, va, lda, db, ldb });
}

attend_var *attend_matmul(attend_ctx *c, attend_var *a, attend_var *b, int flags)
{
    if (!attend_check_inputs(c, "attend_matmul", 2, a, b)) return NULL;
    bool ta = flags & ATTEND_TRANSPOSE_A, tb = flags & ATTEND_TRANSPOSE_B;
    if (a->rank != 2 || b->rank != 2 || a->shape[!ta] != b->shape[tb]) {
        char as[ATTEND_SHAPE_TEXT], bs[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_matmul: %s%s times %s%s: the inner lengths differ",
                               attend_shape_text(a, as), ta ? "'" : "", attend_shape_text(b, bs), tb ? "'" : "");
    }
    attend_var *y = attend_var_2d(c, a->shape[ta], b->shape[!tb], a->differentiable || b->differentiable);
    if (!y) return NULL;
    size_t m = (size_t)y->shape[0], n = (size_t)y->shape[1], k = (size_t)a->shape[!ta];
    if (!attend_multiply_matrices(c, &(device_gemm){ ta, tb, PACKED_ZERO, m, n, k, a->value, (size_t)a->shape[1],
                                                     b->value, (size_t)b->shape[1], y->value, n }))
        return NULL;

    if (y->differentiable) {
        matmul_node *p = attend_ctx_alloc(c, 1, sizeof *p);
        if (!p) return NULL;
        *p = (matmul_node){ .a = a, .b = b, .y = y, .ta = ta, .tb = tb, .m = m, .n = n, .k = k };
        attend_record(c, &p->node, matmul_backward);
    }
    return y;
}
