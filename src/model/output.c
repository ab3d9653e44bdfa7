/* output.c: log p = logits - lse(logits), lse from chunks of columns; the same bits with and without top-k and on any number of threads. */
#include "model/output.h"

#include "model/shortlist.h"
#include "op/packed_weights.h"
#include "op/product.h"
#include <math.h>
#include <string.h>

/* Columns per chunk: a multiple of the tile width of every kernel, and small enough that a chunk of a hundred rows fits the L2 cache. Sums are
 * taken per chunk, so that they do not depend on the number of threads. */
enum { CHUNK = 576 };

/* See output_tail. The probability of one token of the tail is capped at TAIL_MAX: it represents many others, which are not as probable if it
 * happens to be the token that the model would choose. */
enum { TAIL_STEP = 16, TAIL_FIRST = 5 };
static const real TAIL_MAX = (real)0.02;

void attend_output_new(output_layer *o, const attend_model *m)
{
    *o = (output_layer){ .m = m, .width = (size_t)m->config.target_vocab };
}

/* ---- shortlists ---- */

/* The columns of the output layer for n tokens, with their biases. */
static bool columns_new(attend_ctx *c, const attend_model *m, const packed_matrix *all, int n, const int *tokens,
                        packed_matrix *w, const real **biases)
{
    const size_t count = (size_t)n;
    void *data = attend_take(c, attend_packed_bytes(all->precision, all->k, count), 1);
    real *b = attend_take_reals(c, count), *steps = all->steps ? attend_take_reals(c, count) : NULL;
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    attend_pack_columns(all, count, tokens, data);
    for (size_t i = 0; i < count; i++) {
        b[i] = m->output_b->value[tokens[i]];
        if (steps) steps[i] = all->steps[tokens[i]];
    }
    *w = (packed_matrix){ .precision = all->precision, .k = all->k, .n = count, .data = data, .steps = steps };
    *biases = b;
    return true;
}

static bool tail_new(attend_ctx *c, const attend_model *m, const packed_matrix *all, output_tail *out)
{
    const int vocab = m->config.target_vocab;
    out->tokens = attend_take(c, (size_t)(vocab / TAIL_STEP + 1), sizeof *out->tokens);
    out->count = 0;
    for (int token = TAIL_FIRST; out->tokens && token < vocab; token += TAIL_STEP) out->tokens[out->count++] = token;
    return out->tokens && (out->count == 0 || columns_new(c, m, all, out->count, out->tokens, &out->w, &out->b));
}

static bool limit_new(attend_ctx *c, const attend_model *m, const packed_matrix *all, const output_tail *tail, int n,
                      const int *source, output_limit *out)
{
    out->tokens = attend_shortlist_tokens(c, m, n, source, &out->count);
    out->outside = attend_take_reals(c, (size_t)tail->count);
    if (!out->tokens || !out->outside || !columns_new(c, m, all, out->count, out->tokens, &out->w, &out->b))
        return false;
    int at = 0, outside = 0;
    for (int i = 0; i < tail->count; i++) { /* both are sorted */
        while (at < out->count && out->tokens[at] < tail->tokens[i]) at++;
        const bool listed = at < out->count && out->tokens[at] == tail->tokens[i];
        out->outside[i] = listed ? 0 : 1;
        outside += !listed;
    }
    out->rest = outside ? (real)(m->config.target_vocab - out->count) / (real)outside : 0;
    for (int i = 0; i < out->count; i++)
        if (out->tokens[i] == ATTEND_END) out->end = (size_t)i;
    return true;
}

bool attend_output_limit(attend_ctx *c, output_layer *o, const attend_ragged *sources, const int *tokens)
{
    packed_matrix all;
    const attend_var *output_w = attend_use(c, o->m->output_w);
    const int count = attend_ragged_count(sources);
    output_limit *limits = attend_take(c, (size_t)count, sizeof *limits);
    if (!limits || !output_w || !attend_var_matrix(c, output_w, &all) || !tail_new(c, o->m, &all, &o->tail))
        return false;
    o->width = 0;
    for (int i = 0, at = 0; i < count; i++) {
        const int n = attend_ragged_length(sources, i);
        if (!limit_new(c, o->m, &all, &o->tail, n, tokens + at, &limits[i])) return false;
        if ((size_t)limits[i].count > o->width) o->width = (size_t)limits[i].count;
        at += n;
    }
    o->limits = limits;
    return true;
}

/* ---- log-sum-exp ---- */

/* The largest logit of a chunk, and the sum of exp(x - largest). */
typedef struct part {
    real max, sum;
} part;

/* Overwrites x. */
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

/* The log-sum-exp of the listed tokens (lse) and of the estimate for the others. Overwrites the logits of the tail. */
static double limited_lse(const output_layer *o, const output_limit *l, double lse, real *tail)
{
    const size_t n = (size_t)o->tail.count;
    if (n == 0 || l->rest == 0 || !isfinite(lse)) return lse;
    attend_kernel()->scale_shift(n, (real)-lse, 1, tail, tail);
    attend_kernel()->exp(n, tail, tail);
    for (size_t i = 0; i < n; i++) tail[i] = tail[i] < TAIL_MAX ? tail[i] : TAIL_MAX;
    return lse + log1p((double)l->rest * (double)attend_kernel()->dot(n, tail, l->outside));
}

/* The logits of the tail for all rows -> (rows, tail); NULL: no memory. */
static real *tail_logits(attend_ctx *c, const output_layer *o, const activations *a)
{
    real *logits = attend_take_reals(c, a->m * (size_t)o->tail.count + 1);
    if (logits && o->tail.count)
        attend_product(c, PACKED_BIAS, o->tail.b, a, &o->tail.w, logits, (size_t)o->tail.count);
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

/* Rows [first, first + count) of activations. */
static activations rows_of(const activations *a, size_t first, size_t count, size_t k)
{
    return (activations){ .m = count,
                          .row = a->row,
                          .numbers = a->numbers + first * a->row,
                          .whole = a->whole ? a->whole + first * packed_even(k) : NULL,
                          .steps = a->steps ? a->steps + first : NULL };
}

static int end_of_source(const int *source_of, int i, int n)
{
    int end = i;
    while (end < n && source_of[end] == source_of[i]) end++;
    return end;
}

static bool all_tokens(attend_ctx *c, output_layer *o, const packed_matrix *w, const real *b, const activations *a,
                       const int *source_of)
{
    const int n = (int)a->m;
    real *logits = attend_take_reals(c, a->m * o->width), *scratch = attend_take_reals(c, o->width);
    part *parts = attend_take(c, o->width / CHUNK + 1, sizeof *parts);
    if (!logits || !scratch || !parts) return false;
    if (!o->limits) attend_product(c, PACKED_BIAS, b, a, w, logits, o->width);
    for (int i = 0, end; o->limits && i < n; i = end) {
        const output_limit *l = &o->limits[source_of[i]];
        end = end_of_source(source_of, i, n);
        const activations some = rows_of(a, (size_t)i, (size_t)(end - i), w->k);
        attend_gemm_matrix(PACKED_BIAS, l->b, &some, &l->w, 0, l->w.n, logits + (size_t)i * o->width, o->width);
    }
    real *tail = o->limits ? tail_logits(c, o, a) : NULL;
    if (o->limits && !tail) return false;
    for (int i = 0; i < n; i++) { /* in the same order as with top-k, for the same bits */
        const output_limit *l = o->limits ? &o->limits[source_of[i]] : NULL;
        const size_t width = l ? (size_t)l->count : o->width;
        real *row = logits + (size_t)i * o->width;
        memcpy(scratch, row, width * sizeof *row);
        double lse = row_lse(width, scratch, parts);
        if (l) lse = limited_lse(o, l, lse, tail + (size_t)i * (size_t)o->tail.count);
        attend_kernel()->scale_shift(width, (real)-lse, 1, row, row);
    }
    o->log_p = logits;
    return true;
}

/* ---- top-k ---- */

/* The best tokens of one row so far, by logit, best first; the lower token first among equals. */
typedef struct best {
    int count;
    int tokens[OUTPUT_MAX_TOP_K];
    real logits[OUTPUT_MAX_TOP_K];
} best;

static void best_add(best *b, int k, real logit, int token)
{
    int at = b->count < k ? b->count++ : k - 1;
    for (; at > 0 && b->logits[at - 1] < logit; at--)
        b->logits[at] = b->logits[at - 1], b->tokens[at] = b->tokens[at - 1];
    b->logits[at] = logit, b->tokens[at] = token;
}

/* A logit must exceed this to become one of the k best. */
static real threshold_of(const best *b, int k)
{
    return b->count < k ? -(real)INFINITY : b->logits[k - 1];
}

/* Adds the best of a chunk of n logits. tokens: the token of each; NULL: first, first + 1, .. ATTEND_BEGIN is never a candidate. */
static void search_chunk(best *b, int k, size_t n, const real *x, int first, const int *tokens)
{
    real threshold = threshold_of(b, k);
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > threshold)) continue;
        const int token = tokens ? tokens[i] : first + (int)i;
        if (token == ATTEND_BEGIN) continue;
        best_add(b, k, x[i], token);
        threshold = threshold_of(b, k);
    }
}

/* Top-k over the whole vocabulary; each thread computes one range of chunks. */
typedef struct chunks {
    const packed_matrix *w;
    const real *b;
    const activations *a;
    int top_k, ranges, chunk_count;
    best *bests;   /* (ranges, rows) */
    part *parts;   /* (rows, chunk_count) */
    real *buffers; /* (ranges, rows, CHUNK) */
    real *ends;    /* (rows) logits of ATTEND_END */
} chunks;

static void run_range(void *user, int range)
{
    const chunks *s = user;
    const attend_kernel_table *k = attend_kernel();
    const size_t rows = s->a->m;
    const int per = (s->chunk_count + s->ranges - 1) / s->ranges;
    const int last = (range + 1) * per < s->chunk_count ? (range + 1) * per : s->chunk_count;
    best *bests = s->bests + (size_t)range * rows;
    real *buffer = s->buffers + (size_t)range * rows * CHUNK;
    for (size_t i = 0; i < rows; i++) bests[i].count = 0;
    for (int chunk = range * per; chunk < last; chunk++) {
        const size_t first = (size_t)chunk * CHUNK, left = s->w->n - first, width = left < CHUNK ? left : CHUNK;
        attend_gemm_matrix(PACKED_BIAS, s->b + first, s->a, s->w, first, width, buffer, CHUNK);
        for (size_t i = 0; i < rows; i++) {
            real *row = buffer + i * CHUNK;
            part *p = &s->parts[i * (size_t)s->chunk_count + (size_t)chunk];
            if (chunk == 0) s->ends[i] = row[ATTEND_END];
            p->max = k->max(width, row);
            if (!(p->max <= threshold_of(&bests[i], s->top_k)))
                search_chunk(&bests[i], s->top_k, width, row, (int)first, NULL);
            p->sum = k->exp_sum(width, row, p->max, row);
        }
    }
}

/* A row with non-finite probabilities has no best tokens. */
static void store_best(output_layer *o, size_t row, const best *b, real end, double lse)
{
    const real shift = (real)-lse;
    o->end_log_p[row] = end + shift;
    const size_t at = row * (size_t)o->top_k;
    o->best_count[row] = isfinite(lse) ? b->count : 0;
    for (int i = 0; i < o->best_count[row]; i++) {
        o->best_tokens[at + (size_t)i] = b->tokens[i];
        o->best_log_p[at + (size_t)i] = b->logits[i] + shift;
    }
}

static bool best_of_all(attend_ctx *c, output_layer *o, const packed_matrix *w, const real *b, const activations *a)
{
    const size_t rows = a->m;
    const int threads = attend_product_threads(c, rows * w->n * w->k);
    chunks s = { .w = w,
                 .b = b,
                 .a = a,
                 .top_k = o->top_k,
                 .ends = o->end_log_p,
                 .ranges = threads,
                 .chunk_count = (int)((w->n + CHUNK - 1) / CHUNK) };
    if (s.ranges > s.chunk_count) s.ranges = s.chunk_count;
    s.bests = attend_take(c, (size_t)s.ranges * rows, sizeof *s.bests);
    s.parts = attend_take(c, rows * (size_t)s.chunk_count, sizeof *s.parts);
    s.buffers = attend_take_reals(c, (size_t)s.ranges * rows * CHUNK);
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    if (s.ranges > 1)
        attend_pool_run(c->pool, s.ranges, run_range, &s);
    else
        run_range(&s, 0);
    for (size_t i = 0; i < rows; i++) {
        best *all = &s.bests[i];
        for (int range = 1; range < s.ranges; range++) {
            const best *more = &s.bests[(size_t)range * rows + i];
            for (int j = 0; j < more->count; j++)
                if (more->logits[j] > threshold_of(all, o->top_k))
                    best_add(all, o->top_k, more->logits[j], more->tokens[j]);
        }
        store_best(o, i, all, s.ends[i], lse_of(&s.parts[i * (size_t)s.chunk_count], s.chunk_count));
    }
    return true;
}

static bool best_of_lists(attend_ctx *c, output_layer *o, const packed_matrix *w, const activations *a,
                          const int *source_of)
{
    const int n = (int)a->m;
    int max_rows = 0;
    for (int i = 0, end; i < n; i = end) {
        end = end_of_source(source_of, i, n);
        if (end - i > max_rows) max_rows = end - i;
    }
    real *buffer = attend_take_reals(c, (size_t)max_rows * o->width);
    best *b = attend_take(c, 1, sizeof *b);
    part *parts = attend_take(c, o->width / CHUNK + 1, sizeof *parts);
    real *tail = tail_logits(c, o, a);
    if (!buffer || !b || !parts || !tail) return false;
    for (int i = 0, end; i < n; i = end) {
        const output_limit *l = &o->limits[source_of[i]];
        end = end_of_source(source_of, i, n);
        const activations some = rows_of(a, (size_t)i, (size_t)(end - i), w->k);
        attend_gemm_matrix(PACKED_BIAS, l->b, &some, &l->w, 0, l->w.n, buffer, o->width);
        for (int row = i; row < end; row++) {
            real *x = buffer + (size_t)(row - i) * o->width;
            const size_t width = (size_t)l->count;
            const real end_logit = x[l->end];
            b->count = 0;
            search_chunk(b, o->top_k, width, x, 0, l->tokens);
            const double lse = row_lse(width, x, parts);
            store_best(o, (size_t)row, b, end_logit,
                       limited_lse(o, l, lse, tail + (size_t)row * (size_t)o->tail.count));
        }
    }
    return true;
}

/* ---- a step ---- */

bool attend_output_step(attend_ctx *c, output_layer *o, attend_var *readout, const int *source_of)
{
    const size_t rows = (size_t)readout->shape[0], k = (size_t)readout->shape[1];
    packed_matrix w;
    activations a;
    o->log_p = NULL;
    const attend_var *output_w = attend_use(c, o->m->output_w);
    if (!output_w || !attend_var_matrix(c, output_w, &w) || !attend_activations_new(c, &a, rows, &w)) return false;
    attend_activations_set(&a, rows, readout->value, k, &w);
    if (o->top_k == 0) return all_tokens(c, o, &w, o->m->output_b->value, &a, source_of);
    o->best_tokens = attend_take(c, rows * (size_t)o->top_k, sizeof *o->best_tokens);
    o->best_count = attend_take(c, rows, sizeof *o->best_count);
    o->best_log_p = attend_take_reals(c, rows * (size_t)o->top_k);
    o->end_log_p = attend_take_reals(c, rows);
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    return o->limits ? best_of_lists(c, o, &w, &a, source_of) : best_of_all(c, o, &w, o->m->output_b->value, &a);
}
