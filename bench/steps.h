/* steps.h: training steps (gradient, norm, clipping, Adam) on two threads over batches of random words, for the groups that race whole models. */
#ifndef ATTEND_BENCH_STEPS_H
#define ATTEND_BENCH_STEPS_H

#include "bench.h"

enum { STEPS_SHARDS = 64 }; /* at most */

/* Pairs of given lengths, in shards: what a thread does at a time. Its arrays are its own (step_batch_free). */
typedef struct step_batch {
    int *source_lengths, *target_lengths, *words;
    attend_pairs pairs;
    int sources, rows; /* words and ends */
    int shards, first[STEPS_SHARDS + 1];
} step_batch;

/* A shard is of so many pairs or, if that is 0, ends where so many rows are full. */
step_batch step_batch_new(const pair_lengths *lengths, int count, int vocabulary, int shard_pairs, int shard_rows);
void step_batch_free(step_batch *b);

/* For PyTorch: a line a batch, "source:target ..". `path` is a mkstemp template, and the file the caller's to remove; false: there is none. */
bool step_batches_write(char *path, const step_batch *batches, int count);

typedef struct stepper {
    attend_model *m;
    attend_team *team;
    attend_optimizer *adam;
    uint64_t update;
    const step_batch *batches, *now;
    int count;
} stepper;

/* A new model of this configuration; the batches stay the caller's. */
stepper stepper_new(const attend_config *config, const step_batch *batches, int count);
void stepper_free(stepper *s);
void stepper_run(void *stepper); /* a step on each batch: the `run` of a work */

/* Lines of the table: products a second against twice the best sgemm; and that there is no corpus. */
void steps_of_ceiling(bench *b, const char *group, const char *name, double products, double seconds, double goal);
void steps_no_data(bench *b, const char *group, const char *name);

#endif
