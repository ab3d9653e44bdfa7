/* ranks.h: several processes, on one machine or on several, that work on one task: the ranks of a job.
 *
 * Purpose    A launcher (mpirun, srun) starts the same program several times. Each process joins its job and passes the
 *            handle to attend_train, which gives the same model on any number of ranks, to the byte (docs/cluster.md).
 *            Other work is divided by handing out parts of it and collecting the results.
 * Plug-in    MPI is not linked with the library. attend_ranks_join loads a plug-in, attend-mpi.so, if a launcher has
 *            started several ranks: from the file that the environment variable ATTEND_MPI names, or from the directory
 *            where it is installed.
 * Alone      NULL is the handle of a process that is alone; every function but attend_ranks_join accepts it.
 * Ownership  A handle is the caller's. A process joins once.
 * Threads    One thread at a time uses a handle. */
#ifndef ATTEND_RANKS_H
#define ATTEND_RANKS_H

#include <attend/string.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_ranks attend_ranks;

/* The number of processes that a launcher has started together with this one, as the environment tells it; 1: this process is
 * alone. *rank, from 0: which one this is; rank may be NULL. */
int attend_ranks_started(int *rank);
/* Joins the job that started this process. *out is NULL if the process is alone. timeout: seconds after which a silent
 * rank is given up, at least 1. ATTEND_BAD_USAGE, also if the plug-in is missing or if srun has started processes that do
 * not know of each other; ATTEND_FAILED if the ranks cannot reach each other. If other ranks do not join for the time-out,
 * or for 10 seconds if that is more, the process ends with a message on standard error: MPI cannot be interrupted. */
int attend_ranks_join(attend_ranks **out, double timeout);
/* Leaves the job: waits for the other ranks, unless one of them is silent; then the whole job ends, and this function
 * may end the process. So it does, as attend_ranks_join, if they do not leave. A program whose ranks end at different
 * times calls attend_ranks_wait before, which gives signs of life. NULL is allowed. */
void attend_ranks_leave(attend_ranks *r);

/* Tells the other ranks that this one has failed: what they do together then fails with this text. Functions that are given
 * the handle do so themselves. */
void attend_ranks_abort(attend_ranks *r, int status, const char *text);
/* Waits until all ranks have called it. ATTEND_FAILED, or the status of a rank that has failed. */
int attend_ranks_wait(attend_ranks *r);
/* Rank i gets a copy of what parts[i] is on rank 0, itself included, in *own. parts: (count), read on rank 0 only. Status as
 * attend_ranks_wait; ATTEND_NO_MEMORY. */
int attend_ranks_hand_out(attend_ranks *r, const attend_string *parts, attend_string *own);
/* The reverse: parts[i] on rank 0 becomes a copy of what *own is on rank i. parts: (count), written on rank 0 only. */
int attend_ranks_collect(attend_ranks *r, const attend_string *own, attend_string *parts);
/* Whether a rank is silent, so that the job cannot end in an orderly way. */
bool attend_ranks_is_broken(const attend_ranks *r);

/* The number of ranks, and which one this is, from 0; 1 and 0 for NULL. */
int attend_ranks_count(const attend_ranks *r);
int attend_ranks_rank(const attend_ranks *r);
/* The name of a rank's host; "" if there is no such rank. */
const char *attend_ranks_host(const attend_ranks *r, int rank);
/* Bytes that this rank has sent so far, and seconds that it spent exchanging and waiting; 0 for NULL. */
uint64_t attend_ranks_bytes_sent(const attend_ranks *r);
double attend_ranks_seconds(const attend_ranks *r);

#ifdef __cplusplus
}
#endif
#endif
