/* training_log.h: what validation said in the course of a training, from its log (MODEL.log.jsonl). */
#ifndef ATTEND_CLI_TRAINING_LOG_H
#define ATTEND_CLI_TRAINING_LOG_H

#include <stdbool.h>

typedef struct log_point {
    double update, loss; /* cross-entropy a target word */
    bool better;         /* than all before */
} log_point;

typedef struct training_log {
    log_point *points;
    int count, room;
    double last_update;
    double rows_an_update; /* targets' words and ends, in the mean; 0: not known */
} training_log;

/* Zero is empty. Lines of another kind are passed over. ATTEND_IO, ATTEND_NO_MEMORY. */
int training_log_read(training_log *l, const char *path);
void training_log_free(training_log *l);
/* The update of the best model: of the last one, where there is no validation. */
double training_log_best(const training_log *l);

#endif
