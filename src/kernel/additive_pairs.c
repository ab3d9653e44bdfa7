/* additive_pairs.c: runs of prepared rows use the kernels, other pairs compute tanh directly:
 *     y = tanh(a + b),  e = u . y,   d = de u (1 - y^2),  da += d,  db += d,  du += de y */
#include "kernel/additive_pairs.h"

enum { LINE = 16 }; /* numbers */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

size_t attend_additive_padded(size_t width)
{
    return round_up(width, (size_t)attend_kernel()->panel);
}

/* An odd number of cache lines, so that equal columns of many rows are spread over the whole cache. */
size_t attend_additive_row_size(size_t width)
{
    return ((round_up(attend_additive_padded(width), LINE) / LINE + 1) | 1) * LINE;
}

void attend_additive_prepare(size_t rows, size_t width, const real *x, size_t stride, real *prepared)
{
    const size_t size = attend_additive_row_size(width), flag = attend_additive_padded(width);
    for (size_t i = 0; i < rows; i++, x += stride, prepared += size)
        prepared[flag] = attend_kernel()->additive_row(width, x, prepared) ? 1 : 0;
}

/* Shared by all pairs of a call. */
typedef struct work {
    const additive_pairs *p;
    const additive_gradients *g; /* NULL: forward */
    real *e;
    size_t e_stride;
    size_t size, flag; /* of a prepared row, and the offset of its flag */
} work;

static const real *row_of(const real *rows, size_t stride, size_t i)
{
    return rows + i * stride;
}

static real *gradient_of(real *rows, size_t stride, size_t i)
{
    return rows ? rows + i * stride : NULL;
}

static bool is_prepared(const work *w, const real *rows, size_t i)
{
    return rows[i * w->size + w->flag] != 0;
}

/* The end of a run of rows, starting at row i of n, that are all prepared or all not. */
static size_t run_end(const work *w, const real *rows, size_t i, size_t n)
{
    const bool prepared = is_prepared(w, rows, i);
    while (i < n && is_prepared(w, rows, i) == prepared) i++;
    return i;
}

/* Queries [i, i_last) and keys [j, j_last), whose rows are all prepared. */
static void fast(const work *w, size_t i, size_t i_last, size_t j, size_t j_last)
{
    const additive_pairs *p = w->p;
    const additive_block block = { .queries = i_last - i,
                                   .keys = j_last - j,
                                   .width = p->width,
                                   .query = row_of(p->prepared_query, w->size, i),
                                   .key = row_of(p->prepared_key, w->size, j),
                                   .stride = w->size,
                                   .u = p->u };
    if (!w->g) {
        attend_kernel()->additive(&block, w->e + i * w->e_stride + j, w->e_stride);
        return;
    }
    additive_gradients to = *w->g;
    to.score += i * to.score_stride + j;
    to.query = gradient_of(to.query, to.query_stride, i);
    to.key = gradient_of(to.key, to.key_stride, j);
    attend_kernel()->additive_backward(&block, &to);
}

/* One pair of rows with any numbers. */
static void exact(const work *w, size_t i, size_t j)
{
    const additive_pairs *p = w->p;
    const attend_kernel_table *k = attend_kernel();
    const size_t n = p->width;
    const real *a = row_of(p->query, p->query_stride, i), *b = row_of(p->key, p->key_stride, j);
    real *y = p->scratch;
    for (size_t l = 0; l < n; l++) y[l] = a[l] + b[l];
    k->tanh(n, y, y);
    if (!w->g) {
        w->e[i * w->e_stride + j] = k->dot(n, p->u, y);
        return;
    }
    const additive_gradients *g = w->g;
    const real de = g->score[i * g->score_stride + j];
    if (de == 0) return;
    if (g->u) k->axpy(n, de, y, g->u);
    for (size_t l = 0; l < n; l++) y[l] = de * p->u[l] * (1 - y[l] * y[l]);
    if (g->query) k->add(n, y, gradient_of(g->query, g->query_stride, i));
    if (g->key) k->add(n, y, gradient_of(g->key, g->key_stride, j));
}

static void all_pairs(const work *w)
{
    const additive_pairs *p = w->p;
    for (size_t i = 0, i_last; i < p->queries; i = i_last) {
        i_last = run_end(w, p->prepared_query, i, p->queries);
        const bool prepared = is_prepared(w, p->prepared_query, i);
        for (size_t j = 0, j_last; j < p->keys; j = j_last) {
            j_last = run_end(w, p->prepared_key, j, p->keys);
            if (prepared && is_prepared(w, p->prepared_key, j)) {
                fast(w, i, i_last, j, j_last);
                continue;
            }
            for (size_t k = i; k < i_last; k++)
                for (size_t l = j; l < j_last; l++) exact(w, k, l);
        }
    }
}

void attend_additive_scores(const additive_pairs *p, real *e, size_t e_stride)
{
    all_pairs(&(work){ .p = p,
                       .e = e,
                       .e_stride = e_stride,
                       .size = attend_additive_row_size(p->width),
                       .flag = attend_additive_padded(p->width) });
}

void attend_additive_scores_backward(const additive_pairs *p, const additive_gradients *g)
{
    all_pairs(&(work){
        .p = p, .g = g, .size = attend_additive_row_size(p->width), .flag = attend_additive_padded(p->width) });
}
