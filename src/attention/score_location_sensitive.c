/* score_location_sensitive.c: e(q, k_j) = u . tanh(Wq q + Wk k_j + b + Uf f_j),  f = F * previous weights (Chorowski
 * et al. 2015): the additive score with features of the previous weights, one for each filter of F. */
#include "device/scores.h"
#include <attend/score.h>

enum { U = ATTEND_ADDITIVE_U, UF = ATTEND_ADDITIVE_UF, F = ATTEND_ADDITIVE_F };

/* The first four parameters, the mappings and their checks are those of the additive score. */
static attend_score_parameter parameter(const attend_widths *w, int i)
{
    if (i == UF) return (attend_score_parameter){ "uf", 2, { w->attention > 0 ? w->attention : w->query, w->filters } };
    if (i == F) return (attend_score_parameter){ "f", 2, { w->filters, w->filter_size } };
    return attend_score_additive.parameter(w, i);
}

static attend_var *prepare_queries(attend_ctx *c, attend_var *const *w, attend_var *queries)
{
    return attend_score_additive.prepare_queries(c, w, queries);
}

static attend_var *prepare_keys(attend_ctx *c, attend_var *const *w, attend_var *keys)
{
    return attend_score_additive.prepare_keys(c, w, keys);
}

static const char *check_tile(const attend_tile *t)
{
    const char *why = attend_score_additive.check_tile(t);
    if (why) return why;
    if (t->shapes[UF][0] != t->query_width) return "uf must have a row for each element of u";
    return t->shapes[UF][1] == t->shapes[F][0] ? NULL : "uf must have a column for each filter";
}

const attend_score attend_score_location_sensitive = { .name = "location-sensitive",
                                                       .formula = "u.tanh(Wq q + Wk k + b + Uf (F * previous weights))",
                                                       .has_inner_width = true,
                                                       .parameter = parameter,
                                                       .prepare_keys = prepare_keys,
                                                       .prepare_queries = prepare_queries,
                                                       .check_tile = check_tile,
                                                       .needs_previous_weights = true,
                                                       .tile_parameters = 1u << U | 1u << UF | 1u << F,
                                                       .scratch_size = attend_location_sensitive_scratch,
                                                       .tile = attend_location_sensitive_tile,
                                                       .tile_backward = attend_location_sensitive_tile_backward };
