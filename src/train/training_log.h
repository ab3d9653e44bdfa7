/* training_log.h: the training log, one JSON object per line. Before training resumes from a checkpoint, the log is
 * truncated to its size at that checkpoint, so that an interruption leaves no trace in it. */
#ifndef ATTEND_TRAIN_TRAINING_LOG_H
#define ATTEND_TRAIN_TRAINING_LOG_H

#include <attend/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct training_log {
    FILE *file;
    char path[4096];
    uint64_t bytes; /* written so far */
    bool is_stream; /* a pipe or a device: it is only written, and never read */
} training_log;

/* The training that opens a log. Its id is in the first line of the log, under LOG_ID. */
typedef struct training_log_owner {
    uint64_t id; /* 0: unknown; an earlier version began it */
    bool resumed, fresh;
} training_log_owner;
#define LOG_ID "training"

/* Opens the log, locks it for this process and truncates it to `bytes`; log->bytes is smaller if the file was shorter.
 * ATTEND_BAD_USAGE if the file is not a training log, is open in another process or, unless `fresh`, is the log of
 * another training; ATTEND_IO. */
int attend_training_log_open(training_log *log, const char *path, uint64_t bytes, const training_log_owner *owner);
void attend_training_log_close(training_log *log);

/* Begins a line, a JSON object with the update number, and returns the writer for its other values. */
attend_json_writer attend_training_log_begin(training_log *log, uint64_t update);
/* Ends the line and writes it. ATTEND_IO. */
int attend_training_log_end(training_log *log, attend_json_writer *w);
/* Flushes the log to the disk: a checkpoint that records its size must not be more durable than the log. ATTEND_IO. */
int attend_training_log_flush(training_log *log);

/* ---- training_plot.c ---- */
/* Plots the loss of training and validation and the validation score, whose name is `metric`, over updates. A log without
 * numbers makes no picture. */
int attend_training_plot_write(const char *log_path, const char *svg_path, const char *title, const char *metric);

#endif
