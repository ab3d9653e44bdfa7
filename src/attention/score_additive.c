/* score_additive.c: e(q, k) = u . tanh(Wq q + Wk k + b)      (Bahdanau et al. 2015; Luong et al. 2015, "concat")
 * beta = Wk k + b is computed once for each source, a = Wq q once for each query, and the rest in the tile
 * (device/scores.h). */
#include "device/scores.h"
#include <attend/score.h>

enum { WQ, WK, B, U = ATTEND_ADDITIVE_U };

static int inner(const attend_widths *w)
{
    return w->attention > 0 ? w->attention : w->query;
}

static attend_score_parameter parameter(const attend_widths *w, int i)
{
    const int a = inner(w), shared = a / w->heads * w->key_heads;
    switch (i) {
    case WQ:
        return (attend_score_parameter){ "wq", 2, { a, w->query } };
    case WK:
        return (attend_score_parameter){ "wk", 2, { shared, w->key } };
    case B:
        return (attend_score_parameter){ "b", 1, { shared, 0 } };
    case U:
        return (attend_score_parameter){ "u", 1, { a, 0 } };
    default:
        return (attend_score_parameter){ 0 };
    }
}

static attend_var *prepare_queries(attend_ctx *c, attend_var *const *w, attend_var *queries)
{
    return attend_linear(c, queries, w[WQ], NULL);
}

static attend_var *prepare_keys(attend_ctx *c, attend_var *const *w, attend_var *keys)
{
    return attend_linear(c, keys, w[WK], w[B]);
}

static const char *check_tile(const attend_tile *t)
{
    if (t->query_width != t->key_width) return "wq and wk must have the same number of rows for each head";
    return t->shapes[U][0] == t->heads * t->query_width ? NULL : "u must have an element for each row of wq";
}

const attend_score attend_score_additive = { .name = "additive",
                                             .formula = "u.tanh(Wq q + Wk k + b)",
                                             .has_inner_width = true,
                                             .parameter = parameter,
                                             .prepare_keys = prepare_keys,
                                             .prepare_queries = prepare_queries,
                                             .check_tile = check_tile,
                                             .tile_parameters = 1u << U,
                                             .linear_parameters = 1u << WQ | 1u << WK,
                                             .cache_size = attend_additive_cache_size,
                                             .cache_keys = attend_additive_cache,
                                             .scratch_size = attend_additive_scratch,
                                             .tile = attend_additive_tile,
                                             .tile_backward = attend_additive_tile_backward };
