/* training_run.h: one run of attend_train: its parts, its state, and the files of src/train that work on them.
 *
 *     training_run.c        begin or resume, the loop, the end
 *     training_options.c    defaults, names and checks of options
 *     training_plan.c       intervals, memory, the size of shards
 *     training_data.c       tokenizers and corpora;  update_batch.c  the pairs of an update
 *     guided_links.c        the links of guided alignment
 *     fine_tuning.c         the weights of an existing model, to begin with
 *     training_update.c     gradient and step;  weight_average.c  the moving average of the weights
 *     rank_gradient.c       with several ranks: the sum of their gradients;  rank_parameters.c  their weights
 *     rank_check.c          at the start: whether all ranks compute the same;  rank_report.c  what they have
 *     validation.c          loss and metric on the validation pairs, and what follows from them
 *     divergence.c          skipped updates and rollback after non-finite gradients
 *     missing_model.c       a run that ends has written MODEL, or fails
 *     model_origin.c        which training a model file comes from
 *     existing_files.c      refuses to overwrite other files and other trainings
 *     training_files.c      the model files of a run;  run_lock.c  one process at a time
 *     checkpoint.c          everything a run needs to resume, in one file
 *     checkpoint_average.c  at the end, the mean of the last models
 *     alignment_choice.c    at the end, the attention layer or head that aligns best
 *     training_log.c        the log;  training_history.c  reads it;  training_plot.c  plots it */
#ifndef ATTEND_TRAIN_TRAINING_RUN_H
#define ATTEND_TRAIN_TRAINING_RUN_H

#include "model/model.h"
#include "text/batches.h"
#include "text/seen_words.h"
#include "train/crops.h"
#include "train/training_log.h"
#include "train/update_batch.h"
#include "train/weight_average.h"
#include <attend/trainer.h>

/* What changes from update to update, besides arrays; all of it is in a checkpoint. */
typedef struct training_state {
    uint64_t update;
    attend_batch_position position; /* of the next batch */
    uint64_t rows;                  /* target tokens, ends included, trained on so far */
    double loss;                    /* sum over loss_rows rows, since the last line of the log */
    uint64_t loss_rows;
    double best; /* score of the best model; NAN: none yet */
    uint64_t best_update;
    int validations_since_best;
    int validations_since_reduction, rate_reductions; /* of the learning rate, by the plateau schedule */
    int skipped_updates;                              /* in a row, because of non-finite gradients */
    int rollbacks;                                    /* to the last checkpoint */
    double rate_factor;                               /* of the learning rate: halved by each rollback */
    double baseline;                                  /* of REINFORCE */
    double valid_loss, valid_score;                   /* of the last validation */
    uint64_t log_bytes;
} training_state;

/* In updates; fixed before the first one. */
typedef struct training_intervals {
    uint64_t updates_per_epoch;
    uint64_t total_updates;                      /* 0: unknown */
    uint64_t valid_every, save_every, log_every; /* valid_every: that of a checkpoint, before the plan */
    uint64_t scheduled;                          /* the updates of the schedule of a checkpoint; 0: it has none */
} training_intervals;

/* For progress reports: this process only. */
typedef struct training_clock {
    double start, step_seconds, validation_seconds;
    uint64_t rows_at_start, updates_at_start;
} training_clock;

typedef struct training_run {
    attend_train_options options;
    attend_train_events events;
    attend_tokenizer *tokenizers[2]; /* the same one twice, if the vocabulary is shared */
    attend_model *model;
    struct attend_tensor_file *checkpoint; /* in memory, while its parts are loaded; otherwise NULL */
    attend_team *team;
    attend_optimizer *optimizer;
    attend_corpus *train, *valid; /* valid: NULL without validation data */
    attend_batches *batches;
    attend_crops *crops;        /* NULL: whole pairs */
    attend_guided_links *links; /* of the training pairs; NULL without guided alignment */
    update_batch batch;
    weight_average average; /* empty without options.average */
    training_log log;
    training_state state;
    training_intervals intervals;
    training_clock clock;
    attend_word_set *seen; /* the words of the training sources, while they are read; otherwise NULL */
    uint64_t lines_read;   /* while data is encoded */
    bool changes_device;   /* it resumes from a checkpoint of another kind of device */
    bool stopped;          /* by events.stop, before the first update */
    bool has_saved;        /* this run, or the run that it resumes, has saved MODEL */
    /* the checksum of the model that options.fresh lets this training replace, until it has saved its own; "": none */
    char replaces[17];
    uint64_t id;     /* of this training, in its checkpoint and log; 0: an earlier version began it */
    int lock;        /* file descriptor; -1: none */
    char path[4096]; /* what attend_training_path returned last */
} training_run;

/* Sends a message to the user. */
void attend_training_notice(const training_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether events.stop returns true. */
bool attend_training_stop_requested(const training_run *run);
/* Whether training ends after the last update because a rank was asked to stop: the answer is the same on all ranks. */
bool attend_training_is_stopping(const training_run *run);
/* Whether this process writes files: rank 0 does, and all others only compute. */
bool attend_training_writes(const training_run *run);
/* Whether all updates or epochs of the options are done. */
bool attend_training_is_done(const training_run *run);
double attend_training_time(void); /* seconds, by a monotonic clock */

/* ---- training_options.c ---- */
int attend_training_check_options(const attend_train_options *options);
/* options.shard_tokens, or what it is by default on this device. */
int attend_training_shard_tokens(const attend_train_options *options);
/* Checks the configuration before data is read, and lowers max_length to what its positions allow. */
int attend_training_check_config(training_run *run);
bool attend_training_is_language_model(const training_run *run);

/* ---- training_plan.c ---- */
/* Fills the plan and the run's intervals; reduces shards and threads to what options.memory allows. With
 * plan->resumed the size of shards is the checkpoint's. ATTEND_BAD_USAGE if even the smallest shards do not fit. */
int attend_training_plan(training_run *run, attend_plan *plan);
/* Whether a model of so many parameters can be trained within options.memory and the memory of the machine; checked
 * before the model is created, or when it has been loaded from a checkpoint. Reduces threads to what the machine has
 * memory for. ATTEND_NO_MEMORY, ATTEND_BAD_USAGE. */
int attend_training_check_memory(training_run *run, size_t parameters, bool is_loaded);

/* ---- training_data.c ---- */
int attend_training_check_data_files(const training_run *run); /* whether all files can be opened */
int attend_training_learn_tokenizers(training_run *run);
/* Reads the tokenizers that a model has. */
int attend_training_read_tokenizers(training_run *run, const attend_model *m);
/* Encodes both corpora. A new model learns which words the training data has. */
int attend_training_read_data(training_run *run);
/* Before: the words of the model that training begins with. */
int attend_training_copy_words(training_run *run, const attend_model *base);
void attend_training_data_free(training_run *run);
const char *attend_pairs_spec_name(const attend_pairs_spec *spec); /* a file name, for messages */

/* ---- fine_tuning.c ---- */
/* Loads options.init_from and, unless new ones are learned, its tokenizers. *base is the caller's, also on failure.
 * ATTEND_BAD_USAGE if it is quantised or has another configuration. */
int attend_training_open_base(training_run *run, attend_model **base);
/* Copies the weights of the base into the new model, and reports how many tokens they have in common. */
int attend_training_take_weights(training_run *run, const attend_model *base);

/* ---- training_update.c ---- */
/* One update. *norm is not finite if the update was skipped. */
int attend_training_update(training_run *run, double *norm, double *rate);

/* ---- rank_check.c ---- */
/* Compares version, kernels, data, options, weights and a gradient with those of rank 0. ATTEND_BAD_USAGE, on all ranks, if
 * they differ: the message names the rank and what differs. */
int attend_training_check_ranks(training_run *run);

/* ---- rank_report.c ---- */
/* Tells the user what the ranks have: threads, cores, shards and network, and what slows them down. seconds_per_token: of
 * the gradient of a shard on one thread. */
int attend_training_report_ranks(training_run *run, double seconds_per_token);

/* ---- validation.c ---- */
/* Loss and score of the model as it is. The score is NAN if the loss is not finite. */
int attend_training_measure(training_run *run, double *loss, double *score);
/* Validates, logs, saves a better model and lowers the learning rate on a plateau. *diverged: the loss is not finite,
 * whatever the metric. */
int attend_training_validate(training_run *run, bool *better, bool *diverged);
/* Whether a validation score is better than that of the best model so far. */
bool attend_training_is_better(const training_run *run, double score);

/* ---- divergence.c ---- */
/* After an update with a non-finite gradient. ATTEND_FAILED if training has diverged. */
int attend_training_skip_update(training_run *run, double norm);
/* After a validation without a finite loss, or a last update without one: rolls back. ATTEND_FAILED if training has
 * diverged. */
int attend_training_reject_loss(training_run *run);
/* Whether the loss of the last update, which may have been skipped, is finite. */
bool attend_training_has_finite_loss(const training_run *run);
bool attend_training_has_finite_weights(const training_run *run);
/* ATTEND_FAILED, with a message that says what has become of MODEL and what to do. */
int attend_training_diverged(const training_run *run, const char *reason);

/* ---- missing_model.c ---- */
/* If MODEL was saved but does not exist any more, saves it again, as well as it can. */
int attend_training_restore_model(training_run *run);
/* At the end of training: restores a missing MODEL. ATTEND_FAILED if training diverged: the weights are non-finite, or
 * no validation had a finite score, so that there is no model. */
int attend_training_require_model(training_run *run);

/* ---- existing_files.c ---- */
/* Before anything is written: whether training can write its files, without overwriting files of another kind. */
int attend_training_check_files(training_run *run);
/* Before a run that resumes replaces MODEL: ATTEND_BAD_USAGE if that is a model of another training. */
int attend_training_check_resumed(training_run *run);
/* Before a new run without options.fresh: ATTEND_BAD_USAGE if it would overwrite the model of another training. */
int attend_training_check_new(training_run *run);

/* ---- model_origin.c ---- */
/* Attaches the id of the run to its model. */
int attend_training_mark_model(training_run *run);
/* Sets run->replaces from MODEL, if it exists. */
void attend_training_note_replaced(training_run *run);
/* Whether a model file comes from another training than the run that resumes. */
int attend_training_check_origin(training_run *run, const char *path, bool *is_other);

/* ---- training_files.c ---- */
#define LOG_SUFFIX ".log.jsonl"
enum { KEPT_SUFFIX = 40 };
/* "MODEL" + suffix; valid until the next call for this run. */
const char *attend_training_path(training_run *run, const char *suffix);
/* Saves the model, with averaged weights if there are any, as MODEL + suffix. */
int attend_training_save_model(training_run *run, const char *suffix);
/* Copies the weights of a model of the same configuration into the run's own model, to which the contexts of the team
 * refer. */
void attend_training_copy_weights(training_run *run, const attend_model *from);
/* Saves MODEL.update-N and removes the one that is now too old. */
int attend_training_save_kept(training_run *run);
/* The update of the i-th most recent kept model, from 0; 0: there is none. */
uint64_t attend_training_kept_update(const training_run *run, int i);
void attend_training_kept_suffix(char suffix[KEPT_SUFFIX], uint64_t update);
/* Copies MODEL to MODEL.single, if it exists. */
int attend_training_keep_single(training_run *run);
/* Copies a model to MODEL. */
int attend_training_restore_from(training_run *run, const char *path);
/* Moves MODEL.single back to MODEL, if it exists, because training resumes. */
int attend_training_restore_single(training_run *run);
void attend_training_remove_single(training_run *run);

/* ---- run_lock.c ---- */
/* Locks the model and removes stale temporary files. ATTEND_BAD_USAGE if another process has the lock. */
int attend_training_lock(training_run *run);
void attend_training_unlock(training_run *run);

/* ---- checkpoint.c ---- */
/* Sets run->id, which depends on data, options, configuration and initial weights. */
int attend_checkpoint_identify(training_run *run);
/* A fingerprint of all options and data that must be the same when training resumes, and on all ranks. */
int attend_checkpoint_hash_options(const training_run *run, uint64_t *hash);
int attend_checkpoint_save(training_run *run);
/* Reads the checkpoint into memory; sets the model, its tokenizers and the state. *found is false, and the status
 * ATTEND_OK, if there is no checkpoint. */
int attend_checkpoint_load(training_run *run, bool *found);
/* The second part, when the optimizer exists: checks that options and data are those of the checkpoint, and sets
 * optimizer moments and averaged weights. */
int attend_checkpoint_load_optimizer(training_run *run);
/* Both parts again, into the same model: a rollback. */
int attend_checkpoint_reload(training_run *run);

/* ---- checkpoint_average.c ---- */
/* At the end of training; nothing without options.average_checkpoints. */
int attend_training_average_checkpoints(training_run *run);

/* ---- alignment_choice.c ---- */
/* At the end of training: stores in MODEL which attention layer or head aligns, if there are several. */
int attend_training_choose_alignment(training_run *run);

#endif
