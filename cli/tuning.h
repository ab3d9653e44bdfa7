/* tuning.h: the search of attend tune: candidates around the defaults, trained in rounds of increasing time.
 *
 * Candidates  The first one is the defaults, with the options that the user gave. The others differ from it at random in
 *             sizes and rates; the same seed, options and data give the same list.
 * Rounds      Successive halving (Jamieson and Talwalkar 2016): a group of candidates shares the time equally; the best
 *             third goes on to the next round, for as much time in all, until one is left. If there is time left, the
 *             next group begins.
 * Files       Those of a comparison (comparison.h), and DIRECTORY/NAME/rounds: for every round that a candidate has
 *             completed its score and its time. Resuming repeats the decisions from these files. */
#ifndef ATTEND_CLI_TUNING_H
#define ATTEND_CLI_TUNING_H

#include "comparison.h"

/* Adds `count` candidates, or fewer if there are no more. Returns 0, or an exit code after a message. */
int tuning_add_candidates(comparison *c, const attend_data_check_counts *counts, int count);

/* Runs the rounds within `seconds` of training and testing. *stopped: a signal was caught; the same call resumes.
 * *best: the index of the best candidate; -1: none has a score. */
int tuning_run(comparison *c, double seconds, bool *stopped, int *best);

#endif
