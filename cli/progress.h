/* progress.h: the progress of a training run: a status line that is redrawn on a terminal, else a plain line per
 * interval. */
#ifndef ATTEND_CLI_PROGRESS_H
#define ATTEND_CLI_PROGRESS_H

#include "valid_metric.h"

#include <attend/trainer.h>
#include <stdio.h>

typedef struct progress_view {
    FILE *to;
    bool quiet, terminal, open; /* open: there is a status line, which will be erased */
    bool planned;               /* the data is read; stopping leaves a checkpoint */
    score_style metric;
    bool has_valid;
    double last;         /* seconds at the last status line */
    uint64_t per_epoch;  /* updates */
    uint64_t first;      /* update of the first report */
    double first_second; /* seconds at the first report */
    bool estimated;      /* the estimate of the time has been printed */
    bool rate_changes;   /* with every update: lines that stay show the learning rate */
    attend_progress now; /* the last report */
    uint64_t shown;      /* the update of the last line that stays */
} progress_view;

progress_view progress_new(FILE *to, bool quiet, score_style metric, bool has_valid);
void progress_end(progress_view *v);
/* "2h05", "3m07", "12s" */
void progress_time_text(double seconds, char *text, size_t size);

/* attend_train_events */
void progress_plan(void *user, const attend_plan *plan);
void progress_show(void *user, const attend_progress *p);
void progress_message(void *user, const char *text);

#endif
