/* train_report.h: what a user wants to know when training has ended: scores of the best model on the validation pairs,
 * its worst validation examples, and what to do next. */
#ifndef ATTEND_CLI_TRAIN_REPORT_H
#define ATTEND_CLI_TRAIN_REPORT_H

#include "train_options.h"

#include <attend/trainer.h>

/* Prints the report about a model. plugins: the score plug-ins that reading it may need. last: the last report of
 * training; its score is that of the best model. Translates
 * validation pairs; a signal ends that. All ranks of a job call it: they divide the translating, and rank 0 prints. Returns
 * 0, or an exit code after a message. */
int train_report(const verb *v, const train_settings *s, const char *model, const texts_list *plugins,
                 const attend_progress *last);

#endif
