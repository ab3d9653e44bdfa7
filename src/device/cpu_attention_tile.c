/* cpu_attention_tile.c: tiles of queries and keys, the Gaussian window of local-p, and dropout masks. */
#include "device/cpu_attention.h"

#include <math.h>
#include <string.h>

/* The sum of squares is a double, which squares of finite floats cannot overflow. */
bool attend_fused_rows_finite(int rows, int width, const real *x, size_t stride)
{
    for (int i = 0; i < rows; i++)
        if (!isfinite(attend_kernel()->sum_squares((size_t)width, x + (size_t)i * stride))) return false;
    return true;
}

bool attend_fused_values_finite(group *g)
{
    const device_source *src = g->a->source;
    if (g->values_finite < 0)
        g->values_finite = attend_fused_rows_finite(g->keys, src->value_width, g->value, src->value_rows.row);
    return g->values_finite;
}

bool attend_fused_keys_finite(group *g)
{
    const device_source *src = g->a->source;
    if (g->keys_finite < 0)
        g->keys_finite = attend_fused_rows_finite(g->keys, src->key_width,
                                                  src->keys + attention_row(&src->key_rows, g->b, g->key_head, 0),
                                                  src->key_rows.row);
    return g->keys_finite;
}

attend_tile attend_fused_tile(group *g, int head, int first, int count, int from, int to)
{
    const device_attention *a = g->a;
    const device_source *src = a->source;
    attention_range all = { to, from };
    for (int i = 0; i < count; i++) {
        attention_range r = attend_attention_key_range(a, g->b, first + i);
        if (r.first < from) r.first = from;
        if (r.last > to) r.last = to;
        g->s->ranges[i] = r;
        if (r.first >= r.last) continue;
        if (r.first < all.first) all.first = r.first;
        if (r.last > all.last) all.last = r.last;
    }
    if (all.first > all.last) all.first = all.last; /* all keys are masked for all queries */
    all.first -= all.first % attend_kernel()->panel;
    for (int i = 0; i < count; i++)
        if (g->s->ranges[i].first >= g->s->ranges[i].last) g->s->ranges[i] = (attention_range){ all.first, all.first };
    attend_tile t = { .queries = count,
                      .keys = all.last - all.first,
                      .query_width = a->query_width,
                      .key_width = src->key_width,
                      .head = head,
                      .heads = src->heads,
                      .query = a->query + attention_row(&a->query_rows, g->b, head, first),
                      .query_stride = a->query_rows.row,
                      .key = src->keys + attention_row(&src->key_rows, g->b, g->key_head, all.first),
                      .key_stride = src->key_rows.row,
                      .first_query = first,
                      .first_key = all.first,
                      .scale = a->scale,
                      .parameters = src->parameters,
                      .shapes = src->parameter_shapes,
                      .all_keys = g->keys,
                      .cache = src->cache ? src->cache[g->b * src->key_heads + g->key_head] : NULL,
                      .scratch = g->s->scratch,
                      .score = g->s->e,
                      .score_stride = g->s->stride };
    if (a->previous) {
        t.previous_stride = (size_t)src->max_keys;
        t.previous = a->previous + ((size_t)g->b * (size_t)a->max_queries + (size_t)first) * t.previous_stride;
    }
    return t;
}

double attend_fused_gaussian_center(const device_attention *a, int b, int i, int keys)
{
    return keys * (double)a->position[attention_position_index(a, b, i)];
}

void attend_fused_gaussian(const device_attention *a, double center, int first, size_t n, real *values)
{
    const double sigma = a->source->window_size / 2.0;
    for (size_t j = 0; j < n; j++) {
        double x = ((double)first + (double)j - center) / sigma;
        values[j] = (real)exp(-x * x / 2);
    }
}

real attend_fused_dropout(const device_attention *a, int b, int head, int i, int first, size_t n, unsigned char *mask)
{
    const uint64_t index = fused_weight_index(a, b, head, i) + (uint64_t)first;
    attend_kernel()->dropout_mask(&a->dropout_random, index, n, a->dropout, mask);
    return (real)(1 / (1 - a->dropout));
}

void attend_fused_zero_outside(real *row, const attend_tile *t, attention_range r)
{
    size_t before = (size_t)(r.first - t->first_key), after = (size_t)(t->first_key + t->keys - r.last);
    if (r.first >= r.last) before = (size_t)t->keys, after = 0;
    memset(row, 0, before * sizeof *row);
    memset(row + (size_t)t->keys - after, 0, after * sizeof *row);
}
