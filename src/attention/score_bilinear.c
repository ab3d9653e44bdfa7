/* score_bilinear.c: e(q, k) = q' W k      (Luong et al. 2015, "general"): W k once for each source, then a dot
 * product. */
#include "attention/dot_tile.h"

static attend_score_parameter parameter(const attend_widths *w, int i)
{
    /* each key head has its own block of rows of W, as many as a query head is wide */
    if (i > 0) return (attend_score_parameter){ 0 };
    return (attend_score_parameter){ "w", 2, { w->query / w->heads * w->key_heads, w->key } };
}

static attend_var *prepare_keys(attend_ctx *c, attend_var *const *w, attend_var *keys)
{
    return attend_linear(c, keys, w[0], NULL);
}

const attend_score attend_score_bilinear = { .name = "bilinear",
                                             .formula = "q' W k",
                                             .parameter = parameter,
                                             .prepare_keys = prepare_keys,
                                             .linear_parameters = 1,
                                             .usual_heads = 8,
                                             ATTENTION_DOT_TILE };
