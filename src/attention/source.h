/* source.h: the inside of a source, and of rows that are found by sequence, head and position. */
#ifndef ATTEND_ATTENTION_SOURCE_H
#define ATTEND_ATTENTION_SOURCE_H

#include "core/pool.h"
#include "core/tape.h"
#include <attend/attention.h>

/* Rows of D numbers of B sequences and some heads, packed (offsets) or padded (sequence stride). */
typedef struct attention_rows {
    size_t first;               /* number of a row at which the first head begins */
    size_t sequence, head, row; /* strides, in numbers */
    const int *offsets;         /* first row of each sequence; NULL: sequence b begins at b * sequence */
    const int *lengths;         /* rows of each sequence */
} attention_rows;

static inline size_t attention_row(const attention_rows *r, int b, int head, int i)
{
    size_t start = r->offsets ? (size_t)r->offsets[b] * r->row : (size_t)b * r->sequence;
    return start + r->first + (size_t)head * r->head + (size_t)i * r->row;
}

struct attend_source {
    attend_attention_options options; /* resolved: score, heads and key_heads are set */
    attend_var *parameters[ATTEND_SCORE_PARAMETERS];
    const real *parameter_values[ATTEND_SCORE_PARAMETERS];
    int parameter_shapes[ATTEND_SCORE_PARAMETERS][2];
    int parameter_count;
    attend_var *keys, *values; /* prepared */
    attention_rows key_rows, value_rows;
    int count, max_keys;        /* sequences, and the keys of the longest one */
    int key_width, value_width; /* of one head, prepared */
    const real **cache;         /* (count * key_heads), of each head's keys; NULL if the score keeps nothing */
};

/* Packed rows of v (N, heads * width). */
attention_rows attend_attention_packed_rows(const attend_var *v, int heads, const attend_ragged *sequences);

/* ---- columns of one variable: what one product made need not be taken apart ---- */

/* A source whose keys and values are columns [at, at + width) and [at + width, at + 2 width) of the variable. For scores that learn and prepare
 * nothing. */
attend_source *attend_source_joint(attend_ctx *c, const attend_attention_options *options, attend_var *joint, int at,
                                   int width, const attend_ragged *sequences);
/* attend_attention of queries that are the first `width` columns of a variable. */
attend_var *attend_attention_joint(attend_ctx *c, const attend_source *source, attend_var *joint, int width,
                                   const attend_ragged *queries, attend_var **weights);

/* Checks options, resolves defaults and looks at the parameters; false: the context failed. */
bool attend_attention_options_resolve(attend_ctx *c, attend_attention_options *options);

/* The rest of a source, once keys, values, rows and widths are known: what the score keeps of each head's keys.
 * Too few queries do not repay it. */
bool attend_attention_source_cache(attend_ctx *c, attend_source *s, int queries, attend_pool *pool);

#endif
