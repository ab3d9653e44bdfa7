/* lstmn_attention.c: attention of one row over rows of a tape:
 *     e_j = v . tanh(key_j + query)    s = softmax(e)    kt = sum_j s_j k_j    mt = sum_j s_j m_j
 * and backward:
 *     ds_j = dkt . k_j + dmt . m_j     de = s (ds - sum_j s_j ds_j)     dk_j += s_j dkt     dm_j += s_j dmt
 * Rows of the past are given by pointers, those of this call are contiguous. Both are added in the same order, so that
 * a sequence that is processed in several calls gives bit-identical results. */
#include "op/lstmn.h"

#include "core/tape.h"
#include <string.h>

bool attend_lstmn_attention_scratch(attend_ctx *c, lstmn_attention *l, size_t max_count)
{
    const size_t padded = attend_additive_padded(l->attention_width);
    l->v_padded = attend_ctx_alloc_zeros(c, padded);
    l->dv = attend_ctx_alloc_zeros(c, padded);
    l->pair = attend_ctx_alloc_reals(c, padded);
    l->dquery = attend_ctx_alloc_reals(c, l->attention_width);
    l->prepared_query = attend_ctx_alloc_reals(c, attend_additive_row_size(l->attention_width));
    l->de = attend_ctx_alloc_reals(c, max_count);
    if (c->status != ATTEND_OK) return false;
    memcpy(l->v_padded, l->v->value, l->attention_width * sizeof(real));
    return true;
}

/* The row's query and `count` keys. */
static additive_pairs pairs_of(const lstmn_attention *l, size_t row, const real *key, const real *prepared,
                               size_t count)
{
    return (additive_pairs){ .queries = 1,
                             .keys = count,
                             .width = l->attention_width,
                             .query = l->query + row * l->attention_width,
                             .query_stride = l->attention_width,
                             .key = key,
                             .key_stride = l->attention_width,
                             .prepared_query = l->prepared_query,
                             .prepared_key = prepared,
                             .u = l->v_padded,
                             .scratch = l->pair };
}

static additive_pairs past_pair(const lstmn_attention *l, size_t row, const real *past_row)
{
    return pairs_of(l, row, past_row + l->tape.key, past_row + l->tape.prepared, 1);
}

static additive_pairs self_pairs(const lstmn_attention *l, size_t row, const lstmn_view *view)
{
    return pairs_of(l, row, l->key + view->first * l->attention_width,
                    l->prepared + view->first * attend_additive_row_size(l->attention_width), (size_t)view->count);
}

static void weighted_sums(const lstmn_attention *l, const lstmn_view *view, const real *s, real *kt, real *mt)
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
        kernel->axpy(l->hidden, s[j], past ? view->past[j] + l->tape.memory : m + own * l->hidden, mt);
    }
}

void attend_lstmn_attention_forward(lstmn_attention *l, size_t row, lstmn_view view)
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
                            l->prepared_query);
    for (int j = 0; j < view.past_count; j++) {
        const additive_pairs pair = past_pair(l, row, view.past[j]);
        attend_additive_scores(&pair, s + j, 1);
    }
    const additive_pairs pairs = self_pairs(l, row, &view);
    attend_additive_scores(&pairs, s + view.past_count, (size_t)view.count);
    const real sum = kernel->exp_sum(n, s, kernel->max(n, s), s);
    kernel->scale(n, 1 / sum, s);
    weighted_sums(l, &view, s, kt, mt);
    if (l->weights_var) memcpy(l->weights_var->value + l->output_offsets[row], s, n * sizeof *s);
}

/* ---- backward ---- */

/* ds into l->de */
static void weights_gradient(const lstmn_attention *l, size_t row, const lstmn_view *view, const real *dkt,
                             const real *dmt)
{
    const attend_kernel_table *kernel = attend_kernel();
    const size_t past = (size_t)view->past_count, n = past + (size_t)view->count;
    for (size_t j = 0; j < n; j++) {
        const size_t own = j < past ? 0 : view->first + j - past;
        const real *k = j < past ? view->past[j] : l->k + own * l->width;
        const real *m = j < past ? view->past[j] + l->tape.memory : l->m + own * l->hidden;
        l->de[j] = kernel->dot(l->width, dkt, k) + kernel->dot(l->hidden, dmt, m);
    }
    if (l->weights_var && l->weights_var->grad) kernel->add(n, l->weights_var->grad + l->output_offsets[row], l->de);
}

static void rows_gradient(const lstmn_attention *l, const lstmn_view *view, const real *s, const real *dkt,
                          const real *dmt)
{
    const attend_kernel_table *kernel = attend_kernel();
    for (size_t j = 0; j < (size_t)view->count; j++) {
        if (l->dk) kernel->axpy(l->width, s[j], dkt, l->dk + (view->first + j) * l->width);
        if (l->dm) kernel->axpy(l->hidden, s[j], dmt, l->dm + (view->first + j) * l->hidden);
    }
}

static void scores_gradient(const lstmn_attention *l, size_t row, const lstmn_view *view)
{
    additive_gradients to = {
        .score = l->de, .score_stride = 1, .query = l->dquery, .query_stride = l->attention_width
    };
    to.u = l->dv;
    for (int j = 0; j < view->past_count; j++, to.score++) {
        const additive_pairs pair = past_pair(l, row, view->past[j]);
        attend_additive_scores_backward(&pair, &to);
    }
    const additive_pairs pairs = self_pairs(l, row, view);
    to.key = l->dkey ? l->dkey + view->first * l->attention_width : NULL;
    to.key_stride = l->attention_width;
    attend_additive_scores_backward(&pairs, &to);
}

void attend_lstmn_attention_backward(lstmn_attention *l, size_t row, lstmn_view view, const real *dkt, const real *dmt)
{
    const attend_kernel_table *kernel = attend_kernel();
    const size_t n = (size_t)view.past_count + (size_t)view.count;
    const real *s = l->weights + l->weight_offsets[row];
    real *query = l->query + row * l->attention_width;
    memset(l->dquery, 0, l->attention_width * sizeof *query);
    if (n > 0) {
        weights_gradient(l, row, &view, dkt, dmt);
        kernel->scale_shift(n, -kernel->dot(n, s, l->de), 1, l->de, l->de);
        kernel->mul(n, s, l->de, l->de);
        rows_gradient(l, &view, s + view.past_count, dkt, dmt);
        attend_additive_prepare(1, l->attention_width, query, l->attention_width, l->prepared_query);
        scores_gradient(l, row, &view);
    }
    memcpy(query, l->dquery, l->attention_width * sizeof *query);
}
