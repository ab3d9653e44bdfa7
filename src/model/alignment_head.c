/* alignment_head.c: a cross-attention that is trained to align words and does not take part in translation. Guided
 * alignment of an attention that translates makes it look at the source of the last token, while it is needed for the
 * next one; an attention of its own has no such conflict (Garg et al. 2019; Chen et al. 2020).
 *
 *     e_ij = (Wq norm(r_i) + bq) . (Wk h_j + bk) / sqrt(d)   for each head of width d     w_i = softmax(e_i)
 *
 * r_i is what the decoder computes in row i, after it has read the target tokens before i: the readout of a recurrent
 * network, or the output of the penultimate layer of a Transformer. w_i aligns token i - 1 (attend_alignment). */
#include "model/model.h"

static const double EPSILON = 1e-5; /* of the norm */

void attend_build_alignment_head(model_builder *b, int query_width, int memory_width)
{
    attend_model *m = b->m;
    const int width = m->config.hidden;
    if (!m->config.alignment_head) return;
    m->align.gain = attend_build_vector(b, "alignment.norm", ".gain", query_width);
    m->align.bias = attend_build_vector(b, "alignment.norm", ".bias", query_width);
    m->align.query_w = attend_build_matrix(b, "alignment.query", ".w", width, query_width);
    m->align.query_b = attend_build_vector(b, "alignment.query", ".b", width);
    m->align.memory_w = attend_build_matrix(b, "alignment.memory", ".w", width, memory_width);
    m->align.memory_b = attend_build_vector(b, "alignment.memory", ".b", width);
}

const attend_source *attend_alignment_head_source(attend_ctx *c, const attend_model *m, attend_var *memory,
                                                  const attend_ragged *sources)
{
    if (!m->config.alignment_head) return NULL;
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    o.score = &attend_score_scaled_dot;
    o.heads = m->config.heads;
    attend_var *keys =
        attend_linear(c, memory, attend_parameter(c, m->align.memory_w), attend_parameter(c, m->align.memory_b));
    return keys ? attend_source_new(c, &o, NULL, keys, NULL, sources) : NULL;
}

attend_var *attend_alignment_head_weights(attend_ctx *c, const attend_model *m, const attend_source *source,
                                          attend_var *rows, const attend_ragged *queries)
{
    const alignment_head *a = &m->align;
    const attend_attention_inputs none = { 0 };
    attend_var *weights = NULL;
    attend_var *x = attend_layer_norm(c, rows, attend_parameter(c, a->gain), attend_parameter(c, a->bias), EPSILON);
    x = attend_linear(c, x, attend_parameter(c, a->query_w), attend_parameter(c, a->query_b));
    if (x) attend_attention(c, source, x, queries, &none, &weights);
    return weights;
}
