/* model.h: the internals of a model that do not depend on its architecture.
 *
 *     config.c, config_effect.c, config_check.c
 *                                     the table of configuration fields, fields without effect, valid configurations
 *     build.c                         parameters and their initial values
 *     alignment.c, alignment_head.c   the map that aligns, and an attention of its own for it
 *     loss.c, scoring.c               teacher forcing over pairs, and the probability of given targets
 *     decoding.h, output.h            decoding step by step, and its output layer
 *     model_file.c, attachments.h     saving and loading
 *     members.c                       ensembles
 *     architecture.h                  the interface of architectures: rnn.h, transformer.h, lstmn.h */
#ifndef ATTEND_MODEL_MODEL_H
#define ATTEND_MODEL_MODEL_H

#include "model/architecture.h"
#include "model/attachments.h"

/* alignment_head.c: query = Wq norm(row) + bq, key = Wk state + bk. */
typedef struct alignment_head {
    attend_param *gain, *bias;         /* (query width) of the norm */
    attend_param *query_w, *query_b;   /* (H, query width), (H) */
    attend_param *memory_w, *memory_b; /* (H, memory width), (H) */
} alignment_head;

struct attend_model {
    attend_config config; /* checked */
    attend_params *params;
    attend_param *source_table, *target_table; /* embeddings (V, E) */
    attend_param *output_w, *output_b;         /* (V, readout_width), (V) */
    int readout_width;                         /* of the rows that the output layer reads */
    int memory_width;                          /* of the encoder's states; 0: the architecture has no alignment head */
    alignment_head align;                      /* with the field alignment_head; otherwise empty */
    const architecture *architecture;
    void *own; /* the architecture's parameters: struct rnn, transformer or lstmn */
    attachments attachments;
    char *name;                     /* of the file that the model was loaded from, for messages; NULL: none */
    void *storage;                  /* of the parameters and attachments that were loaded from a file; NULL: none */
    const unsigned char *shortlist; /* the attached shortlist (shortlist.c); NULL: none */
    attend_model **members;         /* (member_count - 1): the other members of an ensemble; NULL: none */
    int member_count;               /* 0 and 1: not an ensemble */
    const attend_model *owner;      /* the ensemble that this is a member of, whose attachments count; NULL: none */
    uint32_t *shortlist_starts;     /* (source_vocab + 1): index of the common list and of each source token's list */
};

struct attend_tensor;
struct attend_metadata;
/* attend_model_save with additional tensors (named "training.*", which loading a model ignores) and metadata: a
 * checkpoint. */
int attend_model_save_with(const attend_model *m, const char *path, const struct attend_tensor *more, size_t more_count,
                           const struct attend_metadata *metadata, size_t metadata_count);

/* The model in a tensor file that was opened with ATTEND_TENSOR_HEADER_ONLY. The model takes over the memory of its
 * data; the file stays the caller's. With keep_training the "training.*" tensors are kept, apart, in the file. `name` is
 * used in messages. */
struct attend_tensor_file;
int attend_model_from_file(attend_model **out, struct attend_tensor_file *file, const char *name,
                           const attend_load_options *options, bool keep_training);
/* attend_model_load, which leaves the file open for attend_tensor_file_read; the caller closes it. */
int attend_model_open(attend_model **out, struct attend_tensor_file **file, const char *path,
                      const attend_load_options *options);

/* Writes the members of a model to `to`, the model itself first, and returns their number. */
int attend_model_list_members(const attend_model *m, const attend_model *to[ATTEND_MAX_MEMBERS]);
/* Appends a member without checks; the ensemble takes it over. */
int attend_model_append_member(attend_model *m, attend_model *member);
/* Compares what must be the same in models that are averaged or form an ensemble: all fields, and the attachments that
 * define tokens. `what`: what they cannot do otherwise, "can be averaged". */
int attend_models_check_same(const attend_model *a, const char *first, const attend_model *b, const char *path,
                             const char *what);

/* ---- parameters ---- */

/* The number of parameters of a model, without creating it. ATTEND_BAD_USAGE: the configuration is not valid. */
int attend_config_count_parameters(const attend_config *config, size_t *count);
/* What the number depends on, for messages. */
#define ATTEND_SIZE_FIELDS "hidden, embedding, layers, feed-forward-width or the vocabulary sizes"

/* Adds every parameter of m->config to m->params and sets the pointers to them. `values` supplies the numbers of each.
 * Without `values`, or if it supplies none, a parameter is zero. */
typedef int (*model_values)(void *user, const char *name, int rank, const int *shape, param_storage *numbers);
int attend_model_build(attend_model *m, model_values values, void *user);

/* The builder through which an architecture adds its parameters. After the first failure, status stays and parameters
 * are NULL. */
typedef struct model_builder {
    attend_model *m;
    model_values values;
    void *user;
    int status;
} model_builder;

/* Allocates m->own, zeroed, which the architecture frees; NULL: no memory. */
void *attend_build_own(model_builder *b, size_t size);
/* prefix and name are concatenated: "encoder.0.self" and ".norm.gain", for example. */
attend_param *attend_build_tensor(model_builder *b, const char *prefix, const char *name, int rank, int rows,
                                  int columns);
/* A matrix that only attend_linear, attend_gather and the cells read, so that it can be quantised. */
attend_param *attend_build_matrix(model_builder *b, const char *prefix, const char *name, int rows, int columns);
attend_param *attend_build_vector(model_builder *b, const char *prefix, const char *name, int size);

/* ---- the alignment head ---- */

/* Adds its parameters, if the model has one. Widths: of the decoder's rows and of the encoder's states. */
void attend_build_alignment_head(model_builder *b, int query_width, int memory_width);
/* Its keys. memory: (N, memory width). NULL: the model has none, or the context failed. */
const attend_source *attend_alignment_head_source(attend_ctx *c, const attend_model *m, attend_var *memory,
                                                  const attend_ragged *sources);
/* Its weights (B, H, Tq, Tk) for rows of the decoder (N, query width); NULL: the context failed. */
attend_var *attend_alignment_head_weights(attend_ctx *c, const attend_model *m, const attend_source *source,
                                          attend_var *rows, const attend_ragged *queries);

/* ---- pairs ---- */

/* Refuses negative lengths. */
int attend_pairs_check(const attend_pairs *pairs);
/* Refuses sources with tokens for a language model. */
int attend_sources_check(const attend_model *m, const int *lengths, int count);

/* ---- estimates of memory, in bytes: what is really taken is seldom more ---- */

/* The weights and their packed copies. */
double attend_model_bytes(const attend_model *m);
/* Computing one row: a token of a source or target, in all layers. */
double attend_model_row_bytes(const attend_model *m);
/* attend_model_score of one pair of these lengths. */
double attend_model_score_bytes(const attend_model *m, int source, int target, bool weights);

/* ---- teacher forcing ---- */

/* One run over some pairs. Rows are the tokens of all targets, sentence after sentence. */
typedef struct teacher_forcing {
    attend_ctx *c;
    const attend_model *m;
    const attend_pairs *pairs;
    const attend_loss_options *options;
    const attend_ragged *sources, *targets;
    const int *inputs, *outputs; /* (rows): the input token, and the token to predict */
    double *advantage;           /* (B), for REINFORCE; else NULL */
    attend_var *guiding;         /* the guided-alignment loss so far; NULL: none */
} teacher_forcing;

/* Whether the attention weights of a layer are needed: by the caller, or for guided alignment. */
bool attend_teacher_forcing_needs_weights(const teacher_forcing *f, attend_attention_kind kind, int layer);
/* Passes on weights (B, H, Tq, Tk), whose first query is token `first` of each sentence. NULL: none. */
void attend_teacher_forcing_weights(teacher_forcing *f, attend_attention_kind kind, int layer, attend_var *weights,
                                    int first);

/* The alignment head over all rows of the targets, if its weights are needed. memory: the encoder's states. */
void attend_teacher_forcing_align(teacher_forcing *f, attend_var *memory, attend_var *rows);

/* Before the first step: the weights of the alignment head, which only attend_decoding_weights reads, are not
 * computed. Those of other layers are: without them, attention may round differently. */
void attend_decoding_omit_weights(attend_decoding *d);
/* ATTEND_OK, or why the last step failed or what it computed could not be read: attend_decoding_weights is NULL then, and
 * a device with memory of its own copies weights when they are read. */
int attend_decoding_status(const attend_decoding *d);

/* ---- shared by the architectures ---- */

/* Embeddings of tokens, with dropout -> (N, E). */
attend_var *attend_model_embed(attend_ctx *c, const attend_model *m, attend_param *table, const int *tokens,
                               const attend_ragged *sentences);
/* Dropout on rows, with a mask per token or per sentence (dropout_along_time). */
attend_var *attend_model_dropout(attend_ctx *c, const attend_model *m, attend_var *x, const attend_ragged *sentences);

#endif
