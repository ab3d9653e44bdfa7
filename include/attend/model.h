/* model.h: models, with a source or of lines alone: make one or load one, train it, score with it, decode with it.
 *
 * Purpose    config.h says what a model is, docs/models.md has the equations. There are three ways to run one: the loss of a batch
 *            of pairs (attend_model_loss), the probability of given targets (attend_model_score), and decoding step by step
 *            (attend_decoding_*). Attention weights come out of all three.
 * Words      are numbers; three are special. A source is whatever the caller gives (usually with ATTEND_END at its end); a target
 *            is given without special words: the model begins it with ATTEND_BEGIN and ends it with ATTEND_END, so a target of T words
 *            has T + 1 rows.
 * Threads    A model is read by many threads at once, each with a context of its own; nobody may change it meanwhile. */
#ifndef ATTEND_MODEL_H
#define ATTEND_MODEL_H

#include <attend/config.h>
#include <attend/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTEND_UNKNOWN = 0, ATTEND_BEGIN = 1, ATTEND_END = 2, ATTEND_FIRST_TOKEN = 3 };

typedef struct attend_model attend_model;

/* A model with random weights, by seed. *out is the caller's, freed by attend_model_free (NULL is fine there). */
int attend_model_new(attend_model **out, const attend_config *config, uint64_t seed);
void attend_model_free(attend_model *m);

/* ---- the model file ---- */

/* One safetensors file: configuration and format in its metadata, a tensor for each parameter, what was attached, and a checksum
 * of all of it. Written to a temporary beside it and put in its place, so that the old file or the new one is there, whole. A model whose
 * numbers are not all finite (training diverged) would not load: ATTEND_FAILED, and the old file stays. */
int attend_model_save(const attend_model *m, const char *path);

typedef struct attend_load_options {
    bool skip_checksum;                /* the rest is checked all the same */
    const attend_score *const *scores; /* scores that are your own, NULL at the end; NULL: none */
} attend_load_options;

/* Maps a file; its numbers stay there, and are read as they are needed. Everything is checked before anything is used: ATTEND_BAD_MODEL
 * says what is wrong with it, ATTEND_IO that it could not be read. options may be NULL. */
int attend_model_load(attend_model **out, const char *path, const attend_load_options *options);
/* The same from a file that is in memory, which may be freed afterwards; `name` is for messages. */
int attend_model_load_bytes(attend_model **out, const void *bytes, size_t size, const char *name,
                            const attend_load_options *options);

/* The mean of the weights of several models of one training, its last checkpoints say (Vaswani et al. 2017), in whatever order they are named the
 * same. ATTEND_BAD_USAGE, with the file, if one has another configuration or other vocabularies than the first, or is kept in fewer bits. What
 * else is attached stays if all have it alike. *out is the caller's. */
int attend_models_average(attend_model **out, const char *const *paths, int count);

/* Keeps the matrices of a model, the output layer first of all, in fewer bits from now on: it becomes smaller and faster, can be saved so, and
 * cannot be trained any more. Biases, and what a score uses in its own way, stay. ATTEND_BAD_USAGE if it has fewer bits already. Nobody else
 * may use the model meanwhile. */
int attend_model_quantize(attend_model *m, attend_precision precision);
/* Of the output layer, and so of the model. */
attend_precision attend_model_precision(const attend_model *m);

/* Bytes that belong to a model (its vocabularies, say) and are saved with it, by name ("source.vocabulary"). Copied; in the place of
 * what had that name. A vocabulary has a line for each word, every one ended by a line feed; a file whose vocabularies do
 * not have as many lines as the model has words is refused. */
int attend_model_attach(attend_model *m, const char *name, const void *bytes, size_t size);
const void *attend_model_attached(const attend_model *m, const char *name, size_t *size); /* NULL: nothing */

const attend_config *attend_model_config(const attend_model *m);
attend_params *attend_model_params(const attend_model *m);

/* ---- alignment ---- */

/* Of all the maps that a model makes of a source, the one that says which word comes from which; -1: the mean of all layers, or of all heads. */
typedef struct attend_alignment {
    int layer, head;
} attend_alignment;

/* What attend_model_set_alignment said, also in a model that was saved and loaded since; else the mean of the heads of the last layer but one. */
attend_alignment attend_model_alignment(const attend_model *m);
/* ATTEND_BAD_USAGE if there is no such layer or head. */
int attend_model_set_alignment(attend_model *m, attend_alignment alignment);
int attend_alignment_check(attend_alignment alignment, const attend_config *config);
/* Whether a map is one of those whose mean it is, and how many they are. */
bool attend_alignment_includes(attend_alignment alignment, int layer, int head);
int attend_alignment_map_count(attend_alignment alignment, const attend_config *config);

/* ---- pairs ---- */

/* An alignment that is known: this word of the target comes from this word of the source. */
typedef struct attend_link {
    int pair, target, source;
} attend_link;

/* Some pairs: words of all sources one after another, and of all targets. All arrays stay the caller's. A language model has sources of 0 words,
 * and `source` may then be NULL; others are refused. */
typedef struct attend_pairs {
    int count;
    const int *source, *source_lengths;
    const int *target, *target_lengths; /* without special words */
    const attend_link *links;           /* sorted by pair; NULL: none */
    int link_count;
    int first_pair; /* the number by which links know the first of these pairs */
} attend_pairs;

/* The pairs [first, first + count) of `all`, with their links. */
attend_pairs attend_pairs_slice(const attend_pairs *all, int first, int count);
/* Rows of all targets: words and ends. */
int attend_pairs_rows(const attend_pairs *pairs);
/* Numbers that the weights of all pairs take, pair after pair: of each, layers x heads x words that look x words looked at. A target has one word
 * more than it was given, either ATTEND_END at its end (where it looks) or ATTEND_BEGIN in front (where it is looked at). */
size_t attend_pairs_weight_count(const attend_pairs *pairs, const attend_config *config, attend_attention_kind look);

/* ---- loss ---- */

typedef struct attend_loss_options {
    double scale;           /* of everything; 1 / words of the batch, say */
    double label_smoothing; /* see attend_cross_entropy */
    double guidance;  /* times sum over linked words of -log(weight on the link): guided alignment (Chen et al. 2016) */
    double baseline;  /* REINFORCE: what a pair's loss, for each of its rows, is expected to be */
    attend_real *nll; /* out, if not NULL: -log p of each row, attend_pairs_rows of them */
    attend_attention_kind weights_kind;
    attend_real *weights; /* out, if not NULL: the weights of that kind, attend_pairs_weight_count numbers */
} attend_loss_options;

#define ATTEND_LOSS_OPTIONS_INIT                                                                                       \
    {                                                                                                                  \
        1.0, 0.0, 0.0, 0.0, 0, ATTEND_ATTENTION_CROSS, 0                                                               \
    }

/* The loss of some pairs with teacher forcing, on the context's tape -> (1). Words out of range are refused. */
attend_var *attend_model_loss(attend_ctx *c, const attend_model *m, const attend_pairs *pairs,
                              const attend_loss_options *options);

/* ---- scoring ---- */

/* log p(target | source) of each pair (`count` numbers), and of each row and the weights of a look if wanted. Resets the context, whose memory
 * it uses; recording and training are off afterwards. */
int attend_model_score(attend_ctx *c, const attend_model *m, const attend_pairs *pairs, double *log_probability,
                       attend_real *row_log_probability, attend_attention_kind look, attend_real *weights);

/* ---- decoding ---- */

/* Sources that are being decoded, each with any number of hypotheses. */
typedef struct attend_decoding attend_decoding;

/* Encodes `count` sources in a context, which belongs to the decoding until it is freed: reset first, recording off. */
int attend_decoding_new(attend_decoding **out, attend_ctx *c, const attend_model *m, int count, const int *source,
                        const int *lengths);
void attend_decoding_free(attend_decoding *d);

/* One step. counts (sources): how many hypotheses each source has now, 0 if it is done; parents and words (as many as the counts
 * make together, those of one source together): which hypothesis of the step before each goes on from, and with which word. In the
 * first step a source has one hypothesis, itself: parents[i] is the source, and the word ATTEND_BEGIN. */
int attend_decoding_step(attend_decoding *d, const int *counts, const int *parents, const int *words);

/* From now on only words on the model's shortlist (shortlist.h) have a probability; before the first step, while the
 * sources given to attend_decoding_new are still there. ATTEND_BAD_USAGE if it has none. */
int attend_decoding_use_shortlist(attend_decoding *d);
/* From now on steps leave the `most` best words of each hypothesis alone, which is faster; before the first step. 0: all of them, and so if
 * `most` is more than a few. */
int attend_decoding_set_top_k(attend_decoding *d, int most);

/* Of the last step: log p of every word for every hypothesis, (n, target_vocab); valid until the next. NULL before the first, after
 * one that failed for want of memory, with a shortlist, and where the best alone are kept. */
const attend_real *attend_decoding_log_probabilities(const attend_decoding *d);
/* The same of one hypothesis: `count` numbers. *words: whose they are, in rising order; NULL: of all words, in order. */
const attend_real *attend_decoding_row(const attend_decoding *d, int hypothesis, int *count, const int **words);
/* The best words of a hypothesis and log p of each, best first, of equal ones the lower number first; never ATTEND_BEGIN. NULL unless
 * attend_decoding_set_top_k asked for them alone. */
const attend_real *attend_decoding_top_k(const attend_decoding *d, int hypothesis, int *count, const int **words);
/* log p of ATTEND_END, in any case. */
attend_real attend_decoding_end_log_probability(const attend_decoding *d, int hypothesis);
/* Attention of hypothesis i over its source's words, of a layer and a head; NULL if there is none. */
const attend_real *attend_decoding_weights(const attend_decoding *d, int hypothesis, int layer, int head);

#ifdef __cplusplus
}
#endif
#endif
