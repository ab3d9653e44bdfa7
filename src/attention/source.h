/* source.h: the keys and values of an attention call, and rows addressed by sequence, head and position. */
#ifndef ATTEND_ATTENTION_SOURCE_H
#define ATTEND_ATTENTION_SOURCE_H

#include "core/pool.h"
#include "core/tape.h"
#include <attend/attention.h>

/* The layout of rows of B sequences and several heads: packed (offsets) or padded (sequence stride). */
typedef struct attention_rows {
    size_t first;               /* offset of the first head in a row */
    size_t sequence, head, row; /* strides, in elements */
    const int *offsets;         /* first row of each sequence; NULL: sequence b starts at b * sequence */
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
    const real **cache;         /* (count * key_heads): attend_score.cache_keys of each head; NULL: not cached */
};

/* Packed rows of v (N, heads * width). */
attention_rows attend_attention_packed_rows(const attend_var *v, int heads, const attend_ragged *sequences);

/* ---- queries, keys and values that are columns of one variable, the output of one matrix product ---- */

/* A source whose keys and values are columns [at, at + width) and [at + width, at + 2 width) of the variable. Only
 * for scores without parameters and mappings. */
attend_source *attend_source_joint(attend_ctx *c, const attend_attention_options *options, attend_var *joint, int at,
                                   int width, const attend_ragged *sequences);
/* attend_attention with queries that are the first `width` columns of a variable. */
attend_var *attend_attention_joint(attend_ctx *c, const attend_source *source, attend_var *joint, int width,
                                   const attend_ragged *queries, attend_var **weights);

/* Sets defaults and checks the options. Returns false if they are invalid; the context then holds the error. */
bool attend_attention_options_resolve(attend_ctx *c, attend_attention_options *options);

/* Fills the cache of a source whose keys, rows and widths are set, if the score has a cache and there are enough
 * queries. */
bool attend_attention_source_cache(attend_ctx *c, attend_source *s, int queries, attend_pool *pool);

#endif
