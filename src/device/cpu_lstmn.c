/* cpu_lstmn.c: the steps of an LSTMN (op/lstmn.c). Attention of one row over rows of a tape:
 *     e_j = v . tanh(key_j + query)    s = softmax(e)    kt = sum_j s_j k_j    mt = sum_j s_j m_j
 * and backward:
 *     ds_j = dkt . k_j + dmt . m_j     de = s (ds - sum_j s_j ds_j)     dk_j += s_j dkt     dm_j += s_j dmt
 * Rows of the past are given by pointers, those of this call are contiguous. Both are added in the same order, so that
 * a sequence that is processed in several calls gives bit-identical results. */
#include "device/cpu.h"

#include "kernel/additive_pairs.h"
#include <string.h>

enum { TANH_COST = 8 }; /* for attend_cpu_rows */

/* Scratch memory for one row. */
typedef struct row_scratch {
    real *prepared_query; /* a prepared row */
    real *dquery;         /* (A) */
    real *de;             /* (max_count) */
    real *pair;           /* (A), padded */
    real *dv;             /* (A), padded: this row's part of dv; only backward */
} row_scratch;

static bool scratch_new(const attend_compute *c, const device_lstmn *l, row_scratch *s)
{
    const size_t padded = attend_additive_padded(l->attention_width);
    s->prepared_query = attend_arena_alloc(c->scratch, attend_additive_row_size(l->attention_width) * sizeof(real));
    s->dquery = attend_arena_alloc(c->scratch, l->attention_width * sizeof(real));
    s->de = attend_arena_alloc(c->scratch, l->max_count * sizeof(real));
    s->pair = attend_arena_alloc(c->scratch, padded * sizeof(real));
    s->dv = attend_arena_alloc(c->scratch, padded * sizeof(real));
    return s->prepared_query && s->dquery && s->de && s->pair && s->dv;
}

typedef struct keys_work {
    size_t width;
    device_input x;
    device_output prepared;
} keys_work;

static void prepare_keys(const void *user, size_t first, size_t count)
{
    const keys_work *w = user;
    for (size_t i = first; i < first + count; i++)
        attend_additive_prepare(1, w->width, cpu_input(&w->x, i), w->width, cpu_output(&w->prepared, i));
}

size_t attend_cpu_additive_width(size_t width)
{
    return attend_additive_padded(width);
}

size_t attend_cpu_additive_row(size_t width)
{
    return attend_additive_row_size(width);
}

void attend_cpu_additive_keys(const attend_compute *c, size_t n, size_t width, device_input x, device_output prepared)
{
    attend_cpu_rows(c, n, TANH_COST * width, prepare_keys,
                    &(keys_work){ .width = width, .x = x, .prepared = prepared });
}

/* The row's query and `count` keys. */
static additive_pairs pairs_of(const device_lstmn *l, const row_scratch *s, size_t row, const real *key,
                               const real *prepared, size_t count)
{
    return (additive_pairs){ .queries = 1,
                             .keys = count,
                             .width = l->attention_width,
                             .query = l->query + row * l->attention_width,
                             .query_stride = l->attention_width,
                             .key = key,
                             .key_stride = l->attention_width,
                             .prepared_query = s->prepared_query,
                             .prepared_key = prepared,
                             .u = l->v,
                             .scratch = s->pair };
}

static additive_pairs past_pair(const device_lstmn *l, const row_scratch *s, size_t row, const real *past_row)
{
    return pairs_of(l, s, row, past_row + l->past_key, past_row + l->past_prepared, 1);
}

static additive_pairs self_pairs(const device_lstmn *l, const row_scratch *s, size_t row, const device_lstmn_view *view)
{
    return pairs_of(l, s, row, l->key + view->first * l->attention_width,
                    l->prepared + view->first * attend_additive_row_size(l->attention_width), (size_t)view->count);
}

static void weighted_sums(const device_lstmn *l, const device_lstmn_view *view, const real *s, real *kt, real *mt)
{
    const attend_kernel_table *kernel = attend_kernel();
    const real *k = l->k + view->first * l->width, *m = l->m + view->first * l->hidden;
    if (view->past_count == 0) {
        kernel->weighted_sum(l->width, (size_t)view->count, s, k, l->width, kt);
        kernel->weighted_sum(l->hidden, (size_t)view->count, s, m, l->hidden, mt);
        return;
    }
    memset(kt, 0, l->width * sizeof *kt);
    memset(mt, 0, l->hidden * sizeof *mt);
    for (int j = 0; j < view->past_count + view->count; j++) {
        if (s[j] == 0) continue; /* as weighted_sum does */
        const bool past = j < view->past_count;
        const size_t own = past ? 0 : (size_t)(j - view->past_count);
        kernel->axpy(l->width, s[j], past ? view->past[j] : k + own * l->width, kt);
        kernel->axpy(l->hidden, s[j], past ? view->past[j] + l->past_memory : m + own * l->hidden, mt);
    }
}

static void row_forward(const device_lstmn *l, const row_scratch *scratch, size_t row, device_lstmn_view view)
{
    const attend_kernel_table *kernel = attend_kernel();
    const size_t n = (size_t)view.past_count + (size_t)view.count;
    real *kt = l->kt + row * l->width, *mt = l->mt + row * l->hidden, *s = l->weights + l->weight_offsets[row];
    if (n == 0) {
        memset(kt, 0, l->width * sizeof *kt);
        memset(mt, 0, l->hidden * sizeof *mt);
        return;
    }
    attend_additive_prepare(1, l->attention_width, l->query + row * l->attention_width, l->attention_width,
                            scratch->prepared_query);
    for (int j = 0; j < view.past_count; j++) {
        const additive_pairs pair = past_pair(l, scratch, row, view.past[j]);
        attend_additive_scores(&pair, s + j, 1);
    }
    const additive_pairs pairs = self_pairs(l, scratch, row, &view);
    attend_additive_scores(&pairs, s + view.past_count, (size_t)view.count);
    const real sum = kernel->exp_sum(n, s, kernel->max(n, s), s);
    kernel->scale(n, 1 / sum, s);
    weighted_sums(l, &view, s, kt, mt);
    if (l->outputs) memcpy(l->outputs + l->output_offsets[row], s, n * sizeof *s);
}

/* ---- backward ---- */

/* ds into s->de */
static void weights_gradient(const device_lstmn *l, const row_scratch *s, size_t row, const device_lstmn_view *view,
                             const real *dkt, const real *dmt)
{
    const attend_kernel_table *kernel = attend_kernel();
    const size_t past = (size_t)view->past_count, n = past + (size_t)view->count;
    for (size_t j = 0; j < n; j++) {
        const size_t own = j < past ? 0 : view->first + j - past;
        const real *k = j < past ? view->past[j] : l->k + own * l->width;
        const real *m = j < past ? view->past[j] + l->past_memory : l->m + own * l->hidden;
        s->de[j] = kernel->dot(l->width, dkt, k) + kernel->dot(l->hidden, dmt, m);
    }
    if (l->doutputs) kernel->add(n, l->doutputs + l->output_offsets[row], s->de);
}

static void rows_gradient(const device_lstmn *l, const device_lstmn_view *view, const real *s, const real *dkt,
                          const real *dmt)
{
    const attend_kernel_table *kernel = attend_kernel();
    for (size_t j = 0; j < (size_t)view->count; j++) {
        if (l->dk) kernel->axpy(l->width, s[j], dkt, l->dk + (view->first + j) * l->width);
        if (l->dm) kernel->axpy(l->hidden, s[j], dmt, l->dm + (view->first + j) * l->hidden);
    }
}

static void scores_gradient(const device_lstmn *l, const row_scratch *s, size_t row, const device_lstmn_view *view)
{
    additive_gradients to = {
        .score = s->de, .score_stride = 1, .query = s->dquery, .query_stride = l->attention_width
    };
    to.u = s->dv;
    for (int j = 0; j < view->past_count; j++, to.score++) {
        const additive_pairs pair = past_pair(l, s, row, view->past[j]);
        attend_additive_scores_backward(&pair, &to);
    }
    const additive_pairs pairs = self_pairs(l, s, row, view);
    to.key = l->dkey ? l->dkey + view->first * l->attention_width : NULL;
    to.key_stride = l->attention_width;
    attend_additive_scores_backward(&pairs, &to);
}

static void row_backward(const device_lstmn *l, const row_scratch *scratch, size_t row, device_lstmn_view view,
                         const real *dkt, const real *dmt)
{
    const attend_kernel_table *kernel = attend_kernel();
    const size_t n = (size_t)view.past_count + (size_t)view.count;
    const real *s = l->weights + l->weight_offsets[row];
    real *query = l->query + row * l->attention_width;
    real *de = scratch->de;
    memset(scratch->dquery, 0, l->attention_width * sizeof *query);
    if (n > 0) {
        weights_gradient(l, scratch, row, &view, dkt, dmt);
        kernel->scale_shift(n, -kernel->dot(n, s, de), 1, de, de);
        kernel->mul(n, s, de, de);
        rows_gradient(l, &view, s + view.past_count, dkt, dmt);
        attend_additive_prepare(1, l->attention_width, query, l->attention_width, scratch->prepared_query);
        scores_gradient(l, scratch, row, &view);
    }
    memcpy(query, scratch->dquery, l->attention_width * sizeof *query);
}

/* ---- rows on threads: those of a step belong to different sequences ---- */

typedef struct step_rows {
    const device_lstmn *l;
    const int *rows;
    const device_lstmn_view *views;
    row_scratch *scratch; /* (n) */
    const real *dkt;
    device_input dmt;
} step_rows;

static void forward_rows(const void *user, size_t first, size_t count)
{
    const step_rows *w = user;
    for (size_t i = first; i < first + count; i++) row_forward(w->l, &w->scratch[i], (size_t)w->rows[i], w->views[i]);
}

static void backward_rows(const void *user, size_t first, size_t count)
{
    const step_rows *w = user;
    for (size_t i = first; i < first + count; i++) {
        memset(w->scratch[i].dv, 0, attend_additive_padded(w->l->attention_width) * sizeof(real));
        row_backward(w->l, &w->scratch[i], (size_t)w->rows[i], w->views[i], w->dkt + i * w->l->width,
                     cpu_input(&w->dmt, i));
    }
}

static row_scratch *rows_scratch(const attend_compute *c, const device_lstmn *l, size_t n)
{
    row_scratch *scratch = attend_arena_alloc(c->scratch, n * sizeof *scratch);
    bool ok = scratch != NULL;
    for (size_t i = 0; ok && i < n; i++) ok = scratch_new(c, l, &scratch[i]);
    return ok ? scratch : NULL;
}

/* The mean cost of a row. */
static size_t row_cost(const device_lstmn *l, size_t n, const device_lstmn_view *views)
{
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++) pairs += (size_t)views[i].past_count + (size_t)views[i].count;
    return n ? pairs * (TANH_COST * l->attention_width + l->width + l->hidden) / n : 0;
}

bool attend_cpu_lstmn_attention(const attend_compute *c, const device_lstmn *l, size_t n, const int *rows,
                                const device_lstmn_view *views)
{
    const arena_mark mark = attend_arena_mark(c->scratch);
    const step_rows w = { .l = l, .rows = rows, .views = views, .scratch = rows_scratch(c, l, n) };
    if (w.scratch) attend_cpu_rows(c, n, row_cost(l, n, views), forward_rows, &w);
    attend_arena_rewind(c->scratch, mark);
    return w.scratch != NULL;
}

bool attend_cpu_lstmn_attention_backward(const attend_compute *c, const device_lstmn *l, size_t n, const int *rows,
                                         const device_lstmn_view *views, const real *dkt, device_input dmt)
{
    const arena_mark mark = attend_arena_mark(c->scratch);
    const step_rows w = {
        .l = l, .rows = rows, .views = views, .scratch = rows_scratch(c, l, n), .dkt = dkt, .dmt = dmt
    };
    if (w.scratch) {
        attend_cpu_rows(c, n, 2 * row_cost(l, n, views), backward_rows, &w);
        for (size_t i = 0; i < n; i++)
            attend_kernel()->add(attend_additive_padded(l->attention_width), w.scratch[i].dv, l->dv);
    }
    attend_arena_rewind(c->scratch, mark);
    return w.scratch != NULL;
}

typedef struct gate_rows {
    const device_lstmn_gates *g;
    const int *rows;
} gate_rows;

static void gates_forward(const void *user, size_t first, size_t count)
{
    const device_lstmn_gates *g = ((const gate_rows *)user)->g;
    const size_t h = g->hidden, wide = g->blocks * h;
    for (size_t i = first; i < first + count; i++) {
        const size_t row = (size_t)((const gate_rows *)user)->rows[i];
        real *gates = g->gates + row * wide, *y = g->h + row * h, *memory = g->memory + row * h;
        const real *recurrent = g->recurrent + i * wide, *ct = g->ct + row * h;
        if (g->at)
            attend_kernel()->lstm_fused(h, gates, recurrent, ct, g->at + row * h, memory, y, gates);
        else
            attend_kernel()->lstm(h, ATTEND_TANH, gates, recurrent, ct, memory, y, gates);
    }
}

void attend_cpu_lstmn_gates(const attend_compute *c, const device_lstmn_gates *g, size_t n, const int *rows)
{
    attend_cpu_rows(c, n, TANH_COST * g->blocks * g->hidden, gates_forward, &(gate_rows){ .g = g, .rows = rows });
}

static void gates_backward(const void *user, size_t first, size_t count)
{
    const device_lstmn_gates *g = ((const gate_rows *)user)->g;
    const size_t h = g->hidden, wide = g->blocks * h;
    for (size_t i = first; i < first + count; i++) {
        const size_t row = (size_t)((const gate_rows *)user)->rows[i];
        real *gates = g->gates + row * wide, *dc = g->dc + row * h;
        const real *dh = g->dh + row * h, *ct = g->ct + row * h, *memory = g->memory + row * h;
        if (g->at)
            attend_kernel()->lstm_fused_backward(h, dh, ct, g->at + row * h, memory, gates, gates, dc, g->da + i * h);
        else
            attend_kernel()->lstm_backward(h, ATTEND_TANH, dh, ct, memory, gates, gates, dc);
        memcpy(g->recurrent + i * wide, gates, wide * sizeof(real));
    }
}

void attend_cpu_lstmn_gates_backward(const attend_compute *c, const device_lstmn_gates *g, size_t n, const int *rows)
{
    attend_cpu_rows(c, n, TANH_COST * g->blocks * g->hidden, gates_backward, &(gate_rows){ .g = g, .rows = rows });
}
