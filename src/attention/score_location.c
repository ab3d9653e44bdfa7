/* score_location.c: e(q, j) = row j of Wa q      (Luong et al. 2015, "location"): depends on the position of the
 * key, not on its content. */
#include "device/scores.h"
#include <attend/score.h>
#include <limits.h>

static attend_score_parameter parameter(const attend_widths *w, int i)
{
    if (i > 0) return (attend_score_parameter){ 0 };
    const int64_t rows = (int64_t)w->heads * w->max_keys; /* -1, which is refused, if they are too many */
    return (attend_score_parameter){ "wa", 2, { rows <= INT_MAX ? (int)rows : -1, w->query } };
}

static attend_var *prepare_queries(attend_ctx *c, attend_var *const *w, attend_var *queries)
{
    return attend_linear(c, queries, w[0], NULL);
}

static const char *check_tile(const attend_tile *t)
{
    return t->keys <= t->query_width ? NULL : "the source has more positions than attend_widths.max_keys";
}

const attend_score attend_score_location = { .name = "location",
                                             .formula = "row j of Wa q",
                                             .has_max_keys = true,
                                             .parameter = parameter,
                                             .prepare_queries = prepare_queries,
                                             .check_tile = check_tile,
                                             .tile = attend_location_tile,
                                             .tile_backward = attend_location_tile_backward };
