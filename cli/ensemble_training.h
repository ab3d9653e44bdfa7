/* ensemble_training.h: the files of the training of an ensemble: MODEL, and MODEL.members/1, 2, ... with the files of the
 * training of each member. MODEL is written when all members are trained. The Python package compiles this file too:
 * messages name no options of the command. */
#ifndef ATTEND_CLI_ENSEMBLE_TRAINING_H
#define ATTEND_CLI_ENSEMBLE_TRAINING_H

#include <stdbool.h>

/* The path of a member, from 0, which the caller frees; NULL after a message of the library: no memory. */
char *ensemble_member_path(const char *model, int member);

/* Checks that MODEL may be written, creates the directory and locks it until ensemble_end, or until the process ends.
 * fresh: removes what an earlier training left. */
int ensemble_begin(const char *model, bool fresh, int *held);
void ensemble_end(int *held);
/* Writes the members to MODEL. */
int ensemble_write(const char *model, int count);

#endif
