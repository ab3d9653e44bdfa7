#include "op/weight_gradient.h"

#include "op/product.h"

enum {
    FEW_ROWS = 256,  /* products with at least this many rows run at full speed and are not deferred */
    MAX_ROWS = 4096, /* of a combined product */
};

/* A deferred product. Products for the same rows of the same weight form a list that starts at the first of them. */
typedef struct deferred_product {
    attend_var *w;
    size_t first, n, out;
    const real *dy, *x;
    size_t ldy, ldx;
    struct deferred_product *same, *last; /* the next in this list; in the first element: the last of the list */
    struct deferred_product *next;        /* in the first element: the first of the next list */
} deferred_product;

static void product(attend_ctx *c, const deferred_product *p)
{
    const size_t in = (size_t)p->w->shape[1];
    real *dw = attend_grad(c, p->w);
    if (dw)
        attend_multiply_matrices(c, &(device_gemm){ .transpose_a = true,
                                                    .start = PACKED_ADD,
                                                    .m = p->out,
                                                    .n = in,
                                                    .k = p->n,
                                                    .a = p->dy,
                                                    .lda = p->ldy,
                                                    .b = p->x,
                                                    .ldb = p->ldx,
                                                    .c = dw + p->first * in,
                                                    .ldc = in });
}

static void copy_rows(attend_ctx *c, size_t n, size_t width, const real *from, size_t ld, real *to)
{
    attend_device_of(c)->copy(&c->compute, n, width, (device_input){ .data = from, .stride = ld },
                              (device_output){ .data = to, .stride = width });
}

/* Combines `p` and as many of its successors as fit into one product; returns the first that did not. */
static const deferred_product *run_combined(attend_ctx *c, const deferred_product *p)
{
    const size_t in = (size_t)p->w->shape[1], out = p->out;
    size_t rows = p->n;
    const deferred_product *end = p->same;
    for (; end && rows + end->n <= MAX_ROWS; end = end->same) rows += end->n;
    if (end == p->same) {
        product(c, p);
        return end;
    }
    const attend_mark mark = attend_ctx_mark(c);
    real *dy = attend_ctx_alloc_reals(c, rows * out), *x = attend_ctx_alloc_reals(c, rows * in);
    if (dy && x) {
        size_t row = 0;
        for (const deferred_product *q = p; q != end; row += q->n, q = q->same) {
            copy_rows(c, q->n, out, q->dy, q->ldy, dy + row * out);
            copy_rows(c, q->n, in, q->x, q->ldx, x + row * in);
        }
        product(c, &(deferred_product){
                       .w = p->w, .first = p->first, .n = rows, .out = out, .dy = dy, .x = x, .ldy = out, .ldx = in });
    }
    attend_ctx_release(c, mark);
    return end;
}

static void run_deferred(attend_ctx *c)
{
    for (const deferred_product *first = c->deferred; first; first = first->next)
        for (const deferred_product *p = first; p && c->status == ATTEND_OK;) p = run_combined(c, p);
}

/* Appends p to its list, or as a new list at the end: the order of the sums is the order of the backward pass. */
static void append(attend_ctx *c, deferred_product *p)
{
    deferred_product *last = NULL;
    for (deferred_product *first = c->deferred; first; last = first, first = first->next) {
        if (first->w->param != p->w->param || first->first != p->first || first->out != p->out) continue;
        first->last->same = p;
        first->last = p;
        return;
    }
    if (last)
        last->next = p;
    else
        c->deferred = p;
}

void attend_weight_gradient(attend_ctx *c, attend_var *w, size_t first, size_t n, size_t out, const real *dy,
                            size_t ldy, const real *x, size_t ldx)
{
    if (!w->differentiable || n == 0) return;
    deferred_product p = { .w = w, .first = first, .n = n, .out = out, .dy = dy, .x = x, .ldy = ldy, .ldx = ldx };
    if (!w->param || n >= FEW_ROWS) {
        product(c, &p);
        return;
    }
    deferred_product *kept = attend_ctx_alloc(c, 1, sizeof *kept);
    if (!kept) return;
    *kept = p;
    kept->last = kept;
    append(c, kept);
    c->run_deferred = run_deferred;
}
