/* output.c: log p = logits - lse(logits), where lse (log-sum-exp) is computed from chunks of columns. The result is
 * bit-identical with and without top-k and on any number of threads. */
#include "model/output.h"

#include "core/top_k.h"
#include "model/shortlist.h"
#include "op/packed_weights.h"
#include "op/product.h"
#include <math.h>
#include <string.h>

/* Columns per chunk: a multiple of the panel width of every kernel, and small enough that a chunk of a hundred rows
 * fits into the L2 cache. Each chunk has its own sum, so that sums do not depend on the number of threads. */
enum { CHUNK = 576 };

/* The tail (output_tail) is every TAIL_STEP-th token from TAIL_FIRST on. Each of its tokens stands for many others, so
 * its probability is capped at TAIL_MAX: if it is high, those of the others are usually much lower. */
enum { TAIL_STEP = 16, TAIL_FIRST = 5 };
static const real TAIL_MAX = (real)0.02;

void attend_output_new(output_layer *o, const attend_model *m)
{
    *o = (output_layer){ .m = m, .width = (size_t)m->config.target_vocab };
}

/* ---- shortlists ---- */

/* Packs the columns of the output layer for n tokens, with their biases. */
static bool columns_new(attend_ctx *c, const attend_model *m, const packed_matrix *all, int n, const int *tokens,
                        packed_matrix *w, const real **biases)
{
    const size_t count = (size_t)n;
    void *data = attend_ctx_alloc(c, attend_packed_bytes(all->precision, all->k, count), 1);
    real *b = attend_ctx_alloc_reals(c, count), *scales = all->scales ? attend_ctx_alloc_reals(c, count) : NULL;
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    attend_pack_columns(all, count, tokens, data);
    for (size_t i = 0; i < count; i++) {
        b[i] = m->output_b->value[tokens[i]];
        if (scales) scales[i] = all->scales[tokens[i]];
    }
    *w = (packed_matrix){ .precision = all->precision, .k = all->k, .n = count, .data = data, .scales = scales };
    *biases = b;
    return true;
}

static bool tail_new(attend_ctx *c, const attend_model *m, const packed_matrix *all, output_tail *out)
{
    const int vocab = m->config.target_vocab;
    out->tokens = attend_ctx_alloc(c, (size_t)(vocab / TAIL_STEP) + 1, sizeof *out->tokens);
    out->count = 0;
    for (int token = TAIL_FIRST; out->tokens && token < vocab; token += TAIL_STEP) out->tokens[out->count++] = token;
    return out->tokens && (out->count == 0 || columns_new(c, m, all, out->count, out->tokens, &out->w, &out->b));
}

static bool shortlist_output_new(attend_ctx *c, const attend_model *m, const packed_matrix *all,
                                 const output_tail *tail, int n, const int *source, output_shortlist *out)
{
    out->tokens = attend_shortlist_tokens(c, m, n, source, &out->count);
    out->outside = attend_ctx_alloc_reals(c, (size_t)tail->count);
    if (!out->tokens || !out->outside || !columns_new(c, m, all, out->count, out->tokens, &out->w, &out->b))
        return false;
    int at = 0, outside = 0;
    for (int i = 0; i < tail->count; i++) { /* both lists are sorted */
        while (at < out->count && out->tokens[at] < tail->tokens[i]) at++;
        const bool listed = at < out->count && out->tokens[at] == tail->tokens[i];
        out->outside[i] = listed ? 0 : 1;
        outside += !listed;
    }
    out->represented = outside ? (real)(m->config.target_vocab - out->count) / (real)outside : 0;
    for (int i = 0; i < out->count; i++)
        if (out->tokens[i] == ATTEND_END) out->end = (size_t)i;
    return true;
}

bool attend_output_use_shortlists(attend_ctx *c, output_layer *o, const attend_ragged *sources, const int *tokens)
{
    packed_matrix all;
    const attend_var *output_w = attend_parameter(c, o->m->output_w);
    const int count = attend_ragged_count(sources);
    output_shortlist *shortlists = attend_ctx_alloc(c, (size_t)count, sizeof *shortlists);
    if (!shortlists || !output_w || !attend_var_matrix(c, output_w, &all) || !tail_new(c, o->m, &all, &o->tail))
        return false;
    o->width = 0;
    for (int i = 0, at = 0; i < count; i++) {
        const int n = attend_ragged_length(sources, i);
        if (!shortlist_output_new(c, o->m, &all, &o->tail, n, tokens + at, &shortlists[i])) return false;
        if ((size_t)shortlists[i].count > o->width) o->width = (size_t)shortlists[i].count;
        at += n;
    }
    o->shortlists = shortlists;
    return true;
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
static double add_tail(const output_layer *o, const output_shortlist *l, double lse, real *tail)
{
    const size_t n = (size_t)o->tail.count;
    if (n == 0 || l->represented == 0 || !isfinite(lse)) return lse;
    attend_kernel()->scale_shift(n, (real)-lse, 1, tail, tail);
    attend_kernel()->exp(n, tail, tail);
    for (size_t i = 0; i < n; i++) tail[i] = tail[i] < TAIL_MAX ? tail[i] : TAIL_MAX;
    return lse + log1p((double)l->represented * (double)attend_kernel()->dot(n, tail, l->outside));
}

/* The logits of the tail for all rows -> (rows, tail); NULL: no memory. */
static real *tail_logits(attend_ctx *c, const output_layer *o, const activations *a)
{
    real *logits = attend_ctx_alloc_reals(c, a->m * (size_t)o->tail.count + 1);
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
    real *logits = attend_ctx_alloc_reals(c, a->m * o->width), *scratch = attend_ctx_alloc_reals(c, o->width);
    part *parts = attend_ctx_alloc(c, o->width / CHUNK + 1, sizeof *parts);
    if (!logits || !scratch || !parts) return false;
    if (!o->shortlists) attend_product(c, PACKED_BIAS, b, a, w, logits, o->width);
    for (int i = 0, end; o->shortlists && i < n; i = end) {
        const output_shortlist *l = &o->shortlists[source_of[i]];
        end = end_of_source(source_of, i, n);
        const activations source_rows = attend_activation_rows(a, (size_t)i, (size_t)(end - i), w->k);
        attend_gemm_matrix(PACKED_BIAS, l->b, &source_rows, &l->w, 0, l->w.n, logits + (size_t)i * o->width, o->width);
    }
    real *tail = o->shortlists ? tail_logits(c, o, a) : NULL;
    if (o->shortlists && !tail) return false;
    for (int i = 0; i < n; i++) { /* in the same order as with top-k, so that the result is bit-identical */
        const output_shortlist *l = o->shortlists ? &o->shortlists[source_of[i]] : NULL;
        const size_t width = l ? (size_t)l->count : o->width;
        real *row = logits + (size_t)i * o->width;
        memcpy(scratch, row, width * sizeof *row);
        double lse = row_lse(width, scratch, parts);
        if (l) lse = add_tail(o, l, lse, tail + (size_t)i * (size_t)o->tail.count);
        attend_kernel()->scale_shift(width, (real)-lse, 1, row, row);
    }
    o->log_p = logits;
    return true;
}

/* ---- top-k ---- */

/* Empty selections of k tokens; NULL: the context failed. */
static attend_top_k *selections_new(attend_ctx *c, size_t count, int k)
{
    attend_top_k *selections = attend_ctx_alloc(c, count, sizeof *selections);
    attend_top_k_entry *entries = attend_ctx_alloc(c, count * (size_t)k, sizeof *entries);
    if (!selections || !entries) return NULL;
    for (size_t i = 0; i < count; i++) selections[i] = (attend_top_k){ .k = k, .entries = entries + i * (size_t)k };
    return selections;
}

/* Offers the n logits x of a chunk to the selection `best`. tokens: the token of each logit; NULL: first, first + 1,
 * ... ATTEND_BEGIN is never selected. */
static void search_chunk(attend_top_k *best, size_t n, const real *x, int first, const int *tokens)
{
    real threshold = (real)attend_top_k_threshold(best);
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > threshold)) continue;
        const int token = tokens ? tokens[i] : first + (int)i;
        if (token == ATTEND_BEGIN) continue;
        attend_top_k_offer(best, (double)x[i], token);
        threshold = (real)attend_top_k_threshold(best);
    }
}

/* The state of top-k over the whole vocabulary; each thread computes one range of chunks. */
typedef struct chunks {
    const packed_matrix *w;
    const real *b;
    const activations *a;
    int ranges, chunk_count;
    attend_top_k *selections; /* (ranges, rows) */
    part *parts;              /* (rows, chunk_count) */
    real *buffers;            /* (ranges, rows, CHUNK) */
    real *ends;               /* (rows) logits of ATTEND_END */
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
        const size_t first = (size_t)chunk * CHUNK, left = s->w->n - first, width = left < CHUNK ? left : CHUNK;
        attend_gemm_matrix(PACKED_BIAS, s->b + first, s->a, s->w, first, width, buffer, CHUNK);
        for (size_t i = 0; i < rows; i++) {
            real *row = buffer + i * CHUNK;
            part *p = &s->parts[i * (size_t)s->chunk_count + (size_t)chunk];
            if (chunk == 0) s->ends[i] = row[ATTEND_END];
            p->max = k->max(width, row);
            if (!(p->max <= (real)attend_top_k_threshold(&selections[i])))
                search_chunk(&selections[i], width, row, (int)first, NULL);
            p->sum = k->exp_sum(width, row, p->max, row);
        }
    }
}

/* Stores the selection of a row, sorted, as log p. A row with non-finite probabilities has no best tokens. */
static void store_best(output_layer *o, size_t row, attend_top_k *b, real end, double lse)
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

static bool top_k_of_all(attend_ctx *c, output_layer *o, const packed_matrix *w, const real *b, const activations *a)
{
    const size_t rows = a->m;
    const int threads = attend_product_threads(c, rows * w->n * w->k);
    chunks s = { .w = w,
                 .b = b,
                 .a = a,
                 .ends = o->end_log_p,
                 .ranges = threads,
                 .chunk_count = (int)((w->n + CHUNK - 1) / CHUNK) };
    if (s.ranges > s.chunk_count) s.ranges = s.chunk_count;
    s.selections = selections_new(c, (size_t)s.ranges * rows, o->top_k);
    s.parts = attend_ctx_alloc(c, rows * (size_t)s.chunk_count, sizeof *s.parts);
    s.buffers = attend_ctx_alloc_reals(c, (size_t)s.ranges * rows * CHUNK);
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    if (s.ranges > 1)
        attend_pool_run(c->pool, s.ranges, run_range, &s);
    else
        run_range(&s, 0);
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

static bool top_k_of_shortlists(attend_ctx *c, output_layer *o, const packed_matrix *w, const activations *a,
                                const int *source_of)
{
    const int n = (int)a->m;
    int max_rows = 0;
    for (int i = 0, end; i < n; i = end) {
        end = end_of_source(source_of, i, n);
        if (end - i > max_rows) max_rows = end - i;
    }
    real *buffer = attend_ctx_alloc_reals(c, (size_t)max_rows * o->width);
    attend_top_k *b = selections_new(c, 1, o->top_k);
    part *parts = attend_ctx_alloc(c, o->width / CHUNK + 1, sizeof *parts);
    real *tail = tail_logits(c, o, a);
    if (!buffer || !b || !parts || !tail) return false;
    for (int i = 0, end; i < n; i = end) {
        const output_shortlist *l = &o->shortlists[source_of[i]];
        end = end_of_source(source_of, i, n);
        const activations source_rows = attend_activation_rows(a, (size_t)i, (size_t)(end - i), w->k);
        attend_gemm_matrix(PACKED_BIAS, l->b, &source_rows, &l->w, 0, l->w.n, buffer, o->width);
        for (int row = i; row < end; row++) {
            real *x = buffer + (size_t)(row - i) * o->width;
            const size_t width = (size_t)l->count;
            const real end_logit = x[l->end];
            b->count = 0;
            search_chunk(b, width, x, 0, l->tokens);
            const double lse = row_lse(width, x, parts);
            store_best(o, (size_t)row, b, end_logit, add_tail(o, l, lse, tail + (size_t)row * (size_t)o->tail.count));
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
    const attend_var *output_w = attend_parameter(c, o->m->output_w);
    if (!output_w || !attend_var_matrix(c, output_w, &w) || !attend_activations_new(c, &a, rows, &w)) return false;
    attend_activations_set(&a, rows, readout->value, k, &w);
    if (o->top_k == 0) return all_tokens(c, o, &w, o->m->output_b->value, &a, source_of);
    o->best_tokens = attend_ctx_alloc(c, rows * (size_t)o->top_k, sizeof *o->best_tokens);
    o->best_count = attend_ctx_alloc(c, rows, sizeof *o->best_count);
    o->best_log_p = attend_ctx_alloc_reals(c, rows * (size_t)o->top_k);
    o->end_log_p = attend_ctx_alloc_reals(c, rows);
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    return o->shortlists ? top_k_of_shortlists(c, o, &w, &a, source_of)
                         : top_k_of_all(c, o, &w, o->m->output_b->value, &a);
}
