/* train_options.h: the options of training, shared by the verbs train and compare. */
#ifndef ATTEND_CLI_TRAIN_OPTIONS_H
#define ATTEND_CLI_TRAIN_OPTIONS_H

#include "data_files.h"
#include "options.h"
#include "valid_metric.h"

#include <attend/data_check.h>
#include <attend/trainer.h>

/* Must be the first member of the verb's settings, so that the offsets of train_option_group apply. */
typedef struct train_settings {
    pairs_list train, valid;
    held_out held_out;
    attend_config config;
    int preset, tokens, source_tokens, target_tokens, lowercase, bpe_split;
    long long vocab_size, source_vocab_size, target_vocab_size, min_count, max_length;
    double bpe_dropout, crop, guidance;
    const char *guided_alignment;
    int optimizer, schedule, metric, compute;
    double momentum, weight_decay, rate, clip, smoothing, average;
    long long warmup, accumulate, batch_tokens, epochs, updates, patience, valid_every, save_every, log_every, seed,
        threads, memory, keep, average_checkpoints;
    const char *device;
    bool fresh, quiet, no_check;
    /* Set by fine_tuning_prepare: the configuration is that of a model; so are the vocabularies; and the kinds of its
     * tokens, -1 otherwise. */
    bool has_config, has_vocabularies;
    int kinds[2];
    char *checkpoint;               /* training resumes from this file; NULL: it does not. The verb frees it */
    char basis[120];                /* the amount of data */
    char because[120], chosen[400]; /* the reason, and the options chosen from the data */
    bool is_word_level;             /* the pairs are single words, not sentences */
} train_settings;

/* The options that change the resulting model; files, threads and the like are in the tables of the verbs. */
extern const option_group train_option_group;
/* The options of training and of models that most users need, as the end of a list of verb.main_options. */
#define TRAIN_MAIN_OPTIONS                                                                                             \
    "preset", "tokens", "vocab-size", "learning-rate", "batch-tokens", "epochs", "updates", "patience",                \
        "valid-metric", "seed", "architecture", "attention", "hidden", "layers", "dropout", NULL

/* Those of attend_train_defaults, and a thread for each processor. */
train_settings train_settings_defaults(void);
/* The path of the checkpoint from which training will resume, to be freed; NULL: none, or no memory. */
char *train_settings_checkpoint(const train_settings *s, const char *model);
/* Chooses the device and what depends on it (device_option.h). */
int train_settings_use_device(const verb *v, train_settings *s, const parsed *p);
/* Limits the number of threads to what is useful on this machine. */
void train_settings_limit_threads(train_settings *s);
/* Checks the combination of options. Returns 0, or an exit code after a message. */
int train_settings_check(const verb *v, const train_settings *s, const parsed *p);
/* Chooses sizes from the amount of data, except those that the user set. Returns 0, or an exit code after a message. */
int train_settings_choose(const verb *v, train_settings *s, const parsed *p, const attend_data_check_counts *n);
void train_settings_print_choice(const train_settings *s);
/* The options of attend_train, except the model's path. They borrow from the settings. */
attend_train_options train_settings_options(const verb *v, const train_settings *s, const parsed *p);

#endif
