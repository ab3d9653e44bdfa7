/* cpu_attention_forward.c: score -> cap, bias, mask -> select -> weights -> context, a tile of queries at a time. */
#include "device/cpu_attention.h"

#include "kernel/gemm.h"
#include <math.h>
#include <string.h>

/* Turns the scores of row i of the tile into weights. Returns whether a key of the tile is masked for its query. */
static bool compute_weights(group *g, const attend_tile *t, int i)
{
    const device_attention *a = g->a;
    const attention_range r = g->s->ranges[i];
    const int query = t->first_query + i;
    const size_t n = (size_t)(r.last - r.first);
    real *row = g->s->e + (size_t)i * g->s->stride, *e = row + (r.first - t->first_key);
    bool masked = attend_attention_mask_row(a, g->b, t->head, query, r.first, n, e, NULL);
    const size_t index = attention_query_index(a, g->b, t->head, query);
    if (a->scores) memcpy(a->scores + index * (size_t)a->source->max_keys + r.first, e, n * sizeof *e);
    real factor;
    a->selected[index] =
        attend_attention_select(&a->select, n, e, fused_weight_index(a, g->b, t->head, query), g->s->row, &factor);
    attend_fused_zero_outside(row, t, r);
    /* the factor can be applied to the context instead, unless the weights themselves are needed */
    g->s->factors[i] = factor;
    if (factor != 1 && (a->weights || a->position || a->dropout > 0)) {
        attend_kernel()->scale(n, factor, e);
        g->s->factors[i] = 1;
    }
    if (a->stored_weights) {
        real *p = a->stored_weights + index * (size_t)a->source->max_keys + r.first;
        memcpy(p, e, n * sizeof *e);
        if (g->s->factors[i] != 1) attend_kernel()->scale(n, g->s->factors[i], p);
    }
    if (a->position) {
        attend_fused_gaussian(a, attend_fused_gaussian_center(a, g->b, query, g->keys), r.first, n, g->s->row);
        attend_kernel()->mul(n, e, g->s->row, e);
    }
    if (a->weights) memcpy(a->weights + index * (size_t)a->source->max_keys + r.first, e, n * sizeof *e);
    if (a->dropout > 0) {
        real scale = attend_fused_dropout(a, g->b, t->head, query, r.first, n, g->s->mask);
        for (size_t j = 0; j < n; j++) e[j] = g->s->mask[j] ? e[j] * scale : 0;
    }
    return masked || r.first > t->first_key || r.last < t->first_key + t->keys;
}

/* o_i = sum_j w_ij v_j over the keys with a nonzero weight */
static void context_row(const group *g, const attend_tile *t, const real *w, real *o)
{
    attend_kernel()->weighted_sum((size_t)g->a->source->value_width, (size_t)t->keys, w, fused_value(g, t->first_key),
                                  g->a->source->value_rows.row, o);
}

static void forward_tile(group *g, int head, int first, int count)
{
    const device_attention *a = g->a;
    attend_tile t = attend_fused_tile(g, head, first, count, 0, g->keys);
    a->source->score.tile(&t);

    bool masked = false;
    for (int i = 0; i < count; i++) masked |= compute_weights(g, &t, i);
    real *o = a->context + fused_context(g, head, first);
    if (g->packed && (!masked || attend_fused_values_finite(g))) {
        attend_gemm_packed_rows(PACKED_ZERO, (size_t)count, (size_t)a->source->value_width, (size_t)t.first_key,
                                (size_t)t.keys, (size_t)g->keys, g->s->e, g->s->stride, g->s->values, o,
                                a->context_rows.row);
    } else {
        for (int i = 0; i < count; i++)
            context_row(g, &t, g->s->e + (size_t)i * g->s->stride, o + (size_t)i * a->context_rows.row);
    }
    for (int i = 0; i < count; i++)
        if (g->s->factors[i] != 1)
            attend_kernel()->scale((size_t)a->source->value_width, g->s->factors[i],
                                   o + (size_t)i * a->context_rows.row);
}

void attend_fused_forward(group *g)
{
    const device_source *o = g->a->source;
    const int share = o->heads / o->key_heads;
    if (g->packed)
        attend_pack(false, (size_t)g->keys, (size_t)g->a->source->value_width, g->value, g->a->source->value_rows.row,
                    g->s->values);
    for (int head = g->key_head * share; head < (g->key_head + 1) * share; head++)
        for (int first = 0; first < g->queries; first += g->s->tile)
            forward_tile(g, head, first, g->queries - first < g->s->tile ? g->queries - first : g->s->tile);
}
