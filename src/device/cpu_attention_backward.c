/* cpu_attention_backward.c: score -> recomputed weights -> dp = dcontext v' + dweights -> de -> the score's own backward. */
#include "device/cpu_attention.h"

#include "kernel/gemm.h"
#include <string.h>

/* Recomputes row i: e becomes p, and w the weights that multiplied the values. Returns whether a key of the tile may be
 * masked. */
static bool recompute_weights(group *g, const attend_tile *t, int i)
{
    const device_attention *a = g->a;
    const attention_range r = g->s->ranges[i];
    const int query = t->first_query + i;
    const size_t n = (size_t)(r.last - r.first), at = (size_t)(r.first - t->first_key), row = (size_t)i * g->s->stride;
    real *e = g->s->e + row + at, *w = g->s->w + row + at;
    const size_t index = attention_query_index(a, g->b, t->head, query);
    const selected row_state = a->selected[index];
    bool masked = a->allowed || a->bias; /* a key may be masked */
    if (a->stored_weights) {
        memcpy(e, a->stored_weights + index * (size_t)a->source->max_keys + r.first, n * sizeof *e);
    } else {
        masked = attend_attention_mask_row(a, g->b, t->head, query, r.first, n, e,
                                           g->s->capped ? g->s->capped + row + at : NULL);
        attend_attention_select_recompute(&a->select, n, e, row_state, fused_weight_index(a, g->b, t->head, query));
    }
    attend_fused_zero_outside(g->s->e + row, t, r);
    attend_fused_zero_outside(g->s->w + row, t, r);
    if (a->select.selection == ATTEND_SELECT_HARD) {
        memset(w, 0, n * sizeof *w);
        if (row_state.choice >= 0) w[row_state.choice] = 1;
    } else if (w != e) {
        memcpy(w, e, n * sizeof *w);
    }
    if (a->position) {
        attend_fused_gaussian(a, attend_fused_gaussian_center(a, g->b, query, g->keys), r.first, n, g->s->row);
        attend_kernel()->mul(n, w, g->s->row, w);
    }
    if (a->dropout > 0) {
        real scale = attend_fused_dropout(a, g->b, t->head, query, r.first, n, g->s->mask);
        for (size_t j = 0; j < n; j++) w[j] = g->s->mask[j] ? w[j] * scale : 0;
    }
    return masked || r.first > t->first_key || r.last < t->first_key + t->keys;
}

/* d_ij = do_i . v_j for the whole tile, and dv_j += sum_i w_ij do_i */
static void value_gradients(group *g, const attend_tile *t, const real *dout, bool products)
{
    const device_attention *a = g->a;
    const attend_kernel_table *k = attend_kernel();
    const size_t width = (size_t)a->source->value_width, stride = g->s->stride, keys = (size_t)t->keys;
    const size_t ldo = a->context_rows.row, ldv = a->source->value_rows.row, count = (size_t)t->queries;
    real *dvalue =
        g->a->dvalue ? g->a->dvalue + attention_row(&a->source->value_rows, g->b, g->key_head, t->first_key) : NULL;
    if (products) {
        const size_t skip = (size_t)t->first_key * width; /* whole panels of V' */
        attend_gemm_packed(PACKED_ZERO, NULL, count, keys, width, dout, ldo, g->s->values_t + skip, g->s->d, stride);
        if (!dvalue) return;
        attend_pack(false, count, width, dout, ldo, g->s->values);
        attend_gemm_packed_transposed(keys, width, count, g->s->w, stride, g->s->values, dvalue, ldv);
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < keys; j++) {
            const real p = g->s->e[i * stride + j], w = g->s->w[i * stride + j];
            const real *v = fused_value(g, t->first_key + (int)j);
            g->s->d[i * stride + j] = p != 0 || w != 0 ? k->dot(width, dout + i * ldo, v) : 0;
            if (dvalue && w != 0) k->axpy(width, w, dout + i * ldo, dvalue + j * ldv);
        }
}

/* Turns dL/dw of row i, in d, into dL/dp: backward through dropout and the Gaussian window, plus dL/dweights of the
 * caller. */
static void weights_gradient(group *g, const attend_tile *t, int i)
{
    const device_attention *a = g->a;
    const attention_range r = g->s->ranges[i];
    const int query = t->first_query + i;
    const size_t n = (size_t)(r.last - r.first), at = (size_t)i * g->s->stride + (size_t)(r.first - t->first_key);
    real *d = g->s->d + at, *p = g->s->e + at;
    if (a->dropout > 0) {
        real scale = attend_fused_dropout(a, g->b, t->head, query, r.first, n, g->s->mask);
        for (size_t j = 0; j < n; j++) d[j] = g->s->mask[j] ? d[j] * scale : 0;
    }
    if (a->dweights) {
        size_t index = attention_query_index(a, g->b, t->head, query);
        attend_kernel()->add(n, a->dweights + index * (size_t)a->source->max_keys + r.first, d);
    }
    if (!a->position) return;
    const double center = attend_fused_gaussian_center(a, g->b, query, g->keys), sigma = a->source->window_size / 2.0;
    attend_fused_gaussian(a, center, r.first, n, g->s->row);
    double sum = 0;
    for (size_t j = 0; j < n; j++) {
        sum += (double)d[j] * (double)p[j] * (double)g->s->row[j] * (r.first + (double)j - center) / (sigma * sigma);
        d[j] *= g->s->row[j];
    }
    if (g->a->dposition) g->a->dposition[attention_position_index(a, g->b, query)] += (real)(sum * g->keys);
}

/* d holds dL/de after cap and bias: adds it to the gradient of the bias, and passes it backward through the cap. */
static void score_gradient_row(group *g, const attend_tile *t, int i)
{
    const device_attention *a = g->a;
    const attention_range r = g->s->ranges[i];
    const size_t n = (size_t)(r.last - r.first), at = (size_t)i * g->s->stride + (size_t)(r.first - t->first_key);
    real *d = g->s->d + at;
    if (g->a->dbias) {
        const size_t *s = a->bias_strides;
        real *to = g->a->dbias + (size_t)g->b * s[0] + (size_t)t->head * s[1] + (size_t)(t->first_query + i) * s[2] +
                   (size_t)r.first * s[3];
        for (size_t j = 0; j < n; j++) to[j * s[3]] += d[j];
    }
    if (g->s->capped) {
        const real cap = (real)a->source->soft_cap;
        for (size_t j = 0; j < n; j++) {
            const real y = g->s->capped[at + j] / cap;
            d[j] = d[j] != 0 ? d[j] * (1 - y * y) : 0;
        }
    }
    attend_fused_zero_outside(g->s->d + (size_t)i * g->s->stride, t, r);
}

/* The score's backward pass. With masked keys and non-finite elements (products false), each query is processed with
 * only those runs of keys that have a gradient, since 0 times NaN is NaN. */
static void score_backward(group *g, attend_tile t, bool products)
{
    const device_attention *a = g->a;
    const device_score *score = &a->source->score;
    attend_tile_gradients grads = { .score = g->s->d, .parameters = g->dparameters };
    real *dquery = g->a->dquery ? g->a->dquery + attention_row(&a->query_rows, g->b, t.head, t.first_query) : NULL;
    real *dkey = g->a->dkey ? g->a->dkey + attention_row(&a->source->key_rows, g->b, g->key_head, t.first_key) : NULL;
    real *dprevious = a->dprevious ? a->dprevious + (t.previous - a->previous) : NULL;
    if (products) {
        grads.query = dquery, grads.key = dkey, grads.previous = dprevious;
        score->tile_backward(&t, &grads);
        return;
    }
    const attend_tile whole = t;
    for (int i = 0; i < whole.queries; i++) {
        const real *d = g->s->d + (size_t)i * g->s->stride;
        for (int j = 0, last; j < whole.keys; j = last) {
            for (last = j; last < whole.keys && (d[last] != 0) == (d[j] != 0);) last++;
            if (d[j] == 0) continue;
            t.queries = 1, t.keys = last - j;
            t.query = whole.query + (size_t)i * whole.query_stride;
            t.key = whole.key + (size_t)j * whole.key_stride;
            t.first_query = whole.first_query + i, t.first_key = whole.first_key + j;
            t.cache = NULL;
            t.score = whole.score + (size_t)i * whole.score_stride + j;
            if (whole.previous) t.previous = whole.previous + (size_t)i * whole.previous_stride;
            grads.score = d + j;
            grads.query = dquery ? dquery + (size_t)i * whole.query_stride : NULL;
            grads.key = dkey ? dkey + (size_t)j * whole.key_stride : NULL;
            grads.previous = dprevious ? dprevious + (size_t)i * whole.previous_stride : NULL;
            score->tile_backward(&t, &grads);
        }
    }
}

/* sum_j p dp of row i. If the tile has only part of the row, it is computed as context . dcontext, which is equal
 * because then there is no dL/dweights of the caller. */
static real weighted_mean(const group *g, const attend_tile *t, int i)
{
    const device_attention *a = g->a;
    const workspace *s = g->s;
    const attend_kernel_table *k = attend_kernel();
    if (s->block < g->keys)
        return k->dot((size_t)a->source->value_width, a->context + fused_context(g, t->head, t->first_query + i),
                      a->dcontext + fused_context(g, t->head, t->first_query + i));
    const attention_range r = s->ranges[i];
    const size_t at = (size_t)i * s->stride + (size_t)(r.first - t->first_key);
    return k->dot((size_t)(r.last - r.first), s->e + at, s->d + at);
}

static void backward_tile(group *g, attend_tile t)
{
    const device_attention *a = g->a;
    const workspace *s = g->s;
    const int count = t.queries;
    if (!a->stored_weights) a->source->score.tile(&t);

    bool masked = false;
    for (int i = 0; i < count; i++) masked |= recompute_weights(g, &t, i);
    if (a->dcontext)
        value_gradients(g, &t, a->dcontext + fused_context(g, t.head, t.first_query),
                        g->packed && (!masked || attend_fused_values_finite(g)));
    else
        for (int i = 0; i < count; i++) memset(s->d + (size_t)i * s->stride, 0, (size_t)t.keys * sizeof(real));

    for (int i = 0; i < count; i++) {
        const attention_range r = s->ranges[i];
        const size_t at = (size_t)i * s->stride + (size_t)(r.first - t.first_key);
        weights_gradient(g, &t, i);
        attend_attention_select_backward(&a->select, (size_t)(r.last - r.first), s->e + at,
                                         a->selected[attention_query_index(a, g->b, t.head, t.first_query + i)],
                                         weighted_mean(g, &t, i), a->advantage ? a->advantage[g->b] : 0, s->d + at);
        score_gradient_row(g, &t, i);
    }
    /* a query without unmasked keys may hold non-finite elements */
    score_backward(g, t,
                   !masked || (attend_fused_keys_finite(g) &&
                               attend_fused_rows_finite(count, t.query_width, t.query, t.query_stride)));
}

/* All queries are processed for one block of keys before the next, so that its packed copies and gradients stay in
 * the L2 cache. */
void attend_fused_backward(group *g)
{
    const device_source *src = g->a->source;
    const int share = src->heads / src->key_heads, tile = g->s->tile, block = g->s->block;
    if (g->packed)
        attend_pack(true, (size_t)src->value_width, (size_t)g->keys, g->value, src->value_rows.row, g->s->values_t);
    for (int from = 0; from < g->keys; from += block)
        for (int head = g->key_head * share; head < (g->key_head + 1) * share; head++)
            for (int first = 0; first < g->queries; first += tile) {
                const int count = g->queries - first < tile ? g->queries - first : tile;
                const int to = g->keys - from < block ? g->keys : from + block;
                const attend_tile t = attend_fused_tile(g, head, first, count, from, to);
                if (t.keys > 0) backward_tile(g, t);
            }
}
