/* training_options.h: the options of attend.train, by the names that `attend train` gives them. */
#ifndef ATTEND_PYTHON_TRAINING_OPTIONS_H
#define ATTEND_PYTHON_TRAINING_OPTIONS_H

#include "data_files.h"

#include <attend/data_check.h>
#include <attend/trainer.h>

typedef struct training_settings {
    attend_train_options options;
    data_files train, valid;
    core_paths model, init_from, log, guided_alignment;
    PyObject *given;  /* the options of the caller, a dict of str to str; borrowed */
    PyObject *chosen; /* those that were chosen from the data, a dict of str to str */
    char *member;     /* with ensemble > 1: the model that is trained first */
    char *checkpoint; /* training resumes from it; NULL: it does not */
    int ensemble;     /* members; 1: a single model */
    int preset, lowercase, metric, bpe_split;
    int requested[2];  /* the kinds of tokens that were given, or those of init_from; -1: none */
    int vocab_size[2]; /* of a side; -1: not given */
    bool has_config, has_vocabularies, is_word_level;
    char basis[120];
} training_settings;

/* Reads the options, a dict of str to str. False: an exception is set. training_settings_free is needed in both cases. */
bool training_settings_read(training_settings *s, PyObject *model, PyObject *options);
/* Chooses the options that were not given from the amount of data. */
bool training_settings_choose(training_settings *s, const attend_data_check_counts *n);
/* Completes `options` after the choice. */
void training_settings_finish(training_settings *s);
void training_settings_free(training_settings *s);

#endif
