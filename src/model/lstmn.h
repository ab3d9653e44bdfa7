/* lstmn.h: networks whose cells look back at their own past (Cheng, Dong, Lapata 2016): language models, and encoder-decoders with shallow or
 * deep fusion.
 *
 *     lstmn_build.c      which parameters they have
 *     lstmn.c            their layers, their encoder, and their decoder over given targets
 *     lstmn_decoding.c   step by step, with the tapes of the words so far */
#ifndef ATTEND_MODEL_LSTMN_H
#define ATTEND_MODEL_LSTMN_H

#include "model/rnn.h"

typedef struct lstmn_parts {
    attend_param *wk, *wx, *wt, *b, *v; /* of a look */
    attend_param *gates_w, *gates_u, *gates_b;
} lstmn_parts;

typedef struct lstmn_layer {
    lstmn_parts own;    /* the look at the past, and the cell's four gates */
    lstmn_parts source; /* with deep fusion: the look at the source, and the gate r */
} lstmn_layer;

typedef struct lstmn {
    lstmn_layer encoder[ATTEND_MAX_LAYERS], decoder[ATTEND_MAX_LAYERS];
    cross_attention attention; /* of shallow fusion */
} lstmn;

static inline const lstmn *lstmn_of(const attend_model *m)
{
    return m->own;
}

/* ---- configuration (architecture.h) ---- */

void attend_lstmn_settle(attend_config *c);
const char *attend_lstmn_conflict(const attend_config *c);
int attend_lstmn_max_tokens(const attend_config *c, bool target);
int attend_lstmn_attention_layers(const attend_config *c, attend_attention_kind kind);
int attend_lstmn_attention_heads(const attend_config *c, attend_attention_kind kind);

/* ---- parameters ---- */

void attend_lstmn_build(model_builder *b);
void attend_lstmn_free(attend_model *m);
attend_var *attend_lstmn_teacher_forcing(forcing *f);

static inline bool lstmn_fused(const attend_model *m)
{
    return m->config.task == ATTEND_TASK_TRANSLATION && m->config.fusion == ATTEND_FUSION_DEEP;
}

attend_lstmn_cell attend_lstmn_cell_of(attend_ctx *c, const attend_model *m, const lstmn_layer *l);

/* What the encoder leaves: h and c of every word, of its last layer. */
typedef struct lstmn_tapes {
    attend_var *h, *c;
} lstmn_tapes;

/* f: whoever wants weights, or NULL. False: the context failed. */
bool attend_lstmn_encode(attend_ctx *c, const attend_model *m, const int *words, const attend_ragged *sentences,
                         forcing *f, lstmn_tapes *out);
/* What a layer of the decoder is fused with; NULL and all well without deep fusion. */
const attend_lstmn_source *attend_lstmn_source_of(attend_ctx *c, const attend_model *m, const lstmn_layer *l,
                                                  const lstmn_tapes *tapes, const attend_ragged *sources);

#endif
