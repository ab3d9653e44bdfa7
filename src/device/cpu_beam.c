/* cpu_beam.c: attention of hypotheses to the cached rows of their tokens. */
#include "device/cpu.h"

#include <string.h>

/* The work is divided into pieces of consecutive items; item i * heads + h is head h of hypothesis i. */
typedef struct attention_work {
    const device_beam *b;
    size_t items, piece; /* number of all items, and of the items of a piece */
    const real **keys;   /* (pieces, max_length): addresses of rows */
    real *weights;       /* (pieces, max_length) */
} attention_work;

static void one_head(const device_beam *b, const real *const *rows, size_t tokens, size_t i, size_t h, real *weights)
{
    const attend_kernel_table *k = attend_kernel();
    const size_t at = h * b->width;
    k->dot_rows(b->width, tokens, b->query + i * b->query_stride + at, rows, b->key + at, weights);
    k->scale(tokens, b->scale, weights);
    const real sum = k->exp_sum(tokens, weights, k->max(tokens, weights), weights);
    k->scale(tokens, 1 / sum, weights);
    k->weighted_sum_rows(b->width, tokens, weights, rows, b->value + at, b->context + i * b->context_stride + at);
}

static const real *row_at(const device_beam *b, int row)
{
    return b->blocks[(size_t)row / b->block] + (size_t)row % b->block * b->row_stride;
}

static void run_piece(void *user, int piece)
{
    const attention_work *s = user;
    const device_beam *b = s->b;
    const size_t max_length = b->max_length, first = (size_t)piece * s->piece;
    const size_t end = s->items - first < s->piece ? s->items : first + s->piece;
    const real **rows = s->keys + (size_t)piece * max_length;
    for (size_t item = first; item < end; item++) {
        const size_t i = item / b->heads, tokens = (size_t)b->lengths[i];
        if (item == first || item % b->heads == 0)
            for (size_t j = 0; j < tokens; j++) rows[j] = row_at(b, b->rows[i * b->list_stride + j]);
        real *weights = b->weights ? b->weights + item * max_length : s->weights + (size_t)piece * max_length;
        one_head(b, rows, tokens, i, item % b->heads, weights);
        if (b->weights && tokens < max_length) memset(weights + tokens, 0, (max_length - tokens) * sizeof *weights);
    }
}

bool attend_cpu_beam_attention(const attend_compute *c, const device_beam *b)
{
    const size_t items = b->count * b->heads, max_length = b->max_length;
    const size_t threads = (size_t)attend_cpu_product_threads(c, 2 * items * max_length * b->width);
    const size_t piece = (items + threads - 1) / threads, pieces = (items + piece - 1) / piece;
    const arena_mark mark = attend_arena_mark(c->scratch);
    attention_work s = { .b = b, .items = items, .piece = piece };
    s.keys = attend_arena_alloc(c->scratch, pieces * max_length * sizeof *s.keys);
    s.weights = attend_arena_alloc(c->scratch, pieces * max_length * sizeof *s.weights);
    const bool ok = s.keys && s.weights;
    if (ok) attend_pool_run(c->pool, (int)pieces, run_piece, &s);
    attend_arena_rewind(c->scratch, mark);
    return ok;
}
