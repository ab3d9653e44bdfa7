/* score_dot.c: e(q, k) = q.k      (Luong et al. 2015) */
#include "attention/dot_tile.h"

const char *attend_attention_dot_check(const attend_tile *t)
{
    return t->query_width == t->key_width ? NULL : "queries and keys must have the same width";
}

const attend_score attend_score_dot = { .name = "dot", .formula = "q.k", .usual_heads = 8, ATTENTION_DOT_TILE };
