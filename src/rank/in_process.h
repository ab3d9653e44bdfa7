/* in_process.h: ranks that are threads of one process, for tests: with faults, and with the speed of a network. */
#ifndef ATTEND_RANK_IN_PROCESS_H
#define ATTEND_RANK_IN_PROCESS_H

#include "rank/ranks.h"

typedef struct rank_group rank_group;

typedef enum rank_fault_injection {
    INJECT_NONE,
    INJECT_DROP,      /* the message is lost */
    INJECT_DELAY,     /* it arrives after `seconds` */
    INJECT_DUPLICATE, /* it arrives twice */
    INJECT_TRUNCATE,  /* its last byte is missing */
    INJECT_STOP,      /* the sender stops for `seconds`, and nothing is heard from it */
    INJECT_KILL       /* the sender ends: its exchanges fail, and the others learn that it is gone */
} rank_fault_injection;

/* A group of `count` ranks. NULL: no memory. */
rank_group *attend_rank_group_new(int count, double timeout);
/* After all its ranks were left. */
void attend_rank_group_free(rank_group *g);
/* The handle of a rank, to be freed by attend_ranks_leave; NULL: no memory. */
attend_ranks *attend_rank_group_join(rank_group *g, int rank);

/* Before the ranks run: a fault at the n-th message, from 1, that a rank sends. */
void attend_rank_group_inject(rank_group *g, int rank, long message, rank_fault_injection what, double seconds);
/* Every rank sends and receives at most so many bytes per second, each way; a message needs `latency` seconds. 0: no
 * limit. */
void attend_rank_group_throttle(rank_group *g, double bytes_per_second, double latency);
/* Messages that a rank has sent so far. */
long attend_rank_group_messages(rank_group *g, int rank);

#endif
