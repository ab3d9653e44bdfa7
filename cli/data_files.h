/* data_files.h: decides whether the files of an OPTION_DATA hold pairs or, for a language model, lines. */
#ifndef ATTEND_CLI_DATA_FILES_H
#define ATTEND_CLI_DATA_FILES_H

#include "options.h"

/* The validation data that --valid asks for, if it is a part of the training data. */
typedef struct held_out {
    double fraction; /* 0: none; the validation data is files, or there is none */
    uint64_t max_pairs;
    bool is_default; /* --valid is not given: if too few pairs would be held out, none are */
} held_out;

/* Fills list->items from list->names. `name` is that of the option, for messages. Returns 0, or an exit code after a
 * message. */
int data_files_resolve(const verb *v, const char *name, pairs_list *list, attend_task task);
/* The same for --valid, which also accepts N% and none, and has a default. */
int data_files_resolve_valid(const verb *v, const parsed *p, pairs_list *list, attend_task task, held_out *h);
/* Makes `valid` a part of `train`, if that is requested. Prints that there are too few pairs for the default, unless
 * `quiet`. Reads the data, so that streams must have been copied. Returns 0, or an exit code after a message. */
int data_files_hold_out(const verb *v, pairs_list *train, pairs_list *valid, const held_out *h, bool quiet);

/* Whether a name of a file of data stands for a part of the training data: N% or none. */
bool data_name_is_part(const char *name);

#endif
