/* transformer.h: the Transformer (Vaswani et al. 2017): rows that look at rows, and feed-forward parts between.
 *
 *     transformer_build.c      which parameters it has
 *     transformer.c            its parts, its encoder, and its decoder over given targets
 *     transformer_decoding.c   step by step, with the keys and values of the words so far */
#ifndef ATTEND_MODEL_TRANSFORMER_H
#define ATTEND_MODEL_TRANSFORMER_H

#include "model/model.h"

typedef struct part_linear {
    attend_param *w, *b;
} part_linear;

typedef struct part_norm {
    attend_param *gain, *bias;
} part_norm;

typedef struct transformer_layer {
    part_linear qkv, self_out; /* query, key and value one below another */
    part_norm self_norm;
    part_linear query, memory, cross_out; /* of a decoder with a source; memory: key and value */
    part_norm cross_norm;
    part_linear feed_in, feed_out;
    part_norm feed_norm;
} transformer_layer;

typedef struct transformer {
    transformer_layer encoder[ATTEND_MAX_LAYERS], decoder[ATTEND_MAX_LAYERS];
    part_norm encoder_norm, decoder_norm;            /* at the end, with norm 'pre' */
    attend_param *source_position, *target_position; /* learned; else NULL */
} transformer;

static inline const transformer *transformer_of(const attend_model *m)
{
    return m->own;
}

/* ---- configuration (architecture.h) ---- */

void attend_transformer_settle(attend_config *c);
const char *attend_transformer_conflict(const attend_config *c);
int attend_transformer_max_tokens(const attend_config *c, bool target);
int attend_transformer_attention_layers(const attend_config *c, attend_attention_kind kind);
int attend_transformer_attention_heads(const attend_config *c, attend_attention_kind kind);

/* ---- parameters ---- */

void attend_transformer_build(model_builder *b);
void attend_transformer_free(attend_model *m);
attend_var *attend_transformer_teacher_forcing(forcing *f);

/* ---- parts ---- */

attend_var *attend_part_linear(attend_ctx *c, const part_linear *p, attend_var *x);
/* What a part reads, or whoever comes behind the last one: x, or with norm 'pre' the norm of it. */
attend_var *attend_part_input(attend_ctx *c, const attend_model *m, const part_norm *p, attend_var *x);
/* What comes of x and of what a part made of it. */
attend_var *attend_part_output(attend_ctx *c, const attend_model *m, const part_norm *p, attend_var *x,
                               attend_var *made);
/* The whole feed-forward part. */
attend_var *attend_part_feed(attend_ctx *c, const attend_model *m, const transformer_layer *l, attend_var *x);

/* Words of one side, the first of each sentence at place `first`. */
attend_var *attend_transformer_words(attend_ctx *c, const attend_model *m, attend_param *table, attend_param *position,
                                     const int *words, const attend_ragged *sentences, int first);
/* Query, key and value of self-attention, the first two turned to their places where positions are rotary. */
attend_var *attend_transformer_rotate(attend_ctx *c, const attend_model *m, attend_var *qkv,
                                      const attend_ragged *sentences, int first);
/* The rows of the last layer of the encoder. f: whoever wants weights, or NULL. */
attend_var *attend_transformer_encode(attend_ctx *c, const attend_model *m, const int *words,
                                      const attend_ragged *sentences, forcing *f);
/* What a layer of the decoder looks at in the source. */
const attend_source *attend_transformer_source(attend_ctx *c, const attend_model *m, const transformer_layer *l,
                                               attend_var *memory, const attend_ragged *sources);

#endif
