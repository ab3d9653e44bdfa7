/* job.h: the ranks of a job that mpirun or srun has started. Rank 0 speaks: the others print nothing. What they would have
 * printed when they fail is sent to rank 0, which prints it with their number and host. */
#ifndef ATTEND_CLI_JOB_H
#define ATTEND_CLI_JOB_H

#include "options.h"
#include <attend/ranks.h>

/* "rank-timeout": for the tables of verbs that run on several ranks. */
#define RANK_TIMEOUT_OPTION(at)                                                                                        \
    {                                                                                                                  \
        "rank-timeout", "SECONDS",                                                                                     \
            "with mpirun or srun: give up when nothing is heard from a rank for so long (default: 60)",                \
            OPTION_INTEGER, at, 1, 1000000, NULL                                                                       \
    }
enum { RANK_TIMEOUT = 60 };
/* "mixed-ranks", a flag. result: what depends on the machines, such as "the model". */
#define MIXED_RANKS_OPTION(at, result)                                                                                 \
    {                                                                                                                  \
        "mixed-ranks", NULL,                                                                                           \
            "with mpirun or srun: allow machines of different kinds; " result                                          \
            " then depends on which of them are used",                                                                 \
            OPTION_FLAG, at, 0, 0, NULL                                                                                \
    }

/* At the beginning of a verb: from now on, a rank other than 0 prints nothing. */
void job_begin(void);
/* Whether this process writes files: after job_begin, a rank other than 0 does not. */
bool job_writes(void);
/* Before a verb whose processes cannot be the ranks of a job, and would all write the same files: refuses to run several at
 * once. True: *status is the exit code, after a message of rank 0. */
bool job_refuse(const verb *v, int *status);
/* Joins the ranks of the job. status: an exit code after a message of this rank, which has failed before; it joins all the
 * same, so that job_end can tell the others. Returns that, or 0, or an exit code after a message. */
int job_join(const verb *v, long long timeout, int status);
/* The ranks; NULL: this process is alone. */
attend_ranks *job_ranks(void);
/* A file that all ranks read; its path may differ. */
typedef struct job_file {
    const char *what; /* "model" */
    const char *path; /* NULL: none */
    bool is_unread;   /* this time; it may be missing */
} job_file;
/* Refuses ranks with another version, other files, other options or, unless `mixed`, another device or other kernels than
 * rank 0. settings: those of the verb. ATTEND_BAD_USAGE, on all ranks, with the first difference. */
int job_check(const verb *v, const void *settings, const job_file *files, int count, bool mixed);
/* Whether this process is rank 0, or alone. */
bool job_speaks(void);
/* The number of threads for each rank of this machine, if they share its cores. */
int job_threads(void);
/* At the end of a verb: tells the other ranks if this one has failed, or waits for them, and leaves the job. Returns the exit
 * code. */
int job_end(const verb *v, int status);

#endif
