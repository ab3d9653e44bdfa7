/* model.h: the inside of an encoder-decoder: its parameters, and the parts that loss, scoring and decoding share.
 *
 *     build.c     which parameters a configuration has, and their first values
 *     encoder.c   words -> memory (what attention looks at) and the decoder's first states
 *     decoder.c   words, memory and states -> readout
 *     loss.c      teacher forcing over pairs;  score.c;  decoding.c  step by step */
#ifndef ATTEND_MODEL_MODEL_H
#define ATTEND_MODEL_MODEL_H

#include "core/tape.h"
#include <attend/model.h>

typedef struct model_cell {
    attend_param *w, *u, *bw, *bu;
} model_cell;

struct attend_model {
    attend_config config; /* checked */
    attend_params *params;
    attend_param *source_table, *target_table; /* (V, E) */
    model_cell encoder[ATTEND_MAX_LAYERS][2];  /* [1]: backward */
    attend_param *memory_w, *memory_b;         /* the encoder's states to the decoder's width; NULL: as they are */
    attend_param *start_w[ATTEND_MAX_LAYERS][2], *start_b[ATTEND_MAX_LAYERS][2]; /* of h, and of the LSTM's c */
    model_cell decoder[ATTEND_MAX_LAYERS]; /* w: of the word, or of the layer below */
    attend_param *second_w;                /* (G H, ..) of the context, or of what is fed back; NULL: neither */
    attend_param *score[ATTEND_SCORE_PARAMETERS];
    attend_param *position_w, *position_v; /* of local-p */
    attend_param *readout_w, *readout_b;   /* NULL: the state itself */
    attend_param *output_w, *output_b;     /* (V, readout) */
    int memory_width, context_width, readout_width;
    struct attachment *attachments;  /* model_file.c: a list */
    struct attend_tensor_file *file; /* whose numbers the parameters are, or NULL */
    const unsigned char *shortlist;  /* shortlist.c: what is attached, and .. */
    uint32_t
        *shortlist_starts;   /* .. (source_vocab + 1): where the common list and each word's begin in it, in numbers */
    pthread_mutex_t lock;    /* of .. */
    struct model_fold *fold; /* .. what fold.c made of some matrices */
};

struct attend_tensor;
struct attend_metadata;
/* attend_model_save with more tensors (named "training.*", so that they are no part of the model) and more metadata. */
int attend_model_save_with(const attend_model *m, const char *path, const struct attend_tensor *more, size_t more_count,
                           const struct attend_metadata *facts, size_t fact_count);

/* Frees what model_file.c hung onto a model. */
void attend_model_detach(attend_model *m);

/* Adds every parameter of m->config to m->params and sets the pointers; `values` gives each its numbers (none: zeros), or is NULL. */
typedef int (*model_values)(void *user, const char *name, int rank, const int *shape, param_numbers *numbers);
int attend_model_build(attend_model *m, model_values values, void *user);

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
    return model_bahdanau(m) || m->config.input_feeding || (m->config.attention && m->config.attention->wants_previous);
}

/* ---- pairs ---- */

/* Refuses lengths that are none. */
int attend_pairs_check(const attend_pairs *pairs);

/* ---- encoder ---- */

typedef struct encoded {
    attend_var *memory; /* (N, memory_width); NULL without attention */
    attend_state start[ATTEND_MAX_LAYERS];
} encoded;

/* The words of some sentences; false: the context failed. */
bool attend_model_encode(attend_ctx *c, const attend_model *m, const int *words, const attend_ragged *sentences,
                         encoded *out);

/* Rows of words by id, with dropout. */
attend_var *attend_model_embed(attend_ctx *c, const attend_model *m, attend_param *table, const int *words,
                               const attend_ragged *sentences);
/* Dropout on rows, a mask a word or a sentence as the configuration says. */
attend_var *attend_model_dropout(attend_ctx *c, const attend_model *m, attend_var *x, const attend_ragged *sentences);
attend_cell attend_model_cell(attend_ctx *c, const attend_model *m, const model_cell *p);

/* ---- decoder ---- */

/* A decoder in a context: its parameters as variables, and what it looks at. */
typedef struct decoder {
    const attend_model *m;
    attend_cell cells[ATTEND_MAX_LAYERS];
    attend_var *second_w, *position_w, *position_v, *readout_w, *readout_b, *output_w, *output_b;
    const attend_source *source;          /* NULL without attention */
    attend_var *folded_readout;           /* with a folded context: see model_fold; else NULL */
    attend_var *masks[ATTEND_MAX_LAYERS]; /* dropout along time between layers that step: (B, H), or NULL */
} decoder;

/* ---- folding ---- */

/* Matrices that decoding uses in the place of those of the context (fold.c has the equations). */
typedef struct model_fold {
    attend_params *set;
    attend_param *context; /* (G H + R, C): what meets the context, of the first layer and of the readout */
    attend_param *readout; /* (R, H + E): the rest of the readout */
    uint64_t versions[2];  /* of the matrices it was made from */
} model_fold;

/* NULL if this model's context cannot be folded, or memory ran out (and the context failed). Safe from many threads. */
const model_fold *attend_model_fold(attend_ctx *c, const attend_model *m);
void attend_model_fold_free(attend_model *m);
/* What the first layer takes: W y + bw, in row rows[i] of the input (NULL: row i), + the context's share. */
attend_var *attend_fold_input(attend_ctx *c, attend_var *input, const int *rows, attend_var *context);
/* tanh(W [state; words] + b + the context's share) */
attend_var *attend_fold_readout(attend_ctx *c, const decoder *d, attend_var *state, attend_var *context,
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

/* `fold`: for decoding, where nothing flows back. */
bool attend_decoder_new(attend_ctx *c, const attend_model *m, const encoded *e, const attend_ragged *sources, bool fold,
                        decoder *d);
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
attend_var *attend_decoder_look(attend_ctx *c, const decoder *d, attend_var *query, decoder_state *s,
                                decoder_step *step);
/* tanh(W [..] + b) of what the configuration says; the state where there is none. words: embedded. */
attend_var *attend_decoder_readout(attend_ctx *c, const decoder *d, attend_var *state, attend_var *context,
                                   attend_var *words);
/* Dropout, then the logits. */
attend_var *attend_decoder_output(attend_ctx *c, const decoder *d, attend_var *readout, const attend_ragged *sentences);

#endif
