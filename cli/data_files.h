/* data_files.h: decides whether the files of an OPTION_DATA hold pairs or, for a language model, lines. */
#ifndef ATTEND_CLI_DATA_FILES_H
#define ATTEND_CLI_DATA_FILES_H

#include "options.h"

/* Fills list->items from list->names. `name` is that of the option, for messages. Returns 0, or an exit code after a
 * message. */
int data_files_resolve(const verb *v, const char *name, pairs_list *list, attend_task task);

#endif
