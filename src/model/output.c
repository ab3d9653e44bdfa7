#include "model/output.h"

#include "model/shortlist.h"
#include "op/packed_weights.h"
#include "op/product.h"
#include <math.h>
#include <string.h>

/* Columns that are multiplied and looked at together: whole tiles of every kernel table, and with a hundred rows still in the second
 * cache. The sum of a row is added up by these, so that it does not depend on threads. */
enum { CHUNK = 576 };

/* See output_tail. One word of the tail counts for at most so much of the list's probability: it stands for many others, and if it happened to be what
 * the model wants to say these would not be. */
enum { TAIL_STEP = 16, TAIL_FIRST = 5 };
static const real TAIL_MOST = (real)0.02;

void attend_output_new(output_layer *o, const attend_model *m)
{
    *o = (output_layer){ .m = m, .width = (size_t)m->config.target_vocab };
}

/* ---- shortlists ---- */

/* Some columns of the output layer, with their biases. */
static bool columns_new(attend_ctx *c, const attend_model *m, const packed_matrix *all, int n, const int *words,
                        packed_matrix *w, const real **biases)
{
    const size_t count = (size_t)n;
    void *data = attend_take(c, attend_packed_bytes(all->precision, all->k, count), 1);
    real *b = attend_take_reals(c, count), *steps = all->steps ? attend_take_reals(c, count) : NULL;
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    attend_pack_columns(all, count, words, data);
    for (size_t i = 0; i < count; i++) {
        b[i] = m->output_b->value[words[i]];
        if (steps) steps[i] = all->steps[words[i]];
    }
    *w = (packed_matrix){ .precision = all->precision, .k = all->k, .n = count, .data = data, .steps = steps };
    *biases = b;
    return true;
}

static bool tail_new(attend_ctx *c, const attend_model *m, const packed_matrix *all, output_tail *out)
{
    const int vocab = m->config.target_vocab;
    out->words = attend_take(c, (size_t)(vocab / TAIL_STEP + 1), sizeof *out->words);
    out->count = 0;
    for (int word = TAIL_FIRST; out->words && word < vocab; word += TAIL_STEP) out->words[out->count++] = word;
    return out->words && (out->count == 0 || columns_new(c, m, all, out->count, out->words, &out->w, &out->b));
}

static bool limit_new(attend_ctx *c, const attend_model *m, const packed_matrix *all, const output_tail *tail, int n,
                      const int *source, output_limit *out)
{
    out->words = attend_shortlist_tokens(c, m, n, source, &out->count);
    out->outside = attend_take_reals(c, (size_t)tail->count);
    if (!out->words || !out->outside || !columns_new(c, m, all, out->count, out->words, &out->w, &out->b)) return false;
    int at = 0, outside = 0;
    for (int i = 0; i < tail->count; i++) { /* both are sorted */
        while (at < out->count && out->words[at] < tail->words[i]) at++;
        const bool listed = at < out->count && out->words[at] == tail->words[i];
        out->outside[i] = listed ? 0 : 1;
        outside += !listed;
    }
    out->rest = outside ? (real)(m->config.target_vocab - out->count) / (real)outside : 0;
    for (int i = 0; i < out->count; i++)
        if (out->words[i] == ATTEND_END) out->end = (size_t)i;
    return true;
}

bool attend_output_limit(attend_ctx *c, output_layer *o, const attend_ragged *sources, const int *words)
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
        if (!limit_new(c, o->m, &all, &o->tail, n, words + at, &limits[i])) return false;
        if ((size_t)limits[i].count > o->width) o->width = (size_t)limits[i].count;
        at += n;
    }
    o->limits = limits;
    return true;
}

/* ---- adding up ---- */

/* The largest logit of a chunk, and the sum of exp(x - largest). */
typedef struct part {
    real most, sum;
} part;

/* Of a chunk; the numbers are lost. */
static part part_of(size_t width, real *x)
{
    part p = { .most = attend_kernel()->max(width, x) };
    p.sum = attend_kernel()->exp_sum(width, x, p.most, x);
    return p;
}

/* lse of a row from its chunks, in their order. */
static double sum_up(const part *p, int n)
{
    real most = p[0].most;
    for (int i = 1; i < n; i++)
        if (!(p[i].most <= most)) most = p[i].most;
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)p[i].sum * exp((double)p[i].most - (double)most);
    return (double)most + log(sum);
}

/* lse of a row on a list, of which the chunks are added up, and of the tail's logits; these are lost. */
static double limited_lse(const output_layer *o, const output_limit *l, double lse, real *tail)
{
    const size_t n = (size_t)o->tail.count;
    if (n == 0 || l->rest == 0 || !isfinite(lse)) return lse;
    attend_kernel()->scale_shift(n, (real)-lse, 1, tail, tail);
    attend_kernel()->exp(n, tail, tail);
    for (size_t i = 0; i < n; i++) tail[i] = tail[i] < TAIL_MOST ? tail[i] : TAIL_MOST;
    return lse + log1p((double)l->rest * (double)attend_kernel()->dot(n, tail, l->outside));
}

/* Logits of the tail for all rows, (rows, tail); NULL: no memory. */
static real *tail_logits(attend_ctx *c, const output_layer *o, const activations *a)
{
    real *logits = attend_take_reals(c, a->m * (size_t)o->tail.count + 1);
    if (logits && o->tail.count)
        attend_product(c, PACKED_BIAS, o->tail.b, a, &o->tail.w, logits, (size_t)o->tail.count);
    return logits;
}

/* ---- all words ---- */

/* lse of a row, which is lost. */
static double row_lse(size_t width, real *row, part *parts)
{
    int n = 0;
    for (size_t first = 0; first < width; first += CHUNK)
        parts[n++] = part_of(width - first < CHUNK ? width - first : CHUNK, row + first);
    return sum_up(parts, n);
}

/* Rows [first, first + count) of some activations. */
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

static bool all_words(attend_ctx *c, output_layer *o, const packed_matrix *w, const real *b, const activations *a,
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
    for (int i = 0; i < n; i++) { /* as the other ways below do it, to the bit */
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

/* ---- the best alone ---- */

/* The best words of one row so far, by logit, best first; of equal ones the lower number. */
typedef struct best {
    int count;
    int words[OUTPUT_MAX_TOP_K];
    real logits[OUTPUT_MAX_TOP_K];
} best;

static void best_add(best *b, int most, real logit, int word)
{
    int at = b->count < most ? b->count++ : most - 1;
    for (; at > 0 && b->logits[at - 1] < logit; at--)
        b->logits[at] = b->logits[at - 1], b->words[at] = b->words[at - 1];
    b->logits[at] = logit, b->words[at] = word;
}

static real least_of(const best *b, int most)
{
    return b->count < most ? -(real)INFINITY : b->logits[most - 1];
}

/* Looks through the logits of a chunk, of which words (NULL: numbered from `first`) they are; begin is no target's word. */
static void look(best *b, int most, size_t n, const real *x, int first, const int *words)
{
    real least = least_of(b, most);
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > least)) continue;
        const int word = words ? words[i] : first + (int)i;
        if (word == ATTEND_BEGIN) continue;
        best_add(b, most, x[i], word);
        least = least_of(b, most);
    }
}

/* Some chunks of all rows; each thread takes one such range. */
typedef struct chunks {
    const packed_matrix *w;
    const real *b;
    const activations *a;
    int keep, ranges, chunk_count;
    best *bests;   /* (ranges, rows) */
    part *parts;   /* (rows, chunk_count) */
    real *buffers; /* (ranges, rows, CHUNK) */
    real *ends;    /* (rows) logits of the end */
} chunks;

static void take_range(void *user, int range)
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
            p->most = k->max(width, row);
            if (!(p->most <= least_of(&bests[i], s->keep))) look(&bests[i], s->keep, width, row, (int)first, NULL);
            p->sum = k->exp_sum(width, row, p->most, row);
        }
    }
}

/* Of a row whose probabilities are not numbers nothing is the best. */
static void keep_best(output_layer *o, size_t row, const best *b, real end, double lse)
{
    const real shift = (real)-lse;
    o->end_log_p[row] = end + shift;
    const size_t at = row * (size_t)o->keep;
    o->best_count[row] = isfinite(lse) ? b->count : 0;
    for (int i = 0; i < o->best_count[row]; i++) {
        o->best_words[at + (size_t)i] = b->words[i];
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
                 .keep = o->keep,
                 .ends = o->end_log_p,
                 .ranges = threads,
                 .chunk_count = (int)((w->n + CHUNK - 1) / CHUNK) };
    if (s.ranges > s.chunk_count) s.ranges = s.chunk_count;
    s.bests = attend_take(c, (size_t)s.ranges * rows, sizeof *s.bests);
    s.parts = attend_take(c, rows * (size_t)s.chunk_count, sizeof *s.parts);
    s.buffers = attend_take_reals(c, (size_t)s.ranges * rows * CHUNK);
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    if (s.ranges > 1)
        attend_pool_run(c->pool, s.ranges, take_range, &s);
    else
        take_range(&s, 0);
    for (size_t i = 0; i < rows; i++) {
        best *all = &s.bests[i];
        for (int range = 1; range < s.ranges; range++) {
            const best *more = &s.bests[(size_t)range * rows + i];
            for (int j = 0; j < more->count; j++)
                if (more->logits[j] > least_of(all, o->keep)) best_add(all, o->keep, more->logits[j], more->words[j]);
        }
        keep_best(o, i, all, s.ends[i], sum_up(&s.parts[i * (size_t)s.chunk_count], s.chunk_count));
    }
    return true;
}

static bool best_of_lists(attend_ctx *c, output_layer *o, const packed_matrix *w, const activations *a,
                          const int *source_of)
{
    const int n = (int)a->m;
    int most_rows = 0;
    for (int i = 0, end; i < n; i = end) {
        end = end_of_source(source_of, i, n);
        if (end - i > most_rows) most_rows = end - i;
    }
    real *buffer = attend_take_reals(c, (size_t)most_rows * o->width);
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
            look(b, o->keep, width, x, 0, l->words);
            const double lse = row_lse(width, x, parts);
            keep_best(o, (size_t)row, b, end_logit, limited_lse(o, l, lse, tail + (size_t)row * (size_t)o->tail.count));
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
    if (o->keep == 0) return all_words(c, o, &w, o->m->output_b->value, &a, source_of);
    o->best_words = attend_take(c, rows * (size_t)o->keep, sizeof *o->best_words);
    o->best_count = attend_take(c, rows, sizeof *o->best_count);
    o->best_log_p = attend_take_reals(c, rows * (size_t)o->keep);
    o->end_log_p = attend_take_reals(c, rows);
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    return o->limits ? best_of_lists(c, o, &w, &a, source_of) : best_of_all(c, o, &w, o->m->output_b->value, &a);
}
