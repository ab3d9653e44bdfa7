/* model.h: sequence-to-sequence and language models: creating, loading, training, scoring and decoding.
 *
 * Purpose    config.h describes a model, docs/models.md has the equations. There are three ways to run a model: the
 *            loss of a batch of pairs (attend_model_loss), the probability of given targets (attend_model_score), and
 *            decoding step by step (attend_decoding_*). All three return attention weights on request.
 * Tokens     Tokens are integers; three are special. A source is used as given, usually with ATTEND_END as its last
 *            token. A target is given without special tokens: the model puts ATTEND_BEGIN before it and
 *            ATTEND_END after it, so that a target of T tokens has T + 1 rows.
 * Ownership  attend_model_new and attend_model_load return models that the caller frees with attend_model_free.
 *            Pointers that getters return belong to the model.
 * Threads    Many threads may read a model at once, each with its own context, as long as no thread changes it. */
#ifndef ATTEND_MODEL_H
#define ATTEND_MODEL_H

#include <attend/config.h>
#include <attend/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTEND_UNKNOWN = 0, ATTEND_BEGIN = 1, ATTEND_END = 2, ATTEND_FIRST_TOKEN = 3 };

typedef struct attend_model attend_model;

/* A model with random weights, which depend only on the configuration and the seed. ATTEND_BAD_USAGE: the configuration
 * is not valid (attend_config_check). */
int attend_model_new(attend_model **out, const attend_config *config, uint64_t seed);
/* NULL is allowed. */
void attend_model_free(attend_model *m);

/* ---- the model file ---- */

/* Writes one safetensors file: configuration and format version in its metadata, a tensor for each parameter, the
 * attachments, and a checksum of the whole file. The file is replaced atomically: at any time the path holds the
 * complete old file or the complete new one. ATTEND_FAILED: a parameter has non-finite values (training diverged); the
 * old file is unchanged. */
int attend_model_save(const attend_model *m, const char *path);

typedef struct attend_load_options {
    bool skip_checksum; /* do not verify the checksum; all other checks are made */
    const attend_score *const
        *scores; /* score functions of your own that are not registered, NULL-terminated; NULL: none */
} attend_load_options;

/* Copies a file to memory and validates all of it. The model does not change if the file does. ATTEND_BAD_MODEL: the
 * file is not a valid model, and the message says why; ATTEND_IO: it cannot be read, is not a regular file, or changed
 * while it was read; ATTEND_NO_MEMORY: also if the machine does not have enough memory for it. options may be NULL. */
int attend_model_load(attend_model **out, const char *path, const attend_load_options *options);
/* The same from a file in memory, which may be freed afterwards. `name` is used in messages. */
int attend_model_load_bytes(attend_model **out, const void *bytes, size_t size, const char *name,
                            const attend_load_options *options);

/* The mean of the weights of several models from one training run, for example its last checkpoints (Vaswani et al.
 * 2017). The order of the paths does not matter. Attachments are kept if they are the same in all models.
 * ATTEND_BAD_USAGE: a model is quantised, or its configuration or vocabularies differ from those of the first; the
 * message names the file. */
int attend_models_average(attend_model **out, const char *const *paths, int count);

/* Quantises the matrices of a model. It becomes smaller and faster and can be saved, but can no longer be trained.
 * Biases, and parameters that a score function reads without attend_linear, keep their precision. No other thread may
 * use the model during the call. ATTEND_BAD_USAGE: the model is already quantised. */
int attend_model_quantize(attend_model *m, attend_precision precision);
/* The precision of the model's matrices. */
attend_precision attend_model_precision(const attend_model *m);

/* ---- ensembles ----
 *
 * A model may be an ensemble: several members that were trained apart, with the same configuration and vocabularies, and
 * that predict together: the mean of their probabilities. It is saved to one file and loaded from it. Translators,
 * scorers, attention maps and attend_model_score use all members, and so do attend_model_save and attend_model_quantize;
 * the weights of an attention map are the mean over the members. All other functions use the first member, which is the
 * model itself: attend_model_params, attend_model_loss, and decoding step by step. An ensemble cannot be trained or
 * averaged. */

enum { ATTEND_MAX_MEMBERS = 64 };
/* The number of members; 1: not an ensemble. */
int attend_model_member_count(const attend_model *m);
/* A member, which belongs to the ensemble: 0 is the model itself. NULL: there is no such member. */
const attend_model *attend_model_member(const attend_model *m, int i);
/* Adds a member. The ensemble takes over `member`; after a failure it stays the caller's. The attachments of the first
 * member are those of the ensemble; a chosen alignment (attend_model_set_alignment) stays only if all members have it.
 * ATTEND_BAD_USAGE: configuration, vocabularies or precision differ, a model has a shortlist, `member` is itself an
 * ensemble or a member, or there are already ATTEND_MAX_MEMBERS. */
int attend_model_add_member(attend_model *m, attend_model *member);

/* Attaches bytes under a name ("source.vocabulary"); they are saved with the model. The bytes are copied and replace an
 * attachment of the same name. A vocabulary has one line for each token, each ended by a line feed; loading refuses
 * a file whose vocabularies have another number of lines than the model has tokens. */
int attend_model_attach(attend_model *m, const char *name, const void *bytes, size_t size);
/* NULL: there is no such attachment. */
const void *attend_model_attached(const attend_model *m, const char *name, size_t *size);

/* The configuration, with all defaults set, and the parameters. Both belong to the model. */
const attend_config *attend_model_config(const attend_model *m);
attend_params *attend_model_params(const attend_model *m);

/* ---- alignment ---- */

/* The cross-attention map that is used as the alignment of target and source tokens. -1: the mean over all layers
 * except the alignment head, or over all heads.
 *
 * Weights are computed in rows: row i of a target predicts token i, and its query has read the tokens before i; with
 * `context before`, whose query is the state before the step's input, the tokens before i - 1. By default token i is
 * aligned by row i. With `shifted` it is aligned by row i + 1, whose query has read it, except with `context before`;
 * ATTEND_END, after which there is no row, keeps its own. The alignment head is always read shifted: its query has read
 * the token. */
typedef struct attend_alignment {
    int layer, head;
    bool shifted;
} attend_alignment;

/* The alignment that attend_model_set_alignment stored in the model or its file; by default the alignment head or,
 * without one, the mean of all heads of the penultimate layer, not shifted. attend_train stores the map that it selects, if
 * there are enough validation pairs (docs/alignment.md). */
attend_alignment attend_model_alignment(const attend_model *m);
/* ATTEND_BAD_USAGE: the model has no such layer or head. `shifted` is set for the alignment head. */
int attend_model_set_alignment(attend_model *m, attend_alignment alignment);
int attend_alignment_check(attend_alignment alignment, const attend_config *config);
/* Whether the map of a layer and head is part of the alignment, and the number of maps of which it is the mean. */
bool attend_alignment_includes(attend_alignment alignment, const attend_config *config, int layer, int head);
int attend_alignment_map_count(attend_alignment alignment, const attend_config *config);
/* Whether an alignment links a token to nothing by its weight on the source's end: the alignment head learns that. */
bool attend_alignment_has_null(attend_alignment alignment, const attend_config *config);

/* ---- pairs ---- */

/* A known alignment: token `target` of the target of a pair is aligned with token `source` of its source. */
typedef struct attend_link {
    int pair, target, source;
} attend_link;

/* Pairs of token sequences, concatenated. All arrays belong to the caller. For a language model every source has 0
 * tokens, and `source` may be NULL; other sources are refused. */
typedef struct attend_pairs {
    int count;
    const int *source, *source_lengths;
    const int *target, *target_lengths; /* without special tokens */
    const attend_link *links;           /* sorted by pair; NULL: none */
    int link_count;
    int first_pair; /* attend_link.pair of the first pair of these arrays */
} attend_pairs;

/* The pairs [first, first + count) of `all`, with their links. */
attend_pairs attend_pairs_slice(const attend_pairs *all, int first, int count);
/* The number of rows of all targets: their tokens, and ATTEND_END once per target. */
int attend_pairs_rows(const attend_pairs *pairs);
/* The number of attention weights of all pairs: the sum of layers * heads * queries * keys. A target has one query or
 * key more than its length: ATTEND_END as a query, ATTEND_BEGIN as a key. The weights are stored pair after pair. */
size_t attend_pairs_weight_count(const attend_pairs *pairs, const attend_config *config, attend_attention_kind kind);

/* ---- loss ---- */

typedef struct attend_loss_options {
    double scale;           /* factor of the loss, for example 1 / tokens of the batch */
    double label_smoothing; /* see attend_cross_entropy */
    /* factor of the guided alignment loss (Chen et al. 2016): sum over linked tokens of -log(weight on the link). It
     * trains the alignment head, if the model has one, otherwise the penultimate layer. The alignment head also learns
     * the tokens without a link, in pairs that have links: their weight is on the source's end */
    double guidance;
    double baseline;  /* REINFORCE: the expected loss of a row, subtracted from the actual loss */
    attend_real *nll; /* out, if not NULL: -log p of each row, attend_pairs_rows of them */
    attend_attention_kind weights_kind;
    attend_real *weights; /* out, if not NULL: the weights of that kind, attend_pairs_weight_count of them */
} attend_loss_options;

#define ATTEND_LOSS_OPTIONS_INIT                                                                                       \
    {                                                                                                                  \
        1.0, 0.0, 0.0, 0.0, 0, ATTEND_ATTENTION_CROSS, 0                                                               \
    }

/* The loss of the pairs with teacher forcing, recorded on the tape of the context -> (1). options may be NULL. Tokens
 * out of range fail the context with ATTEND_BAD_USAGE. */
attend_var *attend_model_loss(attend_ctx *c, const attend_model *m, const attend_pairs *pairs,
                              const attend_loss_options *options);

/* ---- scoring ---- */

/* Computes log p(target | source) of each pair (`count` numbers) and, unless NULL, log p of each row (attend_pairs_rows
 * numbers) and the attention weights of one kind (attend_pairs_weight_count numbers). Resets the context and uses its
 * memory; recording and training are off afterwards. */
int attend_model_score(attend_ctx *c, const attend_model *m, const attend_pairs *pairs, double *log_probability,
                       attend_real *row_log_probability, attend_attention_kind kind, attend_real *weights);

/* ---- decoding ---- */

/* Sources that are being decoded, each with any number of hypotheses. */
typedef struct attend_decoding attend_decoding;

/* Encodes `count` sources. The context is reset, its recording is turned off, and only the decoding may use it until
 * attend_decoding_free. */
int attend_decoding_new(attend_decoding **out, attend_ctx *c, const attend_model *m, int count, const int *source,
                        const int *lengths);
void attend_decoding_free(attend_decoding *d);

/* One step. counts (sources): the number of hypotheses of each source, 0 if it is finished. parents, tokens (the sum of
 * counts, grouped by source): the hypothesis of the previous step that each hypothesis extends, and the token that
 * extends it. In the first step each source has one hypothesis: parents[i] is the index of the source, tokens[i] is
 * ATTEND_BEGIN. */
int attend_decoding_step(attend_decoding *d, const int *counts, const int *parents, const int *tokens);

/* Restricts the output to the model's shortlist (shortlist.h). Must be called before the first step, while the source
 * array given to attend_decoding_new is still valid. ATTEND_BAD_USAGE: the model has no shortlist. */
int attend_decoding_use_shortlist(attend_decoding *d);
/* The largest k of attend_decoding_set_top_k that has an effect; for a larger k, computing all tokens is faster. */
enum { ATTEND_MAX_TOP_K = 32 };
/* Makes steps compute only the k best tokens of each hypothesis, which is faster. Must be called before the first step.
 * 0, or more than ATTEND_MAX_TOP_K: all tokens. */
int attend_decoding_set_top_k(attend_decoding *d, int k);

/* The last step's log p of every token for every hypothesis (n, target_vocab), valid until the next step. NULL: there
 * was no successful step, or a shortlist or top-k is in use. */
const attend_real *attend_decoding_log_probabilities(const attend_decoding *d);
/* The same for one hypothesis: `count` numbers. *tokens receives the tokens they belong to, in ascending order; NULL:
 * all tokens of the vocabulary, in order. */
const attend_real *attend_decoding_row(const attend_decoding *d, int hypothesis, int *count, const int **tokens);
/* The best tokens of a hypothesis and their log p, best first, the lower token first among equals; never ATTEND_BEGIN.
 * NULL unless attend_decoding_set_top_k was called. */
const attend_real *attend_decoding_top_k(const attend_decoding *d, int hypothesis, int *count, const int **tokens);
/* log p of ATTEND_END, with or without a shortlist or top-k. */
attend_real attend_decoding_end_log_probability(const attend_decoding *d, int hypothesis);
/* The attention weights of a hypothesis over its source tokens, of one layer and head, in the row of the last step (see
 * attend_alignment); NULL: there are none. */
const attend_real *attend_decoding_weights(const attend_decoding *d, int hypothesis, int layer, int head);

#ifdef __cplusplus
}
#endif
#endif
