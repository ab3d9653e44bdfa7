/* rnn.h: recurrent networks with one attention.
 *
 *     rnn_config.c            valid configurations
 *     rnn_build.c             parameters
 *     rnn_encoder.c           tokens -> memory (the keys of the attention) and initial states of the decoder
 *     rnn_decoder.c           tokens, memory and states -> readout; shared by teacher forcing and decoding
 *     rnn_teacher_forcing.c   the decoder over given targets
 *     rnn_decoding.c          the decoder step by step
 *     context_folding.c       saves matrix products in decoding */
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
    attend_param *second_w;              /* (G H, width): Wc of the context or of the fed-back readout; NULL: neither */
    cross_attention attention;
    pthread_mutex_t lock;          /* protects folded */
    struct folded_context *folded; /* context_folding.c; NULL: not made yet */
} rnn;

static inline const rnn *rnn_of(const attend_model *m)
{
    return m->own;
}

/* Attention with context before the step (Bahdanau et al. 2015). */
static inline bool is_bahdanau(const attend_model *m)
{
    return m->config.attention && m->config.context == ATTEND_CONTEXT_BEFORE;
}

/* Attention with context after the step (Luong et al. 2015). */
static inline bool is_luong(const attend_model *m)
{
    return m->config.attention && m->config.context == ATTEND_CONTEXT_AFTER;
}

/* Whether a decoder step depends on the attention of the previous step. */
static inline bool has_feedback(const attend_model *m)
{
    return is_bahdanau(m) || m->config.input_feeding ||
           (m->config.attention && m->config.attention->needs_previous_weights);
}

/* ---- configuration (architecture.h) ---- */

void attend_rnn_set_defaults(attend_config *c);
const char *attend_rnn_conflict(const attend_config *c);
int attend_rnn_max_tokens(const attend_config *c, bool target);
int attend_rnn_attention_layers(const attend_config *c, attend_attention_kind kind);
int attend_rnn_attention_heads(const attend_config *c, attend_attention_kind kind);

/* ---- building ---- */

/* Adds the parameters of the attention and of its window, and sets the widths of memory and context. */
void attend_build_attention(model_builder *b, cross_attention *a);

void attend_rnn_build(model_builder *b);
void attend_rnn_free(attend_model *m);
attend_var *attend_rnn_teacher_forcing(teacher_forcing *f);

/* ---- encoder ---- */

typedef struct encoded {
    attend_var *memory; /* (N, memory_width); NULL without attention */
    attend_state start[ATTEND_MAX_LAYERS];
} encoded;

/* False: the context failed. */
bool attend_rnn_encode(attend_ctx *c, const attend_model *m, const int *tokens, const attend_ragged *sentences,
                       encoded *out);

/* A cell with its parameters as variables. */
attend_cell attend_rnn_cell(attend_ctx *c, const attend_model *m, const rnn_cell *p);

/* ---- decoder ---- */

/* A decoder in a context: its parameters as variables, and the source it attends to. */
typedef struct decoder {
    const attend_model *m;
    attend_cell cells[ATTEND_MAX_LAYERS];
    attend_var *second_w, *position_w, *position_v, *readout_w, *readout_b;
    const attend_source *source;          /* NULL without attention */
    attend_var *folded_readout;           /* of a folded context; else NULL */
    attend_var *masks[ATTEND_MAX_LAYERS]; /* (B, H) dropout masks between layers, with dropout_along_time; else NULL */
} decoder;

/* ---- folding ---- */

/* The matrices of decoding with a folded context; context_folding.c has the equations. */
typedef struct folded_context {
    attend_params *set;
    attend_param *context; /* (G H + R, C): [Wc ; Rc], multiplied with the encoder states */
    attend_param *readout; /* (R, H + E): the columns of the readout for state and embedding */
    uint64_t versions[2];  /* of the two parameters they were made from */
} folded_context;

/* NULL: the context of this model cannot be folded, or there is no memory (then c has failed). Thread-safe. */
const folded_context *attend_folded_context(attend_ctx *c, const attend_model *m);
void attend_folded_context_free(rnn *r);
/* The input of the first layer: row rows[i] of input (W y + bw; rows NULL: row i) + the folded context. */
attend_var *attend_folded_input(attend_ctx *c, attend_var *input, const int *rows, attend_var *context);
/* tanh(W [state; embedded] + b + the folded context) */
attend_var *attend_folded_readout(attend_ctx *c, const decoder *d, attend_var *state, attend_var *context,
                                  attend_var *embedded);

/* The state that passes from step to step. Rows are hypotheses, or the sentences that have not ended. */
typedef struct decoder_state {
    attend_state layers[ATTEND_MAX_LAYERS];
    attend_var *feed;     /* (n, readout_width), with input feeding */
    attend_var *previous; /* (B, 1, Tq, Tk) previous weights, if the score uses them */
} decoder_state;

/* One call of the attention. */
typedef struct decoder_step {
    const attend_ragged *rows; /* the queries of each source */
    int position;              /* of the first query in the target */
    bool one_position;         /* all queries have that position */
    const double *advantage;   /* see attend_attention_inputs */
    bool need_weights;
    const int *running;            /* the sentence of each row, for the dropout masks; NULL: row i is sentence i */
    attend_var *context, *weights; /* out */
} decoder_step;

/* fold: fold the context's matrices into the source; for decoding, where there are no gradients. */
bool attend_decoder_new(attend_ctx *c, const attend_model *m, const encoded *e, const attend_ragged *sources, bool fold,
                        decoder *d);
/* Only the attention and the readout of a decoder. memory: NULL without attention. folded: NULL unless the context is
 * folded. */
bool attend_decoder_attention(attend_ctx *c, const attend_model *m, const cross_attention *a, attend_var *memory,
                              const attend_ragged *sources, const folded_context *folded, decoder *d);
/* The part of the input of the first layer that depends on the embedded tokens only, for all steps at once: W y + bw
 * or, if the first layer has no other input, the embedded tokens themselves. */
attend_var *attend_decoder_input(attend_ctx *c, const decoder *d, attend_var *embedded);
/* One step of the part with feedback. Context before: the first layer, which it returns; context after: all layers and
 * the readout. rows: the row of `input` for each row; NULL: row i. */
attend_var *attend_decoder_recur(attend_ctx *c, const decoder *d, attend_var *input, const int *rows, decoder_state *s,
                                 decoder_step *step);
/* Layers [first, layers) over whole sentences, or sentences of one token. */
attend_var *attend_decoder_layers(attend_ctx *c, const decoder *d, int first, attend_var *x,
                                  const attend_ragged *sentences, attend_state *states);
/* The attention over whole sentences, or sentences of one token. */
attend_var *attend_decoder_attend(attend_ctx *c, const decoder *d, attend_var *query, decoder_state *s,
                                  decoder_step *step);
/* tanh(W [parts] + b), where the configuration determines the parts, or the state itself. embedded: the input
 * tokens. */
attend_var *attend_decoder_readout(attend_ctx *c, const decoder *d, attend_var *state, attend_var *context,
                                   attend_var *embedded);
#endif
