/* cpu_product.c: matrix products; large ones are divided among the threads of the context. */
#include "device/cpu.h"

#include "kernel/halves.h"
#include <stdatomic.h>
#include <string.h>

/* Minimum number of multiplications of a piece. Waking a spinning thread takes one or two microseconds, about as long. */
enum { MIN_PIECE = 100000 };

int attend_cpu_product_threads(const attend_compute *c, size_t multiplications)
{
    return (int)attend_cpu_division(c, multiplications, MIN_PIECE).threads;
}

/* ---- blocks of a product ---- */

/* C (m, n) in blocks of height x width, in `across` columns of blocks. */
typedef struct block_grid {
    size_t height, width, across, blocks;
    size_t threads; /* that can share them */
} block_grid;

static size_t divide_up(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

/* One block if no thread is without work. A block is multiples of the
 * units high and wide. A narrow block reads A, and a low one B, for little arithmetic: of all grids, take that with the
 * smallest sum 1 / height + 1 / width. */
static block_grid grid_of(const attend_compute *c, size_t m, size_t n, size_t k, size_t row_unit, size_t column_unit)
{
    block_grid best = { .height = m, .width = n, .across = 1, .blocks = 1, .threads = 1 };
    const cpu_division d = attend_cpu_division(c, m * n * k, MIN_PIECE);
    double best_cost = 0;
    for (size_t across = 1; m > 0 && n > 0 && d.pieces > 1 && across <= d.pieces; across++) {
        const size_t height = divide_up(m, d.pieces / across * row_unit) * row_unit,
                     width = divide_up(n, across * column_unit) * column_unit;
        const block_grid g = { .height = height,
                               .width = width,
                               .across = divide_up(n, width),
                               .blocks = divide_up(n, width) * divide_up(m, height),
                               .threads = d.threads };
        /* fewer blocks leave threads without work */
        const double share = g.blocks < d.threads ? (double)d.threads / (double)g.blocks : 1;
        const double cost = share * (1 + 16 / (double)height + 16 / (double)width);
        if (best_cost != 0 && cost >= best_cost) continue;
        best = g, best_cost = cost;
    }
    return best;
}

/* Rows and columns of block i. */
typedef struct block {
    size_t row, column, rows, columns;
} block;

static block block_at(const block_grid *g, size_t m, size_t n, int i)
{
    const size_t row = (size_t)i / g->across * g->height, column = (size_t)i % g->across * g->width;
    return (block){ .row = row,
                    .column = column,
                    .rows = m - row < g->height ? m - row : g->height,
                    .columns = n - column < g->width ? n - column : g->width };
}

/* ---- packed weights ---- */

const void *attend_cpu_packed_layout(void)
{
    return attend_kernel();
}

size_t attend_cpu_packed_bytes(const attend_compute *c, attend_precision precision, size_t k, size_t n)
{
    const attend_compute_precision compute = attend_product_precision(precision, c->precision);
    return compute == ATTEND_COMPUTE_FP32 ? attend_packed_bytes(precision, k, n) : attend_halves_bytes(compute, k, n);
}

typedef struct pack_work {
    bool transpose;
    size_t k, n;
    const real *w;
    real *packed;
} pack_work;

/* Panels [first, first + count) of columns. */
static void pack_panels(const void *user, size_t first, size_t count)
{
    const pack_work *p = user;
    const size_t panel = (size_t)attend_kernel()->panel, column = first * panel, left = p->n - column,
                 columns = left < count * panel ? left : count * panel;
    attend_pack(p->transpose, p->k, columns, p->w + (p->transpose ? column * p->k : column), p->transpose ? p->k : p->n,
                p->packed + column * p->k);
}

void attend_cpu_pack(const attend_compute *c, attend_precision precision, bool transpose, size_t k, size_t n,
                     const void *w, void *packed)
{
    const attend_compute_precision compute = attend_product_precision(precision, c->precision);
    if (compute != ATTEND_COMPUTE_FP32) {
        attend_halves_pack(precision, compute, transpose, k, n, w, transpose ? k : n, packed);
        return;
    }
    if (precision != ATTEND_FP32) { /* once for a model */
        attend_pack_as(precision, k, n, w, packed);
        return;
    }
    const size_t panel = (size_t)attend_kernel()->panel;
    attend_cpu_rows(c, divide_up(n, panel), 2 * k * panel, pack_panels,
                    &(pack_work){ .transpose = transpose, .k = k, .n = n, .w = w, .packed = packed });
}

typedef struct quantize_work {
    const packed_matrix *w;
    const real *x;
    size_t row;
    char *quantized;
    real *scales;
    int32_t *sums;
} quantize_work;

static void quantize_rows(const void *user, size_t first, size_t count)
{
    const quantize_work *q = user;
    const attend_kernel_table *t = attend_kernel();
    const size_t k = q->w->k, bytes = (size_t)t->int8_bytes, row_bytes = attend_int8_depth(k) * bytes, used = k * bytes;
    const int limit = attend_int8_limit(k);
    for (size_t i = first; i < first + count; i++) {
        char *to = q->quantized + i * row_bytes;
        q->scales[i] = t->quantize(k, q->x + i * q->row, limit, to, &q->sums[i]);
        memset(to + used, 0, row_bytes - used);
    }
}

/* Rows to round to bfloat16. */
typedef struct shared_split {
    const real *x;
    size_t row, k;
    attend_compute_precision compute;
    char *halves;
} shared_split;

static void split_rows(const void *user, size_t first, size_t count)
{
    const shared_split *s = user;
    attend_halves_split(s->compute, count, s->k, s->x + first * s->row, s->row,
                        s->halves + first * attend_halves_row_bytes(s->compute, s->k));
}

static bool split_activations(const attend_compute *c, activations *a, const packed_matrix *w)
{
    shared_split s = { .x = a->values, .row = a->row, .k = w->k, .compute = w->compute };
    s.halves = attend_arena_alloc(c->scratch, a->m * attend_halves_row_bytes(w->compute, w->k));
    if (!s.halves) return false;
    attend_cpu_rows(c, a->m, w->k, split_rows, &s);
    a->halves = s.halves;
    return true;
}

bool attend_cpu_activations(const attend_compute *c, activations *a, size_t m, const real *x, size_t row,
                            const packed_matrix *w)
{
    enum { COST = 2 };
    *a = (activations){ .m = m, .values = x, .row = row };
    if (w->compute != ATTEND_COMPUTE_FP32) return split_activations(c, a, w);
    if (w->precision != ATTEND_INT8) return true;
    const size_t row_bytes = attend_int8_depth(w->k) * (size_t)attend_kernel()->int8_bytes;
    const quantize_work q = { .w = w,
                              .x = x,
                              .row = row,
                              .quantized = attend_arena_alloc(c->scratch, m * row_bytes),
                              .scales = attend_arena_alloc(c->scratch, m * sizeof *q.scales),
                              .sums = attend_arena_alloc(c->scratch, m * sizeof *q.sums) };
    if (!q.quantized || !q.scales || !q.sums) return false;
    attend_cpu_rows(c, m, COST * w->k, quantize_rows, &q);
    a->quantized = q.quantized, a->scales = q.scales, a->sums = q.sums;
    return true;
}

/* Columns of a tile of few rows, which uses several panels at once (kernel/vector_packed.c). */
static size_t column_unit(size_t rows)
{
    return (rows < 4 ? 6 : 1) * (size_t)attend_kernel()->panel;
}

enum { ROW_UNIT = 48 };

typedef struct shared_product {
    packed_start start;
    const real *bias;
    const activations *a;
    const packed_matrix *w;
    real *y;
    size_t ldy;
    block_grid grid;
} shared_product;

static void run_block(void *user, int i)
{
    const shared_product *s = user;
    const block b = block_at(&s->grid, s->a->m, s->w->n, i);
    const activations rows = attend_activation_rows(s->a, b.row, b.rows, s->w);
    attend_gemm_matrix(s->start, s->bias ? s->bias + b.column : NULL, &rows, s->w, b.column, b.columns,
                       s->y + b.row * s->ldy + b.column, s->ldy);
}

void attend_cpu_multiply(const attend_compute *c, packed_start start, const real *bias, const activations *a,
                         const packed_matrix *w, real *y, size_t ldy)
{
    shared_product s = { .start = start,
                         .bias = bias,
                         .a = a,
                         .w = w,
                         .y = y,
                         .ldy = ldy,
                         .grid = grid_of(c, a->m, w->n, w->k, ROW_UNIT, column_unit(a->m)) };
    if (s.grid.blocks == 1)
        attend_gemm_matrix(start, bias, a, w, 0, w->n, y, ldy);
    else
        attend_pool_run(c->pool, (int)s.grid.blocks, run_block, &s);
}

bool attend_cpu_product(const attend_compute *c, packed_start start, const real *bias, size_t m, const real *x,
                        size_t ldx, const packed_matrix *w, real *y, size_t ldy)
{
    activations a;
    const arena_mark mark = attend_arena_mark(c->scratch);
    const bool ok = attend_cpu_activations(c, &a, m, x, ldx, w);
    if (ok) attend_cpu_multiply(c, start, bias, &a, w, y, ldy);
    attend_arena_rewind(c->scratch, mark);
    return ok;
}

/* ---- rows of packed weights ---- */

typedef struct shared_rows {
    const packed_row_product *p;
    block_grid grid;
} shared_rows;

static void run_rows_block(void *user, int i)
{
    const shared_rows *s = user;
    const packed_row_product *p = s->p;
    const block b = block_at(&s->grid, p->m, p->n, i);
    attend_gemm_packed_rows(p->start, b.rows, b.columns, p->first, p->k, p->all_k, p->a + b.row * p->lda, p->lda,
                            p->packed + b.column * p->all_k, p->c + b.row * p->ldc + b.column, p->ldc);
}

void attend_cpu_multiply_rows(const attend_compute *c, const packed_row_product *p)
{
    shared_rows s = { .p = p, .grid = grid_of(c, p->m, p->n, p->k, ROW_UNIT, column_unit(p->m)) };
    if (p->m > 0 && p->n > 0) attend_pool_run(c->pool, (int)s.grid.blocks, run_rows_block, &s);
}

/* ---- two arbitrary matrices ---- */

typedef struct shared_gemm {
    const device_gemm *g;
    attend_compute_precision compute;
    block_grid grid;
    atomic_int next; /* block */
    real *scratch;
    size_t scratch_size; /* per lane */
} shared_gemm;

/* A lane, which has its own scratch memory: one block after another. */
static void run_gemm_lane(void *user, int lane)
{
    shared_gemm *s = user;
    const device_gemm *g = s->g;
    real *scratch = s->scratch + (size_t)lane * s->scratch_size;
    for (int i; (i = atomic_fetch_add(&s->next, 1)) < (int)s->grid.blocks;) {
        const block at = block_at(&s->grid, g->m, g->n, i);
        const real *a = g->a + (g->transpose_a ? at.row : at.row * g->lda),
                   *b = g->b + (g->transpose_b ? at.column * g->ldb : at.column);
        real *to = g->c + at.row * g->ldc + at.column;
        if (s->compute == ATTEND_COMPUTE_FP32)
            attend_gemm(g->transpose_a, g->transpose_b, g->start, at.rows, at.columns, g->k, a, g->lda, b, g->ldb, to,
                        g->ldc, scratch);
        else
            attend_halves_gemm(s->compute, g->transpose_a, g->transpose_b, g->start, at.rows, at.columns, g->k, a,
                               g->lda, b, g->ldb, to, g->ldc, scratch);
    }
}

bool attend_cpu_gemm(const attend_compute *c, const device_gemm *g)
{
    enum { ROWS = 96, COLUMNS = 64, ALIGNED = 16 }; /* a block of A; a few panels; numbers in a cache line */
    if (g->m == 0 || g->n == 0) return true;
    shared_gemm s = { .g = g, .compute = c->precision, .grid = grid_of(c, g->m, g->n, g->k, ROWS, COLUMNS) };
    const size_t lanes = s.grid.threads < s.grid.blocks ? s.grid.threads : s.grid.blocks;
    const size_t numbers = s.compute == ATTEND_COMPUTE_FP32
                               ? attend_gemm_scratch(s.grid.height, s.grid.width, g->k)
                               : attend_halves_gemm_scratch(s.compute, s.grid.height, s.grid.width, g->k);
    s.scratch_size = divide_up(numbers, ALIGNED) * ALIGNED;
    const arena_mark mark = attend_arena_mark(c->scratch);
    s.scratch = attend_arena_alloc(c->scratch, lanes * s.scratch_size * sizeof(real));
    if (s.scratch) attend_pool_run(c->pool, (int)lanes, run_gemm_lane, &s);
    attend_arena_rewind(c->scratch, mark);
    return s.scratch != NULL;
}
