#include "attention/beam_cache.h"

#include "core/memory.h"
#include "core/status.h"
#include "kernel/kernel.h"
#include "op/product.h"
#include <limits.h>
#include <stdint.h>
#include <string.h>

/* Rows come in blocks, which do not move when there are more of them. Row r is the (r % BLOCK)th of block r / BLOCK. */
enum { BLOCK = 64, FIRST_LENGTH = 32, ALIGNED = 64 / sizeof(real) };

/* The rows of each hypothesis, oldest first. */
typedef struct lists {
    int *rows;    /* (hypotheses, length) */
    int *lengths; /* (hypotheses) */
    size_t hypotheses, length;
} lists;

struct attend_beam_cache {
    size_t width, stride; /* stride: from row to row, so that each begins a cache line */
    real **blocks;
    int *idle;           /* rows that are free, the last `idle_count` found */
    unsigned char *live; /* by row, while idle ones are looked for */
    size_t block_count, block_room, idle_count;
    lists now, next; /* next: what a step writes to, and then swaps */
    int count, longest;
};

static real *row_at(const attend_beam_cache *p, int row)
{
    return p->blocks[(size_t)row / BLOCK] + (size_t)row % BLOCK * p->stride;
}

/* ---- lists ---- */

static void lists_free(lists *l)
{
    attend_memory_free(l->rows);
    attend_memory_free(l->lengths);
    *l = (lists){ 0 };
}

/* Room for so many; what it held is lost. */
static bool lists_fit(lists *l, size_t hypotheses, size_t length)
{
    if (hypotheses <= l->hypotheses && length <= l->length) return true;
    lists more = { .hypotheses = hypotheses > l->hypotheses ? hypotheses : l->hypotheses,
                   .length = length > l->length ? 2 * length : l->length };
    if (more.length < FIRST_LENGTH) more.length = FIRST_LENGTH;
    if (more.length > SIZE_MAX / sizeof *more.rows / more.hypotheses) return false;
    more.rows = attend_memory_aligned(more.hypotheses * more.length * sizeof *more.rows);
    more.lengths = attend_memory_zeroed(more.hypotheses, sizeof *more.lengths);
    if (!more.rows || !more.lengths) {
        lists_free(&more);
        return false;
    }
    lists_free(l);
    *l = more;
    return true;
}

/* ---- rows ---- */

/* Looks for rows that no hypothesis has. */
static void find_idle(attend_beam_cache *p)
{
    const size_t rows = p->block_count * BLOCK;
    if (rows) memset(p->live, 0, rows);
    for (size_t i = 0; i < (size_t)p->count; i++)
        for (size_t j = 0; j < (size_t)p->now.lengths[i]; j++) p->live[p->now.rows[i * p->now.length + j]] = 1;
    p->idle_count = 0;
    for (size_t r = rows; r-- > 0;) /* the lowest are taken first: neighbours in a step are neighbours in memory */
        if (!p->live[r]) p->idle[p->idle_count++] = (int)r;
}

static bool block_room(attend_beam_cache *p, size_t blocks)
{
    if (blocks <= p->block_room) return true;
    const size_t room = 2 * blocks;
    if (room > INT_MAX / BLOCK) return false; /* rows are counted in int */
    real **list = attend_memory_zeroed(room, sizeof *list);
    int *idle = attend_memory_zeroed(room * BLOCK, sizeof *idle);
    unsigned char *live = attend_memory_zeroed(room * BLOCK, 1);
    if (!list || !idle || !live) {
        attend_memory_free(list);
        attend_memory_free(idle);
        attend_memory_free(live);
        return false;
    }
    if (p->block_count) memcpy(list, p->blocks, p->block_count * sizeof *list);
    if (p->idle_count) memcpy(idle, p->idle, p->idle_count * sizeof *idle);
    attend_memory_free(p->blocks);
    attend_memory_free(p->idle);
    attend_memory_free(p->live);
    p->blocks = list, p->idle = idle, p->live = live, p->block_room = room;
    return true;
}

/* At least n rows are idle. Where looking for some finds less than a quarter of all, there are more, so that it is not done again and again. */
static bool rows_fit(attend_beam_cache *p, size_t n)
{
    if (n <= p->idle_count) return true;
    find_idle(p);
    size_t wanted = p->block_count * BLOCK / 4;
    if (wanted < n) wanted = n;
    if (p->idle_count >= wanted) return true;
    const size_t blocks = p->block_count + (wanted - p->idle_count + BLOCK - 1) / BLOCK;
    if (!block_room(p, blocks)) return n <= p->idle_count;
    while (p->block_count < blocks) {
        real *block = p->stride > SIZE_MAX / sizeof(real) / BLOCK
                          ? NULL
                          : attend_memory_aligned(BLOCK * p->stride * sizeof *block);
        if (!block) break;
        p->blocks[p->block_count++] = block;
    }
    find_idle(p);
    return n <= p->idle_count;
}

/* ---- the past ---- */

int attend_beam_cache_new(attend_beam_cache **out, int width)
{
    *out = NULL;
    if (width < 1) return attend_fail(ATTEND_BAD_USAGE, "attend_beam_cache_new: rows of %d numbers", width);
    attend_beam_cache *p = attend_memory_zeroed(1, sizeof *p);
    if (!p) return attend_fail(ATTEND_NO_MEMORY, "no memory for the past of a decoding");
    p->width = (size_t)width;
    p->stride = (p->width + ALIGNED - 1) / ALIGNED * ALIGNED;
    *out = p;
    return ATTEND_OK;
}

void attend_beam_cache_free(attend_beam_cache *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->block_count; i++) attend_memory_free(p->blocks[i]);
    attend_memory_free(p->blocks);
    attend_memory_free(p->idle);
    attend_memory_free(p->live);
    lists_free(&p->now);
    lists_free(&p->next);
    attend_memory_free(p);
}

int attend_beam_cache_count(const attend_beam_cache *p)
{
    return p->count;
}

int attend_beam_cache_length(const attend_beam_cache *p, int i)
{
    return p->now.lengths[i];
}

int attend_beam_cache_max_length(const attend_beam_cache *p)
{
    return p->longest;
}

const real *attend_beam_cache_row(const attend_beam_cache *p, int i, int j)
{
    return row_at(p, p->now.rows[(size_t)i * p->now.length + (size_t)j]);
}

static size_t lists_bytes(const lists *l)
{
    return l->hypotheses * (l->length * sizeof *l->rows + sizeof *l->lengths);
}

size_t attend_beam_cache_bytes(const attend_beam_cache *p)
{
    return sizeof *p + p->block_count * BLOCK * p->stride * sizeof(real) +
           p->block_room * (sizeof *p->blocks + BLOCK * (sizeof *p->idle + sizeof *p->live)) + lists_bytes(&p->now) +
           lists_bytes(&p->next);
}

/* ---- a step ---- */

/* The parent whose list hypothesis i takes over, or -1. */
static int parent_of(const attend_beam_cache *p, const int *parents, int i)
{
    return p->count > 0 && parents[i] >= 0 ? parents[i] : -1;
}

/* Whether each hypothesis goes on from the one in its own place, so that its list stays where it is. */
static bool stays(const attend_beam_cache *p, int n, const int *parents)
{
    bool same = true;
    for (int i = 0; same && i < n; i++) same = parent_of(p, parents, i) == i;
    return same;
}

/* The lists of the parents, each for a child. */
static void take_lists(attend_beam_cache *p, int n, const int *parents)
{
    for (size_t i = 0; i < (size_t)n; i++) {
        const int parent = parent_of(p, parents, (int)i);
        p->next.lengths[i] = parent < 0 ? 0 : p->now.lengths[parent];
        if (parent >= 0)
            memcpy(p->next.rows + i * p->next.length, p->now.rows + (size_t)parent * p->now.length,
                   (size_t)p->next.lengths[i] * sizeof *p->next.rows);
    }
    const lists old = p->now;
    p->now = p->next, p->next = old;
}

int attend_beam_cache_step(attend_beam_cache *p, int n, const int *parents, const real *rows, size_t stride)
{
    if (n < 1) return attend_fail(ATTEND_BAD_USAGE, "attend_beam_cache_step: %d hypotheses", n);
    int longest = 0;
    for (int i = 0; i < n; i++) {
        const int parent = parent_of(p, parents, i);
        if (parent >= p->count)
            return attend_fail(ATTEND_BAD_USAGE,
                               "attend_beam_cache_step: hypothesis %d cannot go on from %d, for there were %d", i,
                               parent, p->count);
        const int length = parent < 0 ? 0 : p->now.lengths[parent];
        if (length > longest) longest = length;
    }
    const bool same = stays(p, n, parents) && (size_t)longest < p->now.length;
    if (longest == INT_MAX || (!same && !lists_fit(&p->next, (size_t)n, (size_t)longest + 1)) ||
        !rows_fit(p, (size_t)n))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for word %d of %d hypotheses", longest, n);
    if (!same) take_lists(p, n, parents);
    for (size_t i = 0; i < (size_t)n; i++) {
        const int row = p->idle[--p->idle_count];
        memcpy(row_at(p, row), rows + i * stride, p->width * sizeof *rows);
        p->now.rows[i * p->now.length + (size_t)p->now.lengths[i]++] = row;
    }
    p->count = n, p->longest = longest + 1;
    return ATTEND_OK;
}

/* ---- attention ---- */

/* Pieces of work: heads of hypotheses, counted through. */
typedef struct sharing {
    const attend_beam_cache *p;
    const beam_attention *a;
    size_t items, piece; /* all, and of a piece */
    const real **keys;   /* (pieces, longest) addresses of rows */
    real *weights;       /* (pieces, longest) */
} sharing;

static void one_head(const beam_attention *a, const real *const *rows, size_t words, size_t i, size_t h, real *weights)
{
    const attend_kernel_table *k = attend_kernel();
    const size_t width = (size_t)a->width, at = h * width;
    k->dot_rows(width, words, a->query + i * a->query_stride + at, rows, a->key + at, weights);
    k->scale(words, (real)a->scale, weights);
    const real sum = k->exp_sum(words, weights, k->max(words, weights), weights);
    k->scale(words, 1 / sum, weights);
    k->weigh_rows(width, words, weights, rows, a->value + at, a->context + i * a->context_stride + at);
}

static void run_piece(void *user, int piece)
{
    const sharing *s = user;
    const beam_attention *a = s->a;
    const size_t longest = (size_t)s->p->longest, heads = (size_t)a->heads, first = (size_t)piece * s->piece;
    const size_t end = s->items - first < s->piece ? s->items : first + s->piece;
    const real **rows = s->keys + (size_t)piece * longest;
    for (size_t item = first; item < end; item++) {
        const size_t i = item / heads, words = (size_t)s->p->now.lengths[i];
        if (item == first || item % heads == 0)
            for (size_t j = 0; j < words; j++) rows[j] = row_at(s->p, s->p->now.rows[i * s->p->now.length + j]);
        real *weights = a->weights ? a->weights + item * longest : s->weights + (size_t)piece * longest;
        one_head(a, rows, words, i, item % heads, weights);
        if (a->weights && words < longest) memset(weights + words, 0, (longest - words) * sizeof *weights);
    }
}

bool attend_beam_cache_attend(attend_ctx *c, const attend_beam_cache *p, const beam_attention *a)
{
    if (c->status != ATTEND_OK) return false;
    if (p->count == 0) return true;
    const size_t items = (size_t)p->count * (size_t)a->heads, longest = (size_t)p->longest;
    const size_t threads = (size_t)attend_product_threads(c, 2 * items * longest * (size_t)a->width);
    const size_t piece = (items + threads - 1) / threads, pieces = (items + piece - 1) / piece;
    const attend_mark mark = attend_arena_mark(&c->arena);
    sharing s = { .p = p, .a = a, .items = items, .piece = piece };
    s.keys = attend_take(c, pieces * longest, sizeof *s.keys);
    s.weights = attend_take_reals(c, pieces * longest);
    if (!s.keys || !s.weights) return false;
    if (pieces == 1)
        run_piece(&s, 0);
    else
        attend_pool_run(c->pool, (int)pieces, run_piece, &s);
    attend_arena_rewind(&c->arena, mark);
    return true;
}
