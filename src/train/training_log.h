/* training_log.h: the log of a training, a JSON object a line. It is cut back to where a checkpoint was made before training goes on from there,
 * so that an interruption leaves no trace in it. */
#ifndef ATTEND_TRAIN_TRAINING_LOG_H
#define ATTEND_TRAIN_TRAINING_LOG_H

#include <attend/json.h>
#include <stdint.h>
#include <stdio.h>

typedef struct journal {
    FILE *file;
    char path[4096];
    uint64_t bytes; /* written so far */
} journal;

/* Opens it and forgets what is behind its first `bytes`; j->bytes is less if it has lost some. ATTEND_IO. */
int attend_training_log_open(journal *j, const char *path, uint64_t bytes);
void attend_training_log_close(journal *j);

/* Begins a line, a JSON object with the number of updates in it, and returns the writer for its other values. */
attend_json_writer attend_training_log_begin(journal *j, uint64_t update);
/* Ends the line and hands it to the system. ATTEND_IO. */
int attend_training_log_end(journal *j, attend_json_writer *w);
/* To the disk, before a checkpoint speaks of it. */
int attend_training_log_flush(journal *j);

/* ---- training_plot.c ---- */
/* Plots the loss of training and validation and the validation score over updates. A log without numbers makes no picture. */
int attend_training_plot_write(const char *log_path, const char *svg_path, const char *title);

#endif
