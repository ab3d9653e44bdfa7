/* source.h: the keys and values of an attention call. */
#ifndef ATTEND_ATTENTION_SOURCE_H
#define ATTEND_ATTENTION_SOURCE_H

#include "device/device.h"
#include <attend/attention.h>

struct attend_source {
    attend_attention_options options; /* resolved: score, heads and key_heads are set */
    attend_var *parameters[ATTEND_SCORE_PARAMETERS];
    attend_var *keys, *values; /* prepared */
    device_source d;
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

/* Sets the members of s->d that follow from the options, the parameters and the variables. */
void attend_attention_source_describe(attend_source *s);

/* Sets defaults and checks the options. Returns false if they are invalid; the context then holds the error. */
bool attend_attention_options_resolve(attend_ctx *c, attend_attention_options *options);

/* Fills the cache of a source whose keys, rows and widths are set, if the score has a cache and there are enough
 * queries. */
bool attend_attention_source_cache(attend_ctx *c, attend_source *s, int queries);

#endif
