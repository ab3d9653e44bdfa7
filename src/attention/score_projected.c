/* score_projected.c: e(q, k) = (Wq q).(Wk k) / sqrt(d) in each head, values Wv v, and Wo on the concatenated contexts
 * (Vaswani et al. 2017, multi-head attention). */
#include "attention/dot_tile.h"

static int inner(const attend_widths *w)
{
    return w->attention > 0 ? w->attention : w->query;
}

static attend_score_parameter parameter(const attend_widths *w, int i)
{
    const int a = inner(w), shared = a / w->heads * w->key_heads; /* width of keys and values, all key heads together */
    switch (i) {
    case 0:
        return (attend_score_parameter){ "wq", 2, { a, w->query } };
    case 1:
        return (attend_score_parameter){ "wk", 2, { shared, w->key } };
    case 2:
        return (attend_score_parameter){ "wv", 2, { shared, w->value } };
    case 3:
        return (attend_score_parameter){ "wo", 2, { w->query, a } };
    default:
        return (attend_score_parameter){ 0 };
    }
}

static attend_var *prepare_queries(attend_ctx *c, attend_var *const *w, attend_var *queries)
{
    return attend_linear(c, queries, w[0], NULL);
}

static attend_var *prepare_keys(attend_ctx *c, attend_var *const *w, attend_var *keys)
{
    return attend_linear(c, keys, w[1], NULL);
}

static attend_var *prepare_values(attend_ctx *c, attend_var *const *w, attend_var *values)
{
    return attend_linear(c, values, w[2], NULL);
}

static attend_var *finish(attend_ctx *c, attend_var *const *w, attend_var *context)
{
    return attend_linear(c, context, w[3], NULL);
}

static int context_width(const attend_widths *w)
{
    return w->query;
}

static double default_scale(int query_width)
{
    return attend_score_scaled_dot.default_scale(query_width);
}

const attend_score attend_score_projected = { .name = "projected",
                                              .formula = "(Wq q).(Wk k) / sqrt(d)",
                                              .has_inner_width = true,
                                              .usual_heads = 8,
                                              .parameter = parameter,
                                              .prepare_keys = prepare_keys,
                                              .prepare_values = prepare_values,
                                              .prepare_queries = prepare_queries,
                                              .finish = finish,
                                              .context_width = context_width,
                                              .default_scale = default_scale,
                                              .linear_parameters = 15,
                                              ATTENTION_DOT_TILE };
