/* lstmn_build.c: which parameters an LSTMN has. */
#include "core/memory.h"
#include "model/lstmn.h"
#include <stdio.h>

/* A look at rows as wide as the cell, and the gates it feeds. The bias of the cell's own is called bw, as other cells' are, so that what it
 * keeps begins alike (build.c). */
static lstmn_parts parts(model_builder *b, const char *layer, const char *look, const char *gates, int blocks, int in,
                         const char *bias)
{
    const attend_config *c = &b->m->config;
    const int h = c->hidden, a = c->attention_width;
    char place[64];
    lstmn_parts p;
    snprintf(place, sizeof place, "%s.%s", layer, look);
    p.wk = attend_build_matrix(b, place, ".wk", a, h);
    p.wx = attend_build_matrix(b, place, ".wx", a, in);
    p.wt = attend_build_matrix(b, place, ".wt", a, h);
    p.b = attend_build_vector(b, place, ".b", a);
    p.v = attend_build_vector(b, place, ".v", a);
    snprintf(place, sizeof place, "%s%s", layer, gates);
    p.gates_w = attend_build_matrix(b, place, ".w", blocks * h, in);
    p.gates_u = attend_build_matrix(b, place, ".u", blocks * h, h);
    p.gates_b = attend_build_vector(b, place, bias, blocks * h);
    return p;
}

static lstmn_layer layer(model_builder *b, const char *side, int i, bool fused)
{
    const attend_config *c = &b->m->config;
    const int in = i == 0 ? c->embedding : c->hidden;
    char place[32];
    snprintf(place, sizeof place, "%s.%d", side, i);
    lstmn_layer l = { .own = parts(b, place, "look", "", 4, in, ".bw") };
    if (fused) l.source = parts(b, place, "source", ".read", 1, in, ".b");
    return l;
}

void attend_lstmn_build(model_builder *b)
{
    attend_model *m = b->m;
    const attend_config *c = &m->config;
    const bool translates = c->task == ATTEND_TASK_TRANSLATION;
    m->readout_width = c->hidden;
    lstmn *n = m->own = attend_memory_zeroed(1, sizeof *n);
    if (!n) {
        if (b->status == ATTEND_OK) b->status = attend_fail(ATTEND_NO_MEMORY, "no memory for a model");
        return;
    }
    for (int i = 0; translates && i < c->layers; i++) n->encoder[i] = layer(b, "encoder", i, false);
    for (int i = 0; i < c->decoder_layers; i++) n->decoder[i] = layer(b, "decoder", i, lstmn_fused(m));
    if (!translates || lstmn_fused(m)) return;
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
