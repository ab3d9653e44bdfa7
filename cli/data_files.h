/* data_files.h: what the files behind an OPTION_DATA are: pairs, or, for a language model, lines of text alone. */
#ifndef ATTEND_CLI_DATA_FILES_H
#define ATTEND_CLI_DATA_FILES_H

#include "options.h"

/* Fills in list->items from list->names. `name` is the option's, for messages. 0, or an exit code after a message. */
int data_settle(const verb *v, const char *name, pairs_list *list, attend_task task);

#endif
