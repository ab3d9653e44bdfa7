/* transformer.h: the Transformer (Vaswani et al. 2017).
 *
 *     transformer_config.c     valid configurations, and sizes by the amount of data
 *     transformer_build.c      parameters
 *     transformer.c            sublayers, the encoder, and the decoder over given targets
 *     transformer_decoding.c   the decoder step by step, with cached keys and values */
#ifndef ATTEND_MODEL_TRANSFORMER_H
#define ATTEND_MODEL_TRANSFORMER_H

#include "model/model.h"

typedef struct linear_parameters {
    attend_param *w, *b;
} linear_parameters;

typedef struct norm_parameters {
    attend_param *gain, *bias;
} norm_parameters;

typedef struct transformer_layer {
    linear_parameters qkv, self_out; /* qkv: query, key and value stacked */
    norm_parameters self_norm;
    linear_parameters query, memory, cross_out; /* cross-attention; memory: key and value */
    norm_parameters cross_norm;
    linear_parameters feed_in, feed_out;
    norm_parameters feed_norm;
} transformer_layer;

typedef struct transformer {
    transformer_layer encoder[ATTEND_MAX_LAYERS], decoder[ATTEND_MAX_LAYERS];
    norm_parameters encoder_norm, decoder_norm;      /* after the last layer, with norm 'pre' */
    attend_param *source_position, *target_position; /* learned; else NULL */
} transformer;

static inline const transformer *transformer_of(const attend_model *m)
{
    return m->own;
}

/* ---- configuration (architecture.h) ---- */

void attend_transformer_set_defaults(attend_config *c);
const char *attend_transformer_conflict(const attend_config *c);
int attend_transformer_max_tokens(const attend_config *c, bool target);
int attend_transformer_attention_layers(const attend_config *c, attend_attention_kind kind);
int attend_transformer_attention_heads(const attend_config *c, attend_attention_kind kind);
extern const architecture_sizes attend_transformer_sizes[];

/* ---- parameters ---- */

void attend_transformer_build(model_builder *b);
void attend_transformer_free(attend_model *m);
attend_var *attend_transformer_teacher_forcing(teacher_forcing *f);

/* ---- sublayers ---- */

attend_var *attend_transformer_linear(attend_ctx *c, const linear_parameters *p, attend_var *x);
/* The input of a sublayer, or of the output layer: x, or with norm 'pre' norm(x). */
attend_var *attend_sublayer_input(attend_ctx *c, const attend_model *m, const norm_parameters *p, attend_var *x);
/* The sum of x and the output of a sublayer, with dropout; with norm 'post' its norm. */
attend_var *attend_sublayer_output(attend_ctx *c, const attend_model *m, const norm_parameters *p, attend_var *x,
                                   attend_var *output);
/* The feed-forward sublayer, with its norm and sum. */
attend_var *attend_sublayer_feed(attend_ctx *c, const attend_model *m, const transformer_layer *l, attend_var *x);

/* Embeddings of tokens with positional encoding; the first token of each sentence has position `first`. */
attend_var *attend_transformer_embed(attend_ctx *c, const attend_model *m, attend_param *table, attend_param *position,
                                     const int *tokens, const attend_ragged *sentences, int first);
/* Queries, keys and values of self-attention; with rotary positions, queries and keys are rotated. */
attend_var *attend_transformer_rotate(attend_ctx *c, const attend_model *m, attend_var *qkv,
                                      const attend_ragged *sentences, int first);
/* The rows of the last encoder layer. f: receives the attention weights; NULL: none are needed. */
attend_var *attend_transformer_encode(attend_ctx *c, const attend_model *m, const int *tokens,
                                      const attend_ragged *sentences, teacher_forcing *f);
/* The decoder layer whose output the alignment head reads: the penultimate one (Garg et al. 2019). */
static inline int attend_transformer_aligned_layer(const attend_model *m)
{
    return m->config.decoder_layers > 1 ? m->config.decoder_layers - 2 : 0;
}
/* The keys and values of the cross-attention of a decoder layer. */
const attend_source *attend_transformer_source(attend_ctx *c, const attend_model *m, const transformer_layer *l,
                                               attend_var *memory, const attend_ragged *sources);

#endif
