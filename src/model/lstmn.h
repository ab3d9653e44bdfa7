/* lstmn.h: LSTM networks whose cells attend to their own previous states (Cheng, Dong, Lapata 2016): language models,
 * and encoder-decoders with shallow or deep fusion.
 *
 *     lstmn_config.c     valid configurations
 *     lstmn_build.c      parameters
 *     lstmn.c            layers, the encoder, and the decoder over given targets
 *     lstmn_decoding.c   the decoder step by step, with cached states (tapes) of previous tokens */
#ifndef ATTEND_MODEL_LSTMN_H
#define ATTEND_MODEL_LSTMN_H

#include "model/rnn.h"

typedef struct lstmn_parts {
    attend_param *wk, *wx, *wt, *b, *v; /* of the attention */
    attend_param *gates_w, *gates_u, *gates_b;
} lstmn_parts;

typedef struct lstmn_layer {
    lstmn_parts own;    /* the attention to previous states, and the cell's four gates */
    lstmn_parts source; /* with deep fusion: the attention to the source, and the gate r */
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

void attend_lstmn_set_defaults(attend_config *c);
const char *attend_lstmn_conflict(const attend_config *c);
int attend_lstmn_max_tokens(const attend_config *c, bool target);
int attend_lstmn_attention_layers(const attend_config *c, attend_attention_kind kind);
int attend_lstmn_attention_heads(const attend_config *c, attend_attention_kind kind);

/* ---- parameters ---- */

void attend_lstmn_build(model_builder *b);
void attend_lstmn_free(attend_model *m);
attend_var *attend_lstmn_teacher_forcing(teacher_forcing *f);

/* Whether the cells of the decoder attend to the source (deep fusion). */
static inline bool lstmn_is_fused(const attend_model *m)
{
    return m->config.task == ATTEND_TASK_TRANSLATION && m->config.fusion == ATTEND_FUSION_DEEP;
}

/* A cell with its parameters as variables. */
attend_lstmn_cell attend_lstmn_cell_of(attend_ctx *c, const attend_model *m, const lstmn_layer *l);

/* The result of the encoder: h and c of every token, of the last layer. */
typedef struct lstmn_tapes {
    attend_var *h, *c;
} lstmn_tapes;

/* f: receives the attention weights; NULL: none are needed. False: the context failed. */
bool attend_lstmn_encode(attend_ctx *c, const attend_model *m, const int *tokens, const attend_ragged *sentences,
                         teacher_forcing *f, lstmn_tapes *out);
/* The source of a decoder layer with deep fusion. NULL: shallow fusion, or the context failed. */
const attend_lstmn_source *attend_lstmn_source_of(attend_ctx *c, const attend_model *m, const lstmn_layer *l,
                                                  const lstmn_tapes *tapes, const attend_ragged *sources);

#endif
