/* trainer.h: trains a model from files of pairs or lines, with validation, checkpoints and a log. `attend train` is the
 * command-line interface to it.
 *
 * Task       With config.task ATTEND_TASK_TRANSLATION the files hold pairs; for a language model they hold lines
 *            (pairs_file.h). Files of the wrong kind are ATTEND_BAD_USAGE. A language model has one vocabulary, and
 *            perplexity is its only validation metric.
 * Files      MODEL             the best model by validation; without validation data, the latest. Replaced atomically
 *            MODEL.checkpoint  a model file with optimizer moments, the position in the data and the training state
 *            MODEL.update-N    the last models: as many as `keep` or `average_checkpoints`, whichever is larger
 *            MODEL.single      the best model of a single update, if MODEL is an average of several
 *            MODEL.log.jsonl   the training log, one JSON object per line;  MODEL.svg  its plot
 *            MODEL.lock        locked while MODEL is trained; a second run for the same MODEL is ATTEND_BAD_USAGE
 * Resuming   With the same options and data, training resumes from the checkpoint and gives the same model, to the bit,
 *            as an uninterrupted run. Log lines written after the checkpoint are removed first. If an option or the
 *            data differs, the message names it (ATTEND_BAD_USAGE); with `fresh`, training starts over.
 * Existing   A new run, without a checkpoint, is ATTEND_BAD_USAGE if MODEL, its other models or its log exist, unless
 *            `fresh` is set. A file of another kind (MODEL that is not a model, MODEL.svg that is not a plot) is never
 *            overwritten.
 * Ownership  Options and events are borrowed during the call.
 * Ranks      Several processes, on one machine or on several, train one model: each calls attend_train with the handle of
 *            attend_ranks_join. They read the same files, and the directory of MODEL is the same for all.
 * Threads    The model does not depend on the number of threads. attend_train may be called from any thread; it
 *            creates its own workers. */
#ifndef ATTEND_TRAINER_H
#define ATTEND_TRAINER_H

#include <attend/metric.h>
#include <attend/pairs_file.h>
#include <attend/ranks.h>
#include <attend/text.h>
#include <attend/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The score by which validation compares models. */
typedef enum attend_valid_metric {
    ATTEND_VALID_LOSS, /* perplexity: exp of the mean cross-entropy per target token */
    ATTEND_VALID_BLEU,
    ATTEND_VALID_CHRF,
    ATTEND_VALID_TOKEN_ACCURACY,
    ATTEND_VALID_WER, /* edit distance in words of the target, such as phonemes that are separated by spaces */
    ATTEND_VALID_EXACT,
    ATTEND_VALID_CER,       /* the same in characters */
    ATTEND_VALID_LINE_ERROR /* share of wrong lines: the word error, where a line is a word */
} attend_valid_metric;

/* Names of the values of each enumeration, in order; NULL after the last. */
extern const char *const attend_optimizer_names[], *const attend_schedule_names[], *const attend_valid_metric_names[];

/* What follows MODEL in the names of the other files of training; %d stands for a number. NULL after the last. */
extern const char *const attend_training_suffixes[];

enum { ATTEND_MAX_AVERAGED_CHECKPOINTS = 1000 };

typedef struct attend_train_options {
    /* (train_count), (valid_count); valid may be NULL. attend_pairs_hold_out makes `valid` a part of `train`. */
    const attend_pairs_spec *train, *valid;
    int train_count, valid_count;
    const char *model;

    attend_config config; /* its vocabulary sizes are ignored: they follow from the data */
    /* source, target; with config.shared_vocab and for a language model only the first is used */
    attend_tokenizer_options tokens[2];
    double bpe_dropout;
    /* probability of training on the end of a pair instead of the whole (docs/training.md), for pairs of words; not with
     * bpe_dropout */
    double crop;
    int max_length; /* maximum tokens of a side; longer pairs are left out */
    /* Guided alignment (docs/alignment.md): "auto": the attention learns links of the statistical aligner (aligner.h),
     * which is trained on the training pairs first; otherwise a file of links between words, one line for each line of
     * the training files, those that are held out included; NULL: none. Not with bpe_dropout or crop. A new model with
     * config.alignment_head needs it. */
    const char *guided_alignment;
    double guidance; /* the weight of its loss, per target token: see attend_loss_options */

    attend_optimizer_options optimizer;
    attend_schedule schedule;
    double clip;            /* maximum norm of the gradient; 0: none */
    double label_smoothing; /* see attend_cross_entropy */
    double average;         /* decay of a moving average of the weights, which is validated and saved; 0: none */
    int accumulate;         /* batches per update, at most 10000 */
    int batch_tokens;       /* maximum tokens of a batch */
    int shard_tokens;       /* maximum tokens of a shard, the work of one thread: affects rounding, memory and speed */
    uint64_t updates, epochs; /* maximum numbers; 0: no limit */
    int patience;             /* training ends after this many validations without a better model; 0: never */
    /* intervals in updates; 0: the default. valid_every: about an epoch (50 to 1,000 updates), but at least 8
     * validations if the number of updates is limited, and when training resumes that of the checkpoint; save_every: a
     * given valid_every, else about an epoch; log_every: 50 */
    uint64_t valid_every, save_every, log_every;
    attend_valid_metric valid_metric;
    uint64_t seed;
    attend_compute_precision compute; /* of matrix products; a run resumes with the same one */
    int threads;
    /* the processes that train together; NULL: this one alone. All have the same options and files, except for threads and
     * memory; rank 0 writes the files. The model does not depend on the number of ranks */
    attend_ranks *ranks;
    bool mixed_ranks; /* allow machines whose gradients differ in the last bits: the model then depends on them */
    size_t memory;    /* maximum in bytes; the size of shards and the threads are reduced to fit; 0: no limit */
    int keep;         /* how many MODEL.update-N to keep */
    /* at the end, the average of this many of the last models becomes MODEL if it is better; 0: none */
    int average_checkpoints;
    /* Fine-tuning: begin with the weights of this model, which is not changed. `config` must be its configuration, except
     * for vocabulary sizes and fields of training (attend_config_field.training_only). NULL: random weights. When
     * training resumes, the model is not read again. */
    const char *init_from;
    /* With init_from: false: use its vocabularies and ignore `tokens`. true: learn vocabularies from the data; tokens
     * that are in its vocabularies, by name, start with its embeddings and output weights, the others at random. */
    bool new_vocab;
    const char *log; /* NULL: MODEL.log.jsonl */
    bool fresh;      /* start over: ignore the checkpoint, and replace the model and log of another training */
    /* a description of the data, if options were chosen from it; compared first when training resumes. NULL: none */
    const char *basis;
} attend_train_options;

/* Defaults for everything but train and model. */
attend_train_options attend_train_defaults(void);

/* ---- sizes ---- */

typedef enum attend_preset {
    ATTEND_PRESET_NONE,            /* the size that suits the amount of data */
    ATTEND_PRESET_TINY,            /* the smallest model, for any data */
    ATTEND_PRESET_G2P,             /* characters to phonemes separated by spaces */
    ATTEND_PRESET_TRANSLATE_SMALL, /* the size that suits the amount of data, at most a medium one */
    ATTEND_PRESET_TRANSLATE        /* one size larger than ATTEND_PRESET_NONE */
} attend_preset;
extern const char *const attend_preset_names[]; /* in order; NULL after the last */

/* The amount of data: usable pairs, and the words, characters and Hangul syllables (precomposed) of source and target.
 * For lines of a language model, those of the source are 0. */
typedef struct attend_data_size {
    uint64_t pairs, words[2], characters[2], syllables[2];
} attend_data_size;

/* Options that suit an amount of data. */
typedef struct attend_training_sizes {
    bool is_word_level;                /* pairs (or lines) are single words, not sentences */
    uint64_t data_tokens;              /* of the larger side */
    attend_token_kind tokens[2];       /* source, target; for lines, both are the same */
    int hidden, embedding, vocab_size; /* embedding 0: as wide as hidden; vocab_size: for BPE */
    double dropout, label_smoothing;
    int batch_tokens;
    uint64_t epochs;        /* maximum, without validation pairs */
    uint64_t cosine_epochs; /* a cosine schedule over this many epochs is suitable; 0: the default schedule */
    double average, crop;   /* see attend_train_options */
    /* 0: the architecture does not use the option, or its default is suitable */
    int layers, heads, feed_forward_width;
    double learning_rate; /* of the cosine schedule, if there is one */
    uint64_t warmup;
} attend_training_sizes;
/* kinds: the attend_token_kind of each side, or -1 to choose it; NULL: choose both. */
attend_training_sizes attend_training_sizes_for(attend_preset preset, attend_architecture architecture,
                                                const attend_data_size *data, const int kinds[2]);

/* The state of training after an update. */
typedef struct attend_progress {
    uint64_t update, updates; /* updates: expected total; 0: unknown */
    uint64_t epoch;           /* from 0 */
    double part;              /* the fraction of the epoch that is done, 0 to 1 */
    double loss;              /* mean cross-entropy per target token since the last line of the log */
    double rate, norm;        /* learning rate; norm of the gradient */
    double tokens_per_second;
    /* seconds_left: to the last update that options allow; < 0: unknown. min_seconds_left: until patience ends training
     * if no validation finds a better model; < 0: patience does not end it. */
    double seconds, seconds_left, min_seconds_left;
    double step_seconds, validation_seconds; /* parts of `seconds` */
    double valid_loss, valid_score;          /* of the last validation; NAN: none yet */
    double best;                             /* valid_score of the best model; NAN: none yet */
    bool validated, saved, better;           /* after this update; better: a new best model */
} attend_progress;

/* Describes a run before its first update. */
typedef struct attend_plan {
    size_t parameters;
    size_t bytes;                          /* estimated peak memory */
    uint64_t pairs, valid_pairs, left_out; /* left_out: training pairs that are empty or too long */
    uint64_t source_tokens, target_tokens;
    attend_task task;                    /* for a language model, pairs are lines */
    uint64_t updates_per_epoch, updates; /* expected; updates: the total, 0: unknown */
    uint64_t epochs;                     /* that options allow; 0: any number */
    uint64_t valid_every, save_every;
    int source_vocab, target_vocab;
    attend_token_kind source_kind, target_kind; /* of the tokens */
    bool lowercase[2];                          /* source, target: texts are lower-cased */
    bool has_symbols[2];                        /* words are phonemes and the like: the other side has single words */
    double rate;                                /* the next learning rate, or that at the end of the warmup */
    attend_schedule schedule;                   /* how it changes */
    bool resumed;
    uint64_t update; /* of the checkpoint; 0: a new run */
    bool held_out;   /* the validation pairs are held out of the training files (attend_pairs_hold_out) */
} attend_plan;

/* Callbacks. They are called on the thread that called attend_train; each may be NULL. */
typedef struct attend_train_events {
    void *user;
    void (*plan)(void *user, const attend_plan *plan);
    void (*progress)(void *user, const attend_progress *p); /* after every update */
    void (*notice)(void *user, const char *text);           /* a message for the user, such as a skipped update */
    /* called after every update and regularly while data is read; true: save a checkpoint and end */
    bool (*stop)(void *user);
} attend_train_events;

typedef enum attend_train_end {
    ATTEND_TRAIN_DONE,     /* all updates or epochs are done */
    ATTEND_TRAIN_PATIENCE, /* options.patience is exhausted */
    ATTEND_TRAIN_STOPPED   /* by events.stop */
} attend_train_end;

/* Trains, or resumes from the checkpoint, until training ends; events and end may be NULL. An update with a
 * non-finite gradient is skipped; after ten in a row training rolls back to the last checkpoint and continues at half
 * the learning rate. If this happens again, training has diverged: ATTEND_FAILED, and MODEL is still the best model, if
 * there is one. Training that ends without having been stopped has written MODEL; if MODEL was deleted meanwhile, it is
 * saved again as well as possible. Other failures: ATTEND_BAD_USAGE, ATTEND_BAD_DATA, ATTEND_BAD_MODEL (a damaged
 * checkpoint), ATTEND_IO, ATTEND_NO_MEMORY. */
int attend_train(const attend_train_options *options, const attend_train_events *events, attend_train_end *end);

/* Sets *is_checkpoint to true if a model file is a training checkpoint. A checkpoint must not be modified, because
 * training resumes from it. Does not verify the checksum. ATTEND_BAD_MODEL: not a model at all; ATTEND_IO,
 * ATTEND_NO_MEMORY. */
int attend_is_checkpoint(const char *path, bool *is_checkpoint);
/* Gets the value, as text, that a checkpoint's training has for a field of the configuration or for an option of
 * training (by the name of the command line). The text is empty if the checkpoint does not hold the option, or if `size`
 * is too small; 64 suffices. Does not verify the checksum. ATTEND_IO, ATTEND_BAD_MODEL, ATTEND_NO_MEMORY. */
int attend_checkpoint_option(const char *path, const char *name, char *text, size_t size);
/* Gets the fraction of pairs that a checkpoint's training holds out, and their maximum number, so that training can
 * resume with the same parts; *fraction is 0 if it holds out none. Does not verify the checksum. ATTEND_IO,
 * ATTEND_BAD_MODEL, ATTEND_NO_MEMORY. */
int attend_checkpoint_held_out(const char *path, double *fraction, uint64_t *max_pairs);

/* ---- the training log ---- */

/* A line of MODEL.log.jsonl; NAN: the line does not have this number. */
typedef struct attend_training_record {
    double update;
    double loss;                    /* mean cross-entropy per target token since the previous such line */
    double rows;                    /* target tokens, ends included, trained on so far */
    double valid_loss, valid_score; /* of a validation */
    bool better;                    /* the validation found a new best model */
} attend_training_record;

typedef struct attend_training_history {
    attend_training_record *records;
    size_t count, capacity;
} attend_training_history;

/* Appends the lines of a training log to *history; lines without an update are skipped. { 0 } is an empty history. The
 * caller frees it, also after a failure. ATTEND_IO, ATTEND_NO_MEMORY. */
int attend_training_history_read(attend_training_history *history, const char *path);
void attend_training_history_free(attend_training_history *history);
/* The update of the best model or, without validation, the last update; 0: the history is empty. */
double attend_training_history_best(const attend_training_history *history);

#ifdef __cplusplus
}
#endif
#endif
