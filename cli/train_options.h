/* train_options.h: what a training is told on a command line, for the verbs that train on the user's pairs. */
#ifndef ATTEND_CLI_TRAIN_OPTIONS_H
#define ATTEND_CLI_TRAIN_OPTIONS_H

#include "options.h"

#include <attend/data_check.h>
#include <attend/trainer.h>

/* The first member of such a verb's own struct, so that the table fits that too. */
typedef struct train_settings {
    pairs_list train, valid;
    attend_config config;
    int preset, tokens, source_tokens, target_tokens;
    long long vocab_size, source_vocab_size, target_vocab_size, min_count, max_length;
    double bpe_dropout;
    int optimizer, schedule, metric;
    double momentum, weight_decay, rate, clip, smoothing, average;
    long long warmup, accumulate, batch_tokens, epochs, updates, patience, valid_every, save_every, log_every, seed,
        threads, memory, keep, average_checkpoints;
    bool fresh, quiet, no_check;
    char basis[120], because[120], chosen[300]; /* what the data is, and what was chosen for what reason */
    bool of_words;                              /* pairs of words rather than of sentences */
} train_settings;

/* All that makes another model of the same pairs; the rest (files, threads, ..) is in the verbs' own tables. */
extern const option train_option_table[];

train_settings train_settings_defaults(void);
/* More threads than help become as many as do. */
void train_settings_limit_threads(train_settings *s);
/* What does not go together; 0, or an exit code after a message. */
int train_settings_check(const verb *v, const train_settings *s, const parsed *p);
/* Sizes by the data, where the user did not say. 0, or an exit code after a message. */
int train_settings_choose(const verb *v, train_settings *s, const parsed *p, const attend_data_check_counts *n);
void train_settings_print_choice(const train_settings *s);
/* What the library is told; the name of the model is still to be set. The settings and specs must outlive it. */
attend_train_options train_settings_options(const verb *v, const train_settings *s, const parsed *p,
                                            const attend_pairs_spec *train, const attend_pairs_spec *valid);

/* (count + 1); the caller's, to free. NULL: no memory. */
attend_pairs_spec *pairs_list_specs(const pairs_list *list);

#endif
