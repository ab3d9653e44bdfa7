#include "op/weight_gradient.h"

#include "kernel/gemm.h"
#include <string.h>

enum {
    FEW_ROWS = 256,   /* from here on a product is as fast as it gets */
    MOST_ROWS = 4096, /* put together at a time */
};

/* A product that waits; those of the same rows of the same weight hang below the first. */
typedef struct late_product {
    attend_var *w;
    size_t first, n, out;
    const real *dy, *x;
    size_t ldy, ldx;
    struct late_product *same, *last; /* the next of the same; of the first: the last of them */
    struct late_product *next;        /* of the firsts */
} late_product;

static void product(attend_ctx *c, const late_product *p)
{
    const size_t in = (size_t)p->w->shape[1];
    real *dw = attend_grad(c, p->w);
    if (dw) attend_gemm(true, false, p->out, in, p->n, p->dy, p->ldy, p->x, p->ldx, 1, dw + p->first * in, in);
}

static void copy_rows(size_t n, size_t width, const real *from, size_t ld, real *to)
{
    for (size_t i = 0; i < n; i++) memcpy(to + i * width, from + i * ld, width * sizeof *to);
}

/* As many of `p` and those below it as fit into one product; returns the first that did not. */
static const late_product *together(attend_ctx *c, const late_product *p)
{
    const size_t in = (size_t)p->w->shape[1], out = p->out;
    size_t rows = p->n;
    const late_product *end = p->same;
    for (; end && rows + end->n <= MOST_ROWS; end = end->same) rows += end->n;
    if (end == p->same) {
        product(c, p);
        return end;
    }
    const attend_mark mark = attend_arena_mark(&c->arena);
    real *dy = attend_take_reals(c, rows * out), *x = attend_take_reals(c, rows * in);
    if (dy && x) {
        size_t row = 0;
        for (const late_product *q = p; q != end; row += q->n, q = q->same) {
            copy_rows(q->n, out, q->dy, q->ldy, dy + row * out);
            copy_rows(q->n, in, q->x, q->ldx, x + row * in);
        }
        product(c, &(late_product){
                       .w = p->w, .first = p->first, .n = rows, .out = out, .dy = dy, .x = x, .ldy = out, .ldx = in });
    }
    attend_arena_rewind(&c->arena, mark);
    return end;
}

static void finish(attend_ctx *c)
{
    for (const late_product *first = c->late; first; first = first->next)
        for (const late_product *p = first; p && c->status == ATTEND_OK;) p = together(c, p);
}

/* Puts it last below its like, or last of the firsts: the order of the sums is the order of the walk. */
static void append(attend_ctx *c, late_product *p)
{
    late_product **slot = &c->late;
    for (; *slot; slot = &(*slot)->next) {
        late_product *first = *slot;
        if (first->w->param != p->w->param || first->first != p->first || first->out != p->out) continue;
        first->last->same = p;
        first->last = p;
        return;
    }
    *slot = p;
}

void attend_weight_gradient(attend_ctx *c, attend_var *w, size_t first, size_t n, size_t out, const real *dy,
                            size_t ldy, const real *x, size_t ldx)
{
    if (!w->differentiable || n == 0) return;
    late_product p = { .w = w, .first = first, .n = n, .out = out, .dy = dy, .x = x, .ldy = ldy, .ldx = ldx };
    if (!w->param || n >= FEW_ROWS) {
        product(c, &p);
        return;
    }
    late_product *kept = attend_take(c, 1, sizeof *kept);
    if (!kept) return;
    *kept = p;
    kept->last = kept;
    append(c, kept);
    c->finish = finish;
}
