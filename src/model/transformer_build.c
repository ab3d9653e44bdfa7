/* transformer_build.c: which parameters a Transformer has. */
#include "core/memory.h"
#include "model/transformer.h"
#include <stdio.h>

static part_linear linear(model_builder *b, const char *layer, const char *name, int out, int in)
{
    char place[64];
    snprintf(place, sizeof place, "%s.%s", layer, name);
    part_linear p;
    p.w = attend_build_matrix(b, place, ".w", out, in);
    p.b = attend_build_vector(b, place, ".b", out);
    return p;
}

static part_norm norm(model_builder *b, const char *layer, const char *name)
{
    char place[64];
    snprintf(place, sizeof place, "%s.%s", layer, name);
    part_norm p;
    p.gain = attend_build_vector(b, place, ".gain", b->m->config.hidden);
    p.bias = attend_build_vector(b, place, ".bias", b->m->config.hidden);
    return p;
}

static void layer(model_builder *b, transformer_layer *l, const char *side, int i, bool looks_at_source)
{
    const attend_config *c = &b->m->config;
    const int d = c->hidden, f = c->feed_forward_width;
    char place[32];
    snprintf(place, sizeof place, "%s.%d", side, i);
    l->qkv = linear(b, place, "self.qkv", 3 * d, d);
    l->self_out = linear(b, place, "self.out", d, d);
    l->self_norm = norm(b, place, "self.norm");
    if (looks_at_source) {
        l->query = linear(b, place, "cross.query", d, d);
        l->memory = linear(b, place, "cross.memory", 2 * d, d);
        l->cross_out = linear(b, place, "cross.out", d, d);
        l->cross_norm = norm(b, place, "cross.norm");
    }
    l->feed_in = linear(b, place, "ff.in", c->feed_forward == ATTEND_FEED_FORWARD_GATED ? 2 * f : f, d);
    l->feed_out = linear(b, place, "ff.out", d, f);
    l->feed_norm = norm(b, place, "ff.norm");
}

void attend_transformer_build(model_builder *b)
{
    attend_model *m = b->m;
    const attend_config *c = &m->config;
    const bool translates = c->task == ATTEND_TASK_TRANSLATION, learned = c->positions == ATTEND_POSITIONS_LEARNED;
    m->readout_width = c->hidden;
    transformer *t = m->own = attend_memory_zeroed(1, sizeof *t);
    if (!t) {
        if (b->status == ATTEND_OK) b->status = attend_fail(ATTEND_NO_MEMORY, "no memory for a model");
        return;
    }
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
