/* training_steps.h: training steps (gradient, norm, clipping, Adam) on batches of random tokens. */
#ifndef ATTEND_BENCH_TRAINING_STEPS_H
#define ATTEND_BENCH_TRAINING_STEPS_H

#include "bench.h"

enum { MAX_STEP_SHARDS = 64 };

/* Pairs of given lengths, divided into shards; a thread processes one shard at a time. step_batch_free frees the
 * arrays. */
typedef struct step_batch {
    int *source_lengths, *target_lengths, *tokens;
    attend_pairs pairs;
    int sources, rows; /* source and target tokens, including end tokens */
    int shards, first[MAX_STEP_SHARDS + 1];
} step_batch;

/* A shard has `shard_pairs` pairs; 0: the shards are those of `attend train`. */
step_batch step_batch_new(const pair_lengths *lengths, int count, int vocabulary, int shard_pairs);
void step_batch_free(step_batch *b);

/* Writes the lengths for PyTorch, one line "source:target source:target ..." for each batch. `path` is a mkstemp
 * template; the caller removes the file. Returns false on failure. */
bool step_batches_write(char *path, const step_batch *batches, int count);

/* The precision of matrix products of all steppers; fp32 unless it is set. */
void steps_use_compute(attend_compute_precision precision);
/* Goals of a training step: in fp32 without AMX, and with it in each precision. 0: none. */
typedef struct step_goals {
    double fp32, amx_fp32, amx_bf16x3, amx_bf16;
} step_goals;
double steps_goal(step_goals g); /* for this machine and the precision in use */
/* The end of a task of PyTorch in the same precision: " bf16" for autocast, else "". bf16x3 is compared with fp32. */
const char *steps_peer_precision(void);

typedef struct stepper {
    attend_model *m;
    attend_team *team;
    attend_optimizer *adam;
    uint64_t update;
    const step_batch *batches, *current;
    int count;
} stepper;

/* Creates a model with this configuration, to be trained on two threads or on `threads`. The caller owns the batches. */
stepper stepper_new(const attend_config *config, const step_batch *batches, int count);
stepper stepper_on_threads(const attend_config *config, const step_batch *batches, int count, int threads);
/* The same for one rank of several; NULL: alone. */
stepper stepper_on_ranks(const attend_config *config, const step_batch *batches, int count, int threads,
                         attend_ranks *ranks);
void stepper_free(stepper *s);
void stepper_run(void *stepper); /* one step on each batch; for struct work */

/* Report FLOP/s relative to twice the peak of one thread, and a missing corpus. */
void report_share_of_ceiling(bench *b, const char *group, const char *name, double flop, double seconds, double goal);
void report_missing_data(bench *b, const char *group, const char *name);

#endif
