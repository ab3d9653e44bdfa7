/* transformer_build.c: the parameters of a Transformer. */
#include "core/memory.h"
#include "model/transformer.h"
#include <stdio.h>

static linear_parameters linear(model_builder *b, const char *layer, const char *name, int out, int in)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s.%s", layer, name);
    linear_parameters p;
    p.w = attend_build_matrix(b, prefix, ".w", out, in);
    p.b = attend_build_vector(b, prefix, ".b", out);
    return p;
}

static norm_parameters norm(model_builder *b, const char *layer, const char *name)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s.%s", layer, name);
    norm_parameters p;
    p.gain = attend_build_vector(b, prefix, ".gain", b->m->config.hidden);
    p.bias = attend_build_vector(b, prefix, ".bias", b->m->config.hidden);
    return p;
}

static void layer(model_builder *b, transformer_layer *l, const char *side, int i, bool has_source)
{
    const attend_config *c = &b->m->config;
    const int d = c->hidden, f = c->feed_forward_width;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%s.%d", side, i);
    l->qkv = linear(b, prefix, "self.qkv", 3 * d, d);
    l->self_out = linear(b, prefix, "self.out", d, d);
    l->self_norm = norm(b, prefix, "self.norm");
    if (has_source) {
        l->query = linear(b, prefix, "cross.query", d, d);
        l->memory = linear(b, prefix, "cross.memory", 2 * d, d);
        l->cross_out = linear(b, prefix, "cross.out", d, d);
        l->cross_norm = norm(b, prefix, "cross.norm");
    }
    l->feed_in = linear(b, prefix, "ff.in", c->feed_forward == ATTEND_FEED_FORWARD_GATED ? 2 * f : f, d);
    l->feed_out = linear(b, prefix, "ff.out", d, f);
    l->feed_norm = norm(b, prefix, "ff.norm");
}

void attend_transformer_build(model_builder *b)
{
    attend_model *m = b->m;
    const attend_config *c = &m->config;
    const bool translates = c->task == ATTEND_TASK_TRANSLATION, learned = c->positions == ATTEND_POSITIONS_LEARNED;
    m->readout_width = m->memory_width = c->hidden;
    transformer *t = attend_build_own(b, sizeof *t);
    if (!t) return;
    if (translates && learned)
        t->source_position = attend_build_tensor(b, "", "source.position", 2, c->max_positions, c->hidden);
    if (learned) t->target_position = attend_build_tensor(b, "", "target.position", 2, c->max_positions, c->hidden);
    for (int i = 0; translates && i < c->layers; i++) layer(b, &t->encoder[i], "encoder", i, false);
    if (translates && c->norm == ATTEND_NORM_PRE) t->encoder_norm = norm(b, "encoder", "norm");
    for (int i = 0; i < c->decoder_layers; i++) layer(b, &t->decoder[i], "decoder", i, translates);
    if (c->norm == ATTEND_NORM_PRE) t->decoder_norm = norm(b, "decoder", "norm");
}

void attend_transformer_free(attend_model *m)
{
    attend_memory_free(m->own);
}
