/* trainer.h: training from files: tokenizers, updates, validation, checkpoints and log. `attend train` is its
 * command line.
 *
 * Task       With config.task ATTEND_TASK_TRANSLATION the files hold pairs; for a language model they hold lines
 *            (pairs_file.h). Files of the other kind are ATTEND_BAD_USAGE. A language model has one vocabulary, and
 *            perplexity is its only validation metric.
 * Files      MODEL             the best model by validation; without validation data, the latest. Replaced as a whole
 *            MODEL.checkpoint  a model file with optimizer moments, the position in the data and the training state
 *            MODEL.update-N    the last `keep` or `average_checkpoints` models
 *            MODEL.single      the best single model, if MODEL is an average of the last ones
 *            MODEL.log.jsonl   the training log, one JSON object a line;  MODEL.svg  its plot
 *            MODEL.lock        exists while MODEL is being trained: a second run for it is ATTEND_BAD_USAGE
 * Resuming   With the same options and data, training resumes from the checkpoint and ends in the same model, to the
 *            bit, as a run that was never interrupted. Log lines written after the checkpoint are removed first.
 *            If an option or the data differs, training is refused with a message that names it; `fresh` starts over.
 * Ownership  Options and events are borrowed for the time of the call.
 * Threads    The model does not depend on the number of threads. attend_train may be called from any thread; it
 *            creates its own workers. */
#ifndef ATTEND_TRAINER_H
#define ATTEND_TRAINER_H

#include <attend/metric.h>
#include <attend/pairs_file.h>
#include <attend/text.h>
#include <attend/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The score by which validation compares models. */
typedef enum attend_valid_metric {
    ATTEND_VALID_LOSS, /* perplexity: the exponential of the cross-entropy of a target token */
    ATTEND_VALID_BLEU,
    ATTEND_VALID_CHRF,
    ATTEND_VALID_TOKEN_ACCURACY,
    ATTEND_VALID_WORD_ERROR,
    ATTEND_VALID_EXACT
} attend_valid_metric;

/* Names of the values of each enumeration, in order; NULL after the last. */
extern const char *const attend_optimizer_names[], *const attend_schedule_names[], *const attend_valid_metric_names[];

enum { ATTEND_MAX_AVERAGED_CHECKPOINTS = 1000 };

typedef struct attend_train_options {
    const attend_pairs_spec *train, *valid; /* (train_count), (valid_count); valid may be NULL */
    int train_count, valid_count;
    const char *model;

    attend_config config; /* the sizes of vocabularies are ignored: they follow from the data */
    /* source, target; with config.shared_vocab and for a language model the first one counts */
    attend_tokenizer_options tokens[2];
    double bpe_dropout;
    int max_length; /* tokens of a side; longer pairs are skipped */

    attend_optimizer_options optimizer;
    attend_schedule schedule;
    double clip;
    double label_smoothing;
    double average;           /* decay of a moving average of the weights, which is then validated and saved; 0: none */
    int accumulate;           /* batches per update, at most 10000 */
    int batch_tokens;         /* maximum of a batch */
    int shard_tokens;         /* maximum of a shard, the work of one thread: affects rounding, memory and speed only */
    uint64_t updates, epochs; /* maximum; 0: no limit */
    int patience;             /* training ends after this many validations without a better model; 0: never */
    uint64_t valid_every, save_every, log_every; /* in updates; 0: chosen by the size of the data */
    attend_valid_metric valid_metric;
    uint64_t seed;
    int threads;
    size_t memory; /* maximum in bytes; shards and threads are reduced to fit; 0: no limit */
    int keep;      /* how many MODEL.update-N to keep */
    /* at the end, the mean of this many of the last models becomes MODEL if it is better; 0: none */
    int average_checkpoints;
    const char *log; /* NULL: MODEL.log.jsonl */
    bool fresh;      /* start over: ignore the checkpoint */
    /* a description of the data, if options were chosen by it: compared first when training resumes; may be NULL */
    const char *basis;
} attend_train_options;

/* Defaults for everything but train and model. */
attend_train_options attend_train_defaults(void);

/* ---- sizes ---- */

typedef enum attend_preset {
    ATTEND_PRESET_NONE,            /* chosen by the data */
    ATTEND_PRESET_TINY,            /* the smallest model, whatever the data */
    ATTEND_PRESET_G2P,             /* characters to phonemes separated by spaces */
    ATTEND_PRESET_TRANSLATE_SMALL, /* chosen by the data, up to a medium size */
    ATTEND_PRESET_TRANSLATE        /* one size larger than chosen by the data */
} attend_preset;
extern const char *const attend_preset_names[]; /* in order; NULL after the last */

/* The number of usable pairs, and the words (separated by spaces) and characters of source and target. For lines, the
 * words and characters of the source are 0. */
typedef struct attend_data_size {
    uint64_t pairs, words[2], characters[2];
} attend_data_size;

/* Options that suit data of a size. */
typedef struct attend_training_sizes {
    bool is_word_level;                /* pairs (or lines) are single words, not sentences */
    uint64_t data_tokens;              /* of the side that has more */
    attend_token_kind tokens[2];       /* source, target; for lines the same twice */
    int hidden, embedding, vocab_size; /* embedding 0: as wide as hidden; vocab_size: for BPE */
    double dropout, label_smoothing;
    int batch_tokens;
    uint64_t epochs; /* maximum */
    /* Set for the architectures that have them; 0: keep the default. */
    int layers, heads, feed_forward_width;
    double learning_rate;
    uint64_t warmup;
} attend_training_sizes;
/* kinds: the attend_token_kind of each side, or -1 to choose it; NULL: choose both. */
attend_training_sizes attend_training_sizes_for(attend_preset preset, attend_architecture architecture,
                                                const attend_data_size *data, const int kinds[2]);

/* The state of training after an update. */
typedef struct attend_progress {
    uint64_t update, updates; /* updates: expected total; 0: unknown */
    uint64_t epoch;
    double part; /* of the epoch, 0 to 1 */
    double loss; /* cross-entropy of a target token, since the last line of the log */
    double rate, norm;
    double tokens_per_second;
    double seconds, seconds_left;            /* seconds_left < 0: unknown */
    double step_seconds, validation_seconds; /* parts of `seconds` */
    double valid_loss, valid_score;          /* of the last validation; NAN: none yet */
    double best;
    bool validated, saved, better; /* in this update; better: a better model than all before */
} attend_progress;

/* What is known before the first update of a run. */
typedef struct attend_plan {
    size_t parameters;
    size_t bytes; /* estimated maximum of memory */
    uint64_t pairs, valid_pairs, left_out;
    uint64_t source_tokens, target_tokens;
    attend_task task; /* of a language model, pairs are lines */
    uint64_t updates_per_epoch, updates;
    uint64_t valid_every, save_every;
    int source_vocab, target_vocab;
    bool resumed;
    uint64_t update;
} attend_plan;

/* Callbacks, on the thread that called attend_train; each may be NULL. */
typedef struct attend_train_events {
    void *user;
    void (*plan)(void *user, const attend_plan *plan);
    void (*progress)(void *user, const attend_progress *p); /* after every update */
    void (*notice)(void *user, const char *text);           /* a message for the user, such as a skipped update */
    bool (*stop)(
        void *user); /* called after every update and regularly while data is read; true: save a checkpoint and end */
} attend_train_events;

typedef enum attend_train_end {
    ATTEND_TRAIN_DONE,     /* all updates or epochs are done */
    ATTEND_TRAIN_PATIENCE, /* options.patience is exhausted */
    ATTEND_TRAIN_STOPPED   /* by events.stop; the checkpoint is that of the last update */
} attend_train_end;

/* Trains, or resumes from the checkpoint, until training ends; events and end may be NULL. An update with a
 * non-finite gradient is skipped; after ten in a row training rolls back to the last checkpoint and continues at half
 * the learning rate; after ten more it is ATTEND_FAILED. The best model is never lost. ATTEND_BAD_USAGE,
 * ATTEND_BAD_DATA, ATTEND_BAD_MODEL (a damaged checkpoint), ATTEND_IO, ATTEND_NO_MEMORY, ATTEND_FAILED. */
int attend_train(const attend_train_options *options, const attend_train_events *events, attend_train_end *end);

/* Whether a model file is a checkpoint of training, which must not be changed: it holds the state of the optimizer
 * besides the model. Does not verify the checksum. ATTEND_IO, ATTEND_BAD_MODEL, ATTEND_NO_MEMORY. */
int attend_is_checkpoint(const char *path, bool *is_checkpoint);

/* ---- the training log ---- */

/* A line of MODEL.log.jsonl; NAN for a number that the line does not have. */
typedef struct attend_training_record {
    double update;
    double loss;                    /* cross-entropy of a training token, since the last such line */
    double rows;                    /* training tokens predicted so far */
    double valid_loss, valid_score; /* of a validation */
    bool better;                    /* the validation found a better model than all before */
} attend_training_record;

typedef struct attend_training_history {
    attend_training_record *records;
    size_t count, room;
} attend_training_history;

/* Reads a training log; lines of another form are skipped. { 0 } is an empty history, which the caller frees also
 * after a failure. ATTEND_IO, ATTEND_NO_MEMORY. */
int attend_training_history_read(attend_training_history *history, const char *path);
void attend_training_history_free(attend_training_history *history);
/* The update of the best model; without validation, of the last one; 0: an empty history. */
double attend_training_history_best(const attend_training_history *history);

#ifdef __cplusplus
}
#endif
#endif
