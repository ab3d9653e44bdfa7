/* lstmn_build.c: the parameters of an LSTMN. */
#include "core/memory.h"
#include "model/lstmn.h"
#include <stdio.h>

/* An attention over rows as wide as the cell, and the gates that read it. The bias of the cell's own gates is called bw
 * as in other cells, so that build.c initialises its forget gate in the same way. */
static lstmn_parts parts(model_builder *b, const char *layer, const char *attention, const char *gates, int blocks,
                         int in, const char *bias)
{
    const attend_config *c = &b->m->config;
    const int h = c->hidden, a = c->attention_width;
    char prefix[64];
    lstmn_parts p;
    snprintf(prefix, sizeof prefix, "%s.%s", layer, attention);
    p.wk = attend_build_matrix(b, prefix, ".wk", a, h);
    p.wx = attend_build_matrix(b, prefix, ".wx", a, in);
    p.wt = attend_build_matrix(b, prefix, ".wt", a, h);
    p.b = attend_build_vector(b, prefix, ".b", a);
    p.v = attend_build_vector(b, prefix, ".v", a);
    snprintf(prefix, sizeof prefix, "%s%s", layer, gates);
    p.gates_w = attend_build_matrix(b, prefix, ".w", blocks * h, in);
    p.gates_u = attend_build_matrix(b, prefix, ".u", blocks * h, h);
    p.gates_b = attend_build_vector(b, prefix, bias, blocks * h);
    return p;
}

static lstmn_layer layer(model_builder *b, const char *side, int i, bool is_fused)
{
    const attend_config *c = &b->m->config;
    const int in = i == 0 ? c->embedding : c->hidden;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%s.%d", side, i);
    /* "look" is the name of the self-attention in model files. */
    lstmn_layer l = { .own = parts(b, prefix, "look", "", 4, in, ".bw") };
    if (is_fused) l.source = parts(b, prefix, "source", ".read", 1, in, ".b");
    return l;
}

void attend_lstmn_build(model_builder *b)
{
    attend_model *m = b->m;
    const attend_config *c = &m->config;
    const bool translates = c->task == ATTEND_TASK_TRANSLATION;
    m->readout_width = c->hidden;
    lstmn *n = attend_build_own(b, sizeof *n);
    if (!n) return;
    for (int i = 0; translates && i < c->layers; i++) n->encoder[i] = layer(b, "encoder", i, false);
    for (int i = 0; i < c->decoder_layers; i++) n->decoder[i] = layer(b, "decoder", i, lstmn_is_fused(m));
    if (!translates || lstmn_is_fused(m)) return;
    cross_attention *a = &n->attention;
    attend_build_attention(b, a);
    if (c->tie_embeddings) m->readout_width = c->embedding;
    a->readout_w = attend_build_matrix(b, "", "readout.w", m->readout_width, a->context_width + c->hidden);
    a->readout_b = attend_build_vector(b, "", "readout.b", m->readout_width);
}

void attend_lstmn_free(attend_model *m)
{
    attend_memory_free(m->own);
}
