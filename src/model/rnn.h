/* rnn.h: recurrent networks with one attention: the parts that forced decoding and decoding step by step share.
 *
 *     rnn_build.c     which parameters they have
 *     rnn_encoder.c   words -> memory (what attention looks at) and the decoder's first states
 *     rnn_decoder.c   words, memory and states -> readout;  context_folding.c  the same with fewer products, for decoding
 *     rnn_teacher_forcing.c     over given targets;  rnn_decoding.c  step by step */
#ifndef ATTEND_MODEL_RNN_H
#define ATTEND_MODEL_RNN_H

#include "model/model.h"

/* ---- parameters ---- */

typedef struct rnn_cell {
    attend_param *w, *u, *bw, *bu;
} rnn_cell;

/* The attention to the source, and the readout that follows it; also of an LSTMN with shallow fusion. */
typedef struct cross_attention {
    attend_param *memory_w, *memory_b; /* from the encoder's states to the decoder's width; NULL: none is needed */
    attend_param *score[ATTEND_SCORE_PARAMETERS];
    attend_param *position_w, *position_v; /* of window local-p; else NULL */
    attend_param *readout_w, *readout_b;   /* NULL: the output layer reads the state itself */
    int memory_width, context_width;
} cross_attention;

typedef struct rnn {
    rnn_cell encoder[ATTEND_MAX_LAYERS][2];                                      /* [1]: backward */
    attend_param *start_w[ATTEND_MAX_LAYERS][2], *start_b[ATTEND_MAX_LAYERS][2]; /* of h, and of the LSTM's c */
    rnn_cell decoder[ATTEND_MAX_LAYERS]; /* w: of the embedding, or of the layer below */
    attend_param *second_w;              /* (G H, ..) of the context, or of the fed-back readout; NULL: neither */
    cross_attention attention;
    pthread_mutex_t lock;          /* protects folded */
    struct folded_context *folded; /* context_folding.c; NULL: not made yet */
} rnn;

static inline const rnn *rnn_of(const attend_model *m)
{
    return m->own;
}

static inline bool model_bahdanau(const attend_model *m)
{
    return m->config.attention && m->config.context == ATTEND_CONTEXT_BEFORE;
}

static inline bool model_luong(const attend_model *m)
{
    return m->config.attention && m->config.context == ATTEND_CONTEXT_AFTER;
}

/* Whether a step of the decoder needs what the attention of the step before made. */
static inline bool model_feedback(const attend_model *m)
{
    return model_bahdanau(m) || m->config.input_feeding || (m->config.attention && m->config.attention->needs_previous_weights);
}

/* ---- configuration (architecture.h) ---- */

void attend_rnn_settle(attend_config *c);
const char *attend_rnn_conflict(const attend_config *c);
int attend_rnn_max_tokens(const attend_config *c, bool target);
int attend_rnn_attention_layers(const attend_config *c, attend_attention_kind kind);
int attend_rnn_attention_heads(const attend_config *c, attend_attention_kind kind);

/* ---- building ---- */

/* Adds the parameters of the attention and of its window, and sets the widths of memory and context. */
void attend_build_attention(model_builder *b, cross_attention *a);

void attend_rnn_build(model_builder *b);
void attend_rnn_free(attend_model *m);
attend_var *attend_rnn_teacher_forcing(forcing *f);

/* ---- encoder ---- */

typedef struct encoded {
    attend_var *memory; /* (N, memory_width); NULL without attention */
    attend_state start[ATTEND_MAX_LAYERS];
} encoded;

/* The words of some sentences; false: the context failed. */
bool attend_model_encode(attend_ctx *c, const attend_model *m, const int *words, const attend_ragged *sentences,
                         encoded *out);

attend_cell attend_model_cell(attend_ctx *c, const attend_model *m, const rnn_cell *p);

/* ---- decoder ---- */

/* A decoder in a context: its parameters as variables, and what it looks at. */
typedef struct decoder {
    const attend_model *m;
    attend_cell cells[ATTEND_MAX_LAYERS];
    attend_var *second_w, *position_w, *position_v, *readout_w, *readout_b;
    const attend_source *source;          /* NULL without attention */
    attend_var *folded_readout;           /* with a folded context: see folded_context; else NULL */
    attend_var *masks[ATTEND_MAX_LAYERS]; /* dropout along time between layers that step: (B, H), or NULL */
} decoder;

/* ---- folding ---- */

/* Matrices that decoding uses in the place of those of the context (context_folding.c has the equations). */
typedef struct folded_context {
    attend_params *set;
    attend_param *context; /* (G H + R, C): what meets the context, of the first layer and of the readout */
    attend_param *readout; /* (R, H + E): the rest of the readout */
    uint64_t versions[2];  /* of the matrices it was made from */
} folded_context;

/* NULL if this model's context cannot be folded, or memory ran out (and the context failed). Safe from many threads. */
const folded_context *attend_folded_context(attend_ctx *c, const attend_model *m);
void attend_folded_context_free(rnn *r);
/* What the first layer takes: W y + bw, in row rows[i] of the input (NULL: row i), + the context's share. */
attend_var *attend_folded_input(attend_ctx *c, attend_var *input, const int *rows, attend_var *context);
/* tanh(W [state; words] + b + the context's share) */
attend_var *attend_folded_readout(attend_ctx *c, const decoder *d, attend_var *state, attend_var *context,
                                  attend_var *words);

/* What goes from step to step; rows are hypotheses, or the sentences that are still running. */
typedef struct decoder_state {
    attend_state layers[ATTEND_MAX_LAYERS];
    attend_var *feed;     /* (n, readout_width), with input feeding */
    attend_var *previous; /* (B, 1, Tq, Tk), where the score wants it */
} decoder_state;

/* One step of what cannot run over whole sentences. */
typedef struct decoder_step {
    const attend_ragged *rows; /* the queries of each source */
    int position;              /* of the first query in the target, and .. */
    bool one_position;         /* .. of all the others too */
    const double *advantage;   /* see attend_attention_inputs */
    bool want_weights;
    const int *running;            /* with dropout along time: the sentence of each row; NULL: row i is sentence i */
    attend_var *context, *weights; /* out */
} decoder_step;

/* fold: fold the context's matrices into the source; for decoding, where there are no gradients. */
bool attend_decoder_new(attend_ctx *c, const attend_model *m, const encoded *e, const attend_ragged *sources, bool fold,
                        decoder *d);
/* The attention and the readout of it. memory: NULL without attention. folded: NULL unless the context is folded. */
bool attend_decoder_attention(attend_ctx *c, const attend_model *m, const cross_attention *a, attend_var *memory,
                              const attend_ragged *sources, const folded_context *folded, decoder *d);
/* What the words bring to the steps below, for all of them at once: W y + bw of the first layer, or where nothing is added to that the
 * embedded words themselves. */
attend_var *attend_decoder_input(attend_ctx *c, const decoder *d, attend_var *words);
/* The part with feedback: with context before, the first layer, which it returns; with context after, all layers and the readout.
 * Row i goes on with row rows[i] of the input; NULL: row i. */
attend_var *attend_decoder_recur(attend_ctx *c, const decoder *d, attend_var *input, const int *rows, decoder_state *s,
                                 decoder_step *step);
/* Layers [first, layers) over whole sentences (or single steps). */
attend_var *attend_decoder_layers(attend_ctx *c, const decoder *d, int first, attend_var *x,
                                  const attend_ragged *sentences, attend_state *states);
/* Attention over whole sentences, or single steps. */
attend_var *attend_decoder_attend(attend_ctx *c, const decoder *d, attend_var *query, decoder_state *s,
                                  decoder_step *step);
/* tanh(W [..] + b) of what the configuration says; the state where there is none. words: embedded. */
attend_var *attend_decoder_readout(attend_ctx *c, const decoder *d, attend_var *state, attend_var *context,
                                   attend_var *words);
#endif
