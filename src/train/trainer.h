/* trainer.h: the inside of a training run.
 *
 *     trainer.c      the loop
 *     run_lock.c        one process at a time
 *     training_data.c   tokenizers, corpora, the pairs of an update
 *     validation.c     loss and metric on the validation pairs
 *     checkpoint.c   everything a run needs to go on, in one file
 *     average_checkpoints.c the last models, and their mean at the end;  alignment_choice.c  which layer or head aligns
 *     training_log.c      the log;  training_plot.c  the log as a picture */
#ifndef ATTEND_TRAIN_TRAINER_H
#define ATTEND_TRAIN_TRAINER_H

#include "model/model.h"
#include "text/batches.h"
#include "train/training_log.h"
#include <attend/trainer.h>

/* What goes on from update to update besides the arrays; all of it is in a checkpoint. */
typedef struct train_state {
    uint64_t update;
    attend_batch_position position; /* of the next batch */
    uint64_t rows;                  /* target rows seen */
    double loss;                    /* summed since the last line of the log, over .. */
    uint64_t loss_rows;             /* .. so many rows */
    double best;                    /* score of the best model; NAN: none yet */
    uint64_t best_update;
    int since_best, since_fall, falls; /* validations; how often plateau lowered the rate */
    int bad, returns;                  /* updates skipped in a row; how often training went back */
    double rate_share;                 /* halved by each return */
    double baseline;                   /* of REINFORCE */
    double valid_loss, valid_score;    /* of the last validation */
    uint64_t journal;                  /* bytes of the log */
} train_state;

typedef struct trainer {
    attend_train_options o;
    attend_train_events events;
    attend_tokenizer *tokenizers[2]; /* the same twice, if shared */
    attend_model *m;
    attend_team *team;
    attend_optimizer *optimizer;
    attend_corpus *train, *valid;
    attend_batches *batches;
    real **average; /* by parameter; NULL: none */
    journal log;
    train_state s;
    char path[4096];
    int lock;       /* a descriptor; -1: none */
    uint64_t lines; /* encoded so far */
    bool stopped;   /* by events.stop, before the first update */
    /* the pairs of an update: batches one after another */
    int *words[2], *lengths[2];
    size_t word_count[2], word_room[2], pair_count, pair_room;
    attend_pairs pairs;
    int *shard_first, *shard_count;
    int shards, shard_room;
    int rows; /* of the update */
    real *nll;
    size_t nll_room;
    uint64_t updates_per_epoch, updates;
    uint64_t valid_every, save_every, log_every;
    double begin, step_seconds, validation_seconds; /* seconds; the last two of this run */
    uint64_t rows_at_begin, updates_at_begin;
} trainer;

/* "MODEL.suffix"; valid until the next call for this trainer. */
const char *attend_trainer_path(trainer *t, const char *suffix);
void attend_trainer_say(const trainer *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As many updates or epochs as were asked for? */
bool attend_trainer_done(const trainer *t);
/* Whether a validation score is better than that of the best model so far. */
bool attend_trainer_better(const trainer *t, double score);
/* Does it learn from lines alone? And the name of a file of pairs or lines, for messages. */
bool attend_trainer_lines(const trainer *t);
const char *attend_spec_name(const attend_pairs_spec *spec);

/* Were we asked to end? */
bool attend_trainer_stops(const trainer *t);

/* ---- run_lock.c ---- */
int attend_trainer_lock(trainer *t); /* ATTEND_BAD_USAGE if another process has it; removes what killed saves left */
void attend_trainer_unlock(trainer *t);

/* ---- training_data.c ---- */
int attend_trainer_check_files(const trainer *t); /* are all files there? Before an hour is spent on the first */
int attend_trainer_learn(trainer *t);             /* tokenizers, from the training pairs */
int attend_trainer_corpora(trainer *t);           /* both, encoded by the tokenizers */
int attend_trainer_next_pairs(trainer *t);        /* of the next update: moves the position */
void attend_trainer_data_free(trainer *t);

/* ---- validation.c ---- */
int attend_trainer_validate(trainer *t, double *loss, double *score);

/* ---- average_checkpoints.c ---- */
enum { KEPT_SUFFIX = 40 };
/* The update of the i-th of the models that are kept, the last one first, as it is now; 0: there is none. */
uint64_t attend_trainer_kept_update(const trainer *t, int i);
void attend_trainer_kept_suffix(char suffix[KEPT_SUFFIX], uint64_t update);
int attend_trainer_average_last(trainer *t); /* at the end; without options.average_checkpoints, nothing */
/* MODEL.single to MODEL again, if it is there, since training goes on; and without a word, since it begins anew. */
int attend_trainer_put_back(trainer *t);
void attend_trainer_forget_single(trainer *t);

/* ---- alignment_choice.c ---- */
int attend_trainer_choose_map(trainer *t); /* at the end, which layer or head of MODEL aligns, if it has several */

/* ---- checkpoint.c ---- */
int attend_checkpoint_save(trainer *t);
/* ATTEND_OK and *found false if there is none. Leaves the model, its tokenizers and the state in the trainer; what the optimizer remembers
 * is set once it is there, by attend_checkpoint_moments. */
int attend_checkpoint_load(trainer *t, bool *found);
int attend_checkpoint_moments(trainer *t);
/* The state alone, as the checkpoint has it. */
int attend_checkpoint_state(trainer *t);

#endif
