/* model.h: the inside of a model, whatever its architecture.
 *
 *     build.c      parameters and their first values
 *     loss.c       teacher forcing over pairs: rows of words in, an architecture's readout, words out;  score.c
 *     decoding.h   the same step by step, for hypotheses;  output.h  the words of a step
 *     rnn.h, transformer.h, lstmn.h   the architectures, each a struct architecture */
#ifndef ATTEND_MODEL_MODEL_H
#define ATTEND_MODEL_MODEL_H

#include "model/architecture.h"

struct attend_model {
    attend_config config; /* checked */
    attend_params *params;
    attend_param *source_table, *target_table; /* embeddings (V, E) */
    attend_param *output_w, *output_b;         /* (V, readout_width), (V) */
    int readout_width;                         /* of the rows that the output layer reads */
    const architecture *architecture;
    void *own;                       /* the architecture's parameters: struct rnn, transformer or lstmn */
    struct attachment *attachments;  /* a list (model_file.c) */
    struct attend_tensor_file *file; /* the file that the parameters are mapped from; NULL: none */
    const unsigned char *shortlist;  /* the attached shortlist (shortlist.c); NULL: none */
    uint32_t *shortlist_starts;      /* (source_vocab + 1): index of the common list and of each source token's list */
};

struct attend_tensor;
struct attend_metadata;
/* attend_model_save with more tensors (named "training.*", so that they are no part of the model) and more metadata. */
int attend_model_save_with(const attend_model *m, const char *path, const struct attend_tensor *more, size_t more_count,
                           const struct attend_metadata *facts, size_t fact_count);

/* The name of the i-th thing that is attached; NULL behind the last. */
const char *attend_model_attachment(const attend_model *m, int i);
/* Frees what model_file.c hung onto a model. */
void attend_model_detach(attend_model *m);

/* ---- parameters ---- */

/* Adds every parameter of m->config to m->params and sets the pointers; `values` gives each its numbers (none: zeros), or is NULL. */
typedef int (*model_values)(void *user, const char *name, int rank, const int *shape, param_numbers *numbers);
int attend_model_build(attend_model *m, model_values values, void *user);

/* What an architecture adds its parameters with. The first failure stays; parameters are then NULL. */
typedef struct model_builder {
    attend_model *m;
    model_values values;
    void *user;
    int status;
} model_builder;

/* A name may have a place in front: "encoder.%d.self." and "norm.gain", say. */
attend_param *attend_build_tensor(model_builder *b, const char *place, const char *name, int rank, int rows,
                                  int columns);
/* Of two axes, used by attend_linear, attend_gather and the cells alone: it can be kept in fewer bits. */
attend_param *attend_build_matrix(model_builder *b, const char *place, const char *name, int rows, int columns);
attend_param *attend_build_vector(model_builder *b, const char *place, const char *name, int size);

/* ---- pairs ---- */

/* Refuses lengths that are none. */
int attend_pairs_check(const attend_pairs *pairs);
/* Refuses sources with words for a language model. */
int attend_sources_check(const attend_model *m, const int *lengths, int count);

/* ---- teacher forcing ---- */

/* One run over some pairs. Rows are the words of all targets, sentence after sentence. */
typedef struct forcing {
    attend_ctx *c;
    const attend_model *m;
    const attend_pairs *pairs;
    const attend_loss_options *options;
    const attend_ragged *sources, *targets;
    const int *inputs, *outputs; /* words of each row: what goes in, what should come out */
    double *advantage;           /* (B), of REINFORCE; NULL otherwise */
    attend_var *guiding;         /* the guided-alignment loss so far, or NULL */
} forcing;

/* Whether somebody wants the weights of a layer that looks so .. */
bool attend_teacher_forcing_wants(const forcing *f, attend_attention_kind look, int layer);
/* .. and takes them: (B, H, Tq, Tk), the first query being word `first` of each sentence. NULL is fine. */
void attend_teacher_forcing_weights(forcing *f, attend_attention_kind look, int layer, attend_var *weights, int first);

/* ---- shared by the architectures ---- */

/* Rows of words by id, with dropout. */
attend_var *attend_model_embed(attend_ctx *c, const attend_model *m, attend_param *table, const int *words,
                               const attend_ragged *sentences);
/* Dropout on rows, a mask a word or a sentence as the configuration says. */
attend_var *attend_model_dropout(attend_ctx *c, const attend_model *m, attend_var *x, const attend_ragged *sentences);

#endif
