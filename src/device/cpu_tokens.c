/* cpu_tokens.c: log p = logits - lse(logits), where lse (log-sum-exp) is computed from chunks of columns. The result is
 * bit-identical with and without top-k and on any number of threads. */
#include "core/top_k.h"
#include "device/cpu.h"
#include <math.h>
#include <string.h>

/* Columns per chunk: a multiple of the panel width of every kernel, and small enough that a chunk of a hundred rows
 * fits into the L2 cache. Each chunk has its own sum, so that sums do not depend on the number of threads. */
enum { CHUNK = 576 };

/* Each token of the tail stands for many others, so its probability is capped: if it is high, those of the others are
 * usually much lower. */
static const real TAIL_MAX = (real)0.02;

void attend_cpu_pack_columns(const attend_compute *c, const packed_matrix *from, size_t n, const int *columns,
                             void *packed)
{
    (void)c;
    attend_pack_columns(from, n, columns, packed);
}

/* ---- log-sum-exp ---- */

/* The maximum of the logits x of a chunk, and the sum of exp(x - max). */
typedef struct part {
    real max, sum;
} part;

/* x is overwritten. */
static part part_of(size_t width, real *x)
{
    part p = { .max = attend_kernel()->max(width, x) };
    p.sum = attend_kernel()->exp_sum(width, x, p.max, x);
    return p;
}

/* The log-sum-exp of a row from its chunks, in their order. */
static double lse_of(const part *p, int n)
{
    real max = p[0].max;
    for (int i = 1; i < n; i++)
        if (!(p[i].max <= max)) max = p[i].max;
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)p[i].sum * exp((double)p[i].max - (double)max);
    return (double)max + log(sum);
}

/* Adds the estimated probability mass of the unlisted tokens to lse, the log-sum-exp of the listed ones. Overwrites the
 * logits of the tail. */
static double add_tail(const device_tokens *o, const device_shortlist *l, double lse, real *tail)
{
    const size_t n = o->tail_count;
    if (n == 0 || l->represented == 0 || !isfinite(lse)) return lse;
    attend_kernel()->scale_shift(n, (real)-lse, 1, tail, tail);
    attend_kernel()->exp(n, tail, tail);
    for (size_t i = 0; i < n; i++) tail[i] = tail[i] < TAIL_MAX ? tail[i] : TAIL_MAX;
    return lse + log1p((double)l->represented * (double)attend_kernel()->dot(n, tail, l->outside));
}

/* The logits of the tail for all rows -> (rows, tail); NULL: no memory. */
static real *tail_logits(const attend_compute *c, const device_tokens *o, const activations *a)
{
    real *logits = attend_arena_alloc(c->scratch, (a->m * o->tail_count + 1) * sizeof *logits);
    if (logits && o->tail_count) attend_cpu_multiply(c, PACKED_BIAS, o->tail_b, a, &o->tail_w, logits, o->tail_count);
    return logits;
}

/* ---- all tokens ---- */

/* The log-sum-exp of a row, which is overwritten. */
static double row_lse(size_t width, real *row, part *parts)
{
    int n = 0;
    for (size_t first = 0; first < width; first += CHUNK)
        parts[n++] = part_of(width - first < CHUNK ? width - first : CHUNK, row + first);
    return lse_of(parts, n);
}

/* The same, and the row is kept. */
static double kept_row_lse(size_t width, const real *row, part *parts)
{
    real chunk[CHUNK];
    int n = 0;
    for (size_t first = 0; first < width; first += CHUNK) {
        const size_t count = width - first < CHUNK ? width - first : CHUNK;
        memcpy(chunk, row + first, count * sizeof *chunk);
        parts[n++] = part_of(count, chunk);
    }
    return lse_of(parts, n);
}

static int end_of_source(const int *source_of, int i, int n)
{
    int end = i;
    while (end < n && source_of[end] == source_of[i]) end++;
    return end;
}

/* Rows of logits, to become log p. */
typedef struct logit_rows {
    const device_tokens *o;
    real *tail;  /* (rows, tail_count) logits, or NULL */
    part *parts; /* (rows, chunk_count) */
    size_t chunk_count;
} logit_rows;

static void normalize_rows(const void *user, size_t first, size_t count)
{
    const logit_rows *s = user;
    const device_tokens *o = s->o;
    for (size_t i = first; i < first + count; i++) { /* in the same order as with top-k, so that the result is equal */
        const device_shortlist *l = o->shortlists ? &o->shortlists[o->source_of[i]] : NULL;
        const size_t width = l ? (size_t)l->count : o->width;
        real *row = o->log_p + i * o->width;
        double lse = kept_row_lse(width, row, s->parts + i * s->chunk_count);
        if (l) lse = add_tail(o, l, lse, s->tail + i * o->tail_count);
        attend_kernel()->scale_shift(width, (real)-lse, 1, row, row);
    }
}

static bool all_tokens(const attend_compute *c, const device_tokens *o, const activations *a)
{
    enum { COST = 4 };
    const int n = (int)a->m, *source_of = o->source_of;
    logit_rows s = { .o = o, .chunk_count = o->width / CHUNK + 1 };
    s.parts = attend_arena_alloc(c->scratch, a->m * s.chunk_count * sizeof *s.parts);
    if (!s.parts) return false;
    if (!o->shortlists) attend_cpu_multiply(c, PACKED_BIAS, o->b, a, &o->w, o->log_p, o->width);
    for (int i = 0, end; o->shortlists && i < n; i = end) {
        const device_shortlist *l = &o->shortlists[source_of[i]];
        end = end_of_source(source_of, i, n);
        const activations source_rows = attend_activation_rows(a, (size_t)i, (size_t)(end - i), o->w.k);
        attend_cpu_multiply(c, PACKED_BIAS, l->b, &source_rows, &l->w, o->log_p + (size_t)i * o->width, o->width);
    }
    if (o->shortlists && !(s.tail = tail_logits(c, o, a))) return false;
    attend_cpu_rows(c, a->m, COST * o->width, normalize_rows, &s);
    return true;
}

/* ---- top-k ---- */

/* Empty selections of k tokens; NULL: memory ran out. */
static attend_top_k *selections_new(const attend_compute *c, size_t count, int k)
{
    attend_top_k *selections = attend_arena_alloc(c->scratch, count * sizeof *selections);
    attend_top_k_entry *entries = attend_arena_alloc(c->scratch, count * (size_t)k * sizeof *entries);
    if (!selections || !entries) return NULL;
    for (size_t i = 0; i < count; i++) selections[i] = (attend_top_k){ .k = k, .entries = entries + i * (size_t)k };
    return selections;
}

/* Offers the n logits x of a chunk to the selection `best`. tokens: the token of each logit; NULL: first, first + 1,
 * ... `excluded` is never selected. */
static void search_chunk(attend_top_k *best, int excluded, size_t n, const real *x, int first, const int *tokens)
{
    real threshold = (real)attend_top_k_threshold(best);
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > threshold)) continue;
        const int token = tokens ? tokens[i] : first + (int)i;
        if (token == excluded) continue;
        attend_top_k_offer(best, (double)x[i], token);
        threshold = (real)attend_top_k_threshold(best);
    }
}

/* The state of top-k over the whole vocabulary; each thread computes one range of chunks. */
typedef struct chunks {
    const device_tokens *o;
    const activations *a;
    int ranges, chunk_count;
    attend_top_k *selections; /* (ranges, rows) */
    part *parts;              /* (rows, chunk_count) */
    real *buffers;            /* (ranges, rows, CHUNK) */
    real *ends;               /* (rows) logits of the token that ends a sequence */
} chunks;

static void run_range(void *user, int range)
{
    const chunks *s = user;
    const attend_kernel_table *k = attend_kernel();
    const size_t rows = s->a->m;
    const int range_chunks = (s->chunk_count + s->ranges - 1) / s->ranges;
    const int last = (range + 1) * range_chunks < s->chunk_count ? (range + 1) * range_chunks : s->chunk_count;
    attend_top_k *selections = s->selections + (size_t)range * rows;
    real *buffer = s->buffers + (size_t)range * rows * CHUNK;
    for (int chunk = range * range_chunks; chunk < last; chunk++) {
        const size_t first = (size_t)chunk * CHUNK, left = s->o->w.n - first, width = left < CHUNK ? left : CHUNK;
        attend_gemm_matrix(PACKED_BIAS, s->o->b + first, s->a, &s->o->w, first, width, buffer, CHUNK);
        for (size_t i = 0; i < rows; i++) {
            real *row = buffer + i * CHUNK;
            part *p = &s->parts[i * (size_t)s->chunk_count + (size_t)chunk];
            if (chunk == 0) s->ends[i] = row[s->o->end];
            p->max = k->max(width, row);
            if (!(p->max <= (real)attend_top_k_threshold(&selections[i])))
                search_chunk(&selections[i], s->o->excluded, width, row, (int)first, NULL);
            p->sum = k->exp_sum(width, row, p->max, row);
        }
    }
}

/* Stores the selection of a row, sorted, as log p. A row with non-finite probabilities has no best tokens. */
static void store_best(const device_tokens *o, size_t row, attend_top_k *b, real end, double lse)
{
    attend_top_k_sort(b);
    const real shift = (real)-lse;
    o->end_log_p[row] = end + shift;
    const size_t at = row * (size_t)o->top_k;
    o->best_count[row] = isfinite(lse) ? b->count : 0;
    for (int i = 0; i < o->best_count[row]; i++) {
        o->best_tokens[at + (size_t)i] = b->entries[i].index;
        o->best_log_p[at + (size_t)i] = (real)b->entries[i].value + shift;
    }
}

static bool top_k_of_all(const attend_compute *c, const device_tokens *o, const activations *a)
{
    const size_t rows = a->m;
    const packed_matrix *w = &o->w;
    const int threads = attend_cpu_product_threads(c, rows * w->n * w->k);
    chunks s = {
        .o = o, .a = a, .ends = o->end_log_p, .ranges = threads, .chunk_count = (int)((w->n + CHUNK - 1) / CHUNK)
    };
    if (s.ranges > s.chunk_count) s.ranges = s.chunk_count;
    s.selections = selections_new(c, (size_t)s.ranges * rows, o->top_k);
    s.parts = attend_arena_alloc(c->scratch, rows * (size_t)s.chunk_count * sizeof *s.parts);
    s.buffers = attend_arena_alloc(c->scratch, (size_t)s.ranges * rows * CHUNK * sizeof *s.buffers);
    if (!s.selections || !s.parts || !s.buffers) return false;
    attend_pool_run(c->pool, s.ranges, run_range, &s);
    for (size_t i = 0; i < rows; i++) {
        attend_top_k *all = &s.selections[i];
        for (int range = 1; range < s.ranges; range++) {
            const attend_top_k *other = &s.selections[(size_t)range * rows + i];
            for (int j = 0; j < other->count; j++)
                attend_top_k_offer(all, other->entries[j].value, other->entries[j].index);
        }
        store_best(o, i, all, s.ends[i], lse_of(&s.parts[i * (size_t)s.chunk_count], s.chunk_count));
    }
    return true;
}

static bool top_k_of_shortlists(const attend_compute *c, const device_tokens *o, const activations *a)
{
    const int n = (int)a->m, *source_of = o->source_of;
    int max_rows = 0;
    for (int i = 0, end; i < n; i = end) {
        end = end_of_source(source_of, i, n);
        if (end - i > max_rows) max_rows = end - i;
    }
    real *buffer = attend_arena_alloc(c->scratch, (size_t)max_rows * o->width * sizeof *buffer);
    attend_top_k *b = selections_new(c, 1, o->top_k);
    part *parts = attend_arena_alloc(c->scratch, (o->width / CHUNK + 1) * sizeof *parts);
    real *tail = tail_logits(c, o, a);
    if (!buffer || !b || !parts || !tail) return false;
    for (int i = 0, end; i < n; i = end) {
        const device_shortlist *l = &o->shortlists[source_of[i]];
        end = end_of_source(source_of, i, n);
        const activations source_rows = attend_activation_rows(a, (size_t)i, (size_t)(end - i), o->w.k);
        attend_cpu_multiply(c, PACKED_BIAS, l->b, &source_rows, &l->w, buffer, o->width);
        for (int row = i; row < end; row++) {
            real *x = buffer + (size_t)(row - i) * o->width;
            const size_t width = (size_t)l->count;
            const real end_logit = x[l->end];
            b->count = 0;
            search_chunk(b, o->excluded, width, x, 0, l->tokens);
            const double lse = row_lse(width, x, parts);
            store_best(o, (size_t)row, b, end_logit, add_tail(o, l, lse, tail + (size_t)row * o->tail_count));
        }
    }
    return true;
}

/* ---- a step ---- */

bool attend_cpu_next_tokens(const attend_compute *c, const device_tokens *t)
{
    activations a;
    const arena_mark mark = attend_arena_mark(c->scratch);
    const bool ok =
        attend_cpu_activations(c, &a, t->rows, t->x, t->w.k, &t->w) && (t->top_k == 0   ? all_tokens(c, t, &a)
                                                                        : t->shortlists ? top_k_of_shortlists(c, t, &a)
                                                                                        : top_k_of_all(c, t, &a));
    attend_arena_rewind(c->scratch, mark);
    return ok;
}
