/* training_choice.h: chooses the options of training that were not given from the amount of data.
 *
 * Purpose    `attend train` without options trains a model that suits its data. attend_training_sizes_for (trainer.h) says
 *            which sizes suit an amount of data; attend_training_choose applies them to the options that were not given,
 *            and keeps those of a checkpoint when training resumes. Programs with other options than the command's use
 *            it in the same way: they name options and give values as text, as on the command line.
 * Ownership  All arguments are the caller's; nothing is kept.
 * Threads    No shared state. */
#ifndef ATTEND_TRAINING_CHOICE_H
#define ATTEND_TRAINING_CHOICE_H

#include <attend/data_check.h>
#include <attend/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was given. Names of options are those of the command line: "hidden", "learning-rate". */
typedef struct attend_training_request {
    attend_preset preset;
    attend_task task;
    attend_architecture architecture;
    attend_window window;
    bool shared_vocab;
    int tokens[2];                       /* the attend_token_kind of each side, or -1 to choose it */
    bool has_config;                     /* fine-tuning: the configuration is that of a model */
    bool has_vocabularies;               /* fine-tuning: the vocabularies are those of a model */
    bool has_validation;                 /* there is validation data */
    bool has_guided_alignment;           /* links guide the attention, for which pairs stay whole */
    double label_smoothing, bpe_dropout; /* the values if nothing is chosen */
    uint64_t updates;                    /* maximum; 0: no limit */
    const char *checkpoint;              /* the file from which training will resume; NULL: it will not */
    void *user;
    bool (*given)(void *user, const char *name); /* whether the option was given */
    /* sets an option that was not given; returns a status, which ends the choice if it is not ATTEND_OK */
    int (*choose)(void *user, const char *name, const char *value);
} attend_training_request;

typedef struct attend_training_choice {
    attend_token_kind tokens[2]; /* source, target */
    bool is_word_level;          /* pairs (or lines) are single words, not sentences */
    uint64_t data_tokens;        /* of the larger side */
    char basis[120];             /* the amount of data, for attend_train_options.basis */
} attend_training_choice;

/* The amount of the data that was checked; zero if n is NULL. */
attend_data_size attend_data_size_of(const attend_data_check_counts *n);

/* Calls `choose` for the options that suit the data and were not given, in a fixed order. When training resumes, the value
 * is that of the checkpoint; an option that an older checkpoint does not hold is not chosen. The status of `choose`;
 * ATTEND_BAD_USAGE. */
int attend_training_choose(const attend_training_request *request, const attend_data_size *data,
                           attend_training_choice *out);

/* The validation data of a training for which none is given: this fraction of the training data, at most so many pairs, if
 * there are at least so many (attend_pairs_try_hold_out). */
#define ATTEND_HELD_OUT_FRACTION 0.1
enum { ATTEND_HELD_OUT_MAX_PAIRS = 2000, ATTEND_HELD_OUT_MIN_PAIRS = 5 };

#ifdef __cplusplus
}
#endif
#endif
