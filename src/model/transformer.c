/* transformer.c: the sublayers of a Transformer, its encoder, and its decoder over given targets.
 *
 *     x_i = sqrt(D) E w_i + P_i       P sinusoidal or learned; rotary: no P, but q and k are rotated by position
 *     norm pre:  x + f(norm(x)), norm(x) after the last layer          norm post:  norm(x + f(x))
 *     f:  Wo [heads of softmax(q k' / sqrt(d)) v] + bo,  or  W2 f(W1 x + b1) + b2 */
#include "model/transformer.h"

#include "attention/source.h"
#include <math.h>

static const double EPSILON = 1e-5; /* of layer norms */

/* ---- sublayers ---- */

attend_var *attend_transformer_linear(attend_ctx *c, const linear_parameters *p, attend_var *x)
{
    return attend_linear(c, x, attend_parameter(c, p->w), attend_parameter(c, p->b));
}

static attend_var *norm(attend_ctx *c, const norm_parameters *p, attend_var *x)
{
    return attend_layer_norm(c, x, attend_parameter(c, p->gain), attend_parameter(c, p->bias), EPSILON);
}

attend_var *attend_sublayer_input(attend_ctx *c, const attend_model *m, const norm_parameters *p, attend_var *x)
{
    return m->config.norm == ATTEND_NORM_PRE ? norm(c, p, x) : x;
}

attend_var *attend_sublayer_output(attend_ctx *c, const attend_model *m, const norm_parameters *p, attend_var *x,
                                   attend_var *output)
{
    attend_var *sum = attend_add(c, x, attend_dropout(c, output, m->config.dropout));
    return m->config.norm == ATTEND_NORM_PRE ? sum : norm(c, p, sum);
}

attend_var *attend_sublayer_feed(attend_ctx *c, const attend_model *m, const transformer_layer *l, attend_var *x)
{
    attend_var *h = attend_transformer_linear(c, &l->feed_in, attend_sublayer_input(c, m, &l->feed_norm, x));
    switch (m->config.feed_forward) {
    case ATTEND_FEED_FORWARD_RELU:
        h = attend_relu(c, h);
        break;
    case ATTEND_FEED_FORWARD_GELU:
        h = attend_gelu(c, h);
        break;
    case ATTEND_FEED_FORWARD_GATED:
        h = attend_swiglu(c, h);
        break;
    }
    return attend_sublayer_output(c, m, &l->feed_norm, x, attend_transformer_linear(c, &l->feed_out, h));
}

attend_var *attend_transformer_embed(attend_ctx *c, const attend_model *m, attend_param *table, attend_param *position,
                                     const int *tokens, const attend_ragged *sentences, int first)
{
    const double scale = sqrt(m->config.hidden);
    attend_var *x = attend_gather(c, attend_parameter(c, table), tokens, attend_ragged_rows(sentences));
    switch (m->config.positions) {
    case ATTEND_POSITIONS_SINUSOIDAL:
        x = attend_add_sinusoids(c, x, scale, sentences, first);
        break;
    case ATTEND_POSITIONS_LEARNED:
        x = attend_add_learned_positions(c, x, scale, attend_parameter(c, position), sentences, first);
        break;
    case ATTEND_POSITIONS_ROTARY:
        x = attend_scale(c, x, scale);
        break;
    }
    return attend_dropout(c, x, m->config.dropout);
}

attend_var *attend_transformer_rotate(attend_ctx *c, const attend_model *m, attend_var *qkv,
                                      const attend_ragged *sentences, int first)
{
    if (m->config.positions != ATTEND_POSITIONS_ROTARY) return qkv;
    const int d = m->config.hidden;
    attend_var *parts[2] = { attend_rotary(c, attend_slice(c, qkv, 0, 2 * d), sentences, 2 * m->config.heads, first),
                             attend_slice(c, qkv, 2 * d, d) };
    return attend_concat(c, parts, 2);
}

/* ---- attention ---- */

static attend_attention_options options_of(const attend_model *m, bool causal)
{
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    o.score = m->config.attention;
    o.heads = m->config.heads;
    o.causal = causal;
    o.dropout = m->config.attention_dropout;
    return o;
}

static attend_var *self_attention(attend_ctx *c, const attend_model *m, const transformer_layer *l, attend_var *x,
                                  const attend_ragged *sentences, bool causal, attend_var **weights)
{
    const int d = m->config.hidden;
    const attend_attention_options o = options_of(m, causal);
    attend_var *qkv = attend_transformer_linear(c, &l->qkv, attend_sublayer_input(c, m, &l->self_norm, x));
    qkv = attend_transformer_rotate(c, m, qkv, sentences, 0);
    const attend_source *source = attend_source_joint(c, &o, qkv, d, d, sentences);
    attend_var *context = source ? attend_attention_joint(c, source, qkv, d, sentences, weights) : NULL;
    return attend_sublayer_output(c, m, &l->self_norm, x, attend_transformer_linear(c, &l->self_out, context));
}

const attend_source *attend_transformer_source(attend_ctx *c, const attend_model *m, const transformer_layer *l,
                                               attend_var *memory, const attend_ragged *sources)
{
    const attend_attention_options o = options_of(m, false);
    return attend_source_joint(c, &o, attend_transformer_linear(c, &l->memory, memory), 0, m->config.hidden, sources);
}

/* ---- whole sentences ---- */

attend_var *attend_transformer_encode(attend_ctx *c, const attend_model *m, const int *tokens,
                                      const attend_ragged *sentences, teacher_forcing *f)
{
    const transformer *t = transformer_of(m);
    attend_var *x = attend_transformer_embed(c, m, m->source_table, t->source_position, tokens, sentences, 0);
    for (int i = 0; x && i < m->config.layers; i++) {
        const transformer_layer *l = &t->encoder[i];
        attend_var *weights = NULL;
        const bool needed = f && attend_teacher_forcing_needs_weights(f, ATTEND_ATTENTION_ENCODER, i);
        x = self_attention(c, m, l, x, sentences, false, needed ? &weights : NULL);
        if (f) attend_teacher_forcing_weights(f, ATTEND_ATTENTION_ENCODER, i, weights, 0);
        x = attend_sublayer_feed(c, m, l, x);
    }
    return x ? attend_sublayer_input(c, m, &t->encoder_norm, x) : NULL;
}

static attend_var *cross_attend(teacher_forcing *f, int i, attend_var *memory, attend_var *x)
{
    const transformer_layer *l = &transformer_of(f->m)->decoder[i];
    const attend_attention_inputs none = { 0 };
    attend_var *weights = NULL;
    attend_var *query =
        attend_transformer_linear(f->c, &l->query, attend_sublayer_input(f->c, f->m, &l->cross_norm, x));
    const attend_source *source = attend_transformer_source(f->c, f->m, l, memory, f->sources);
    attend_var *context =
        source ? attend_attention(f->c, source, query, f->targets, &none,
                                  attend_teacher_forcing_needs_weights(f, ATTEND_ATTENTION_CROSS, i) ? &weights : NULL)
               : NULL;
    attend_teacher_forcing_weights(f, ATTEND_ATTENTION_CROSS, i, weights, 0);
    return attend_sublayer_output(f->c, f->m, &l->cross_norm, x,
                                  attend_transformer_linear(f->c, &l->cross_out, context));
}

attend_var *attend_transformer_teacher_forcing(teacher_forcing *f)
{
    attend_ctx *c = f->c;
    const attend_model *m = f->m;
    const transformer *t = transformer_of(m);
    attend_var *memory = NULL;
    if (m->config.task == ATTEND_TASK_TRANSLATION)
        memory = attend_transformer_encode(c, m, f->pairs->source, f->sources, f);
    attend_var *x = attend_transformer_embed(c, m, m->target_table, t->target_position, f->inputs, f->targets, 0);
    for (int i = 0; x && i < m->config.decoder_layers; i++) {
        attend_var *weights = NULL;
        const bool needed = attend_teacher_forcing_needs_weights(f, ATTEND_ATTENTION_DECODER, i);
        x = self_attention(c, m, &t->decoder[i], x, f->targets, true, needed ? &weights : NULL);
        attend_teacher_forcing_weights(f, ATTEND_ATTENTION_DECODER, i, weights, 0);
        if (memory) x = cross_attend(f, i, memory, x);
        x = attend_sublayer_feed(c, m, &t->decoder[i], x);
        if (memory && i == attend_transformer_aligned_layer(m)) attend_teacher_forcing_align(f, memory, x);
    }
    return x ? attend_sublayer_input(c, m, &t->decoder_norm, x) : NULL;
}
