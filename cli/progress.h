/* progress.h: what a person sees of a training: one line that is written over on a terminal, a line now and then otherwise. */
#ifndef ATTEND_CLI_PROGRESS_H
#define ATTEND_CLI_PROGRESS_H

#include <attend/trainer.h>
#include <stdio.h>

typedef struct progress_view {
    FILE *to;
    bool quiet, terminal, open; /* open: a line is being written over */
    bool planned;               /* there was a plan: data is read, and a checkpoint will be there */
    const char *metric;
    bool has_valid;
    double last;         /* seconds at the last line */
    uint64_t per_epoch;  /* updates */
    uint64_t first;      /* update of the first report */
    double first_second; /* and when it came */
    bool estimated;      /* the time was told */
    attend_progress now; /* as it was told last */
} progress_view;

progress_view progress_new(FILE *to, bool quiet, const char *metric, bool has_valid);
void progress_end(progress_view *v);
/* "2h05", "3m07", "12s" */
void progress_time_text(double seconds, char *text, size_t size);

/* attend_train_events */
void progress_plan(void *user, const attend_plan *plan);
void progress_show(void *user, const attend_progress *p);
void progress_say(void *user, const char *text);

#endif
