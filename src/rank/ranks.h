/* ranks.h: the group of processes that this one belongs to, and what they do together.
 *
 * Purpose    Every rank calls the same functions in the same order. Rank 0 decides what only one can decide, and
 *            speaks to the user.
 * Alone      A NULL handle is a process that is alone: one rank, and every function succeeds at once.
 * Failure    A function fails on all ranks, though not at the same time: the message names the rank and its host. Later
 *            exchanges fail with the same message. A rank that fails on its own calls attend_ranks_fail, so that the
 *            others do not wait for it. */
#ifndef ATTEND_RANK_RANKS_H
#define ATTEND_RANK_RANKS_H

#include "rank/transport.h"
#include <attend/ranks.h>

enum { RANK_HOST = 64 };

struct attend_ranks {
    rank_transport transport;
    double timeout;           /* seconds */
    char (*hosts)[RANK_HOST]; /* (count) */
    bool failed, is_broken;   /* is_broken: a rank is silent, or gone */
    int status;               /* of the failure */
    char text[RANK_TEXT];
    uint64_t bytes_sent; /* by this rank, so far */
    double seconds;      /* in exchanges, so far */
};

/* A handle for a transport, which it closes; learns the names of the hosts. The transport is closed on failure, too. */
int attend_ranks_new(attend_ranks **out, const rank_transport *transport, double timeout);

static inline bool attend_ranks_are_several(const attend_ranks *r)
{
    return r && r->transport.count > 1;
}

int attend_ranks_exchange(attend_ranks *r, const rank_transfer *transfers, int count);
/* Every rank has a block of `data`: rank i the bytes from offsets[i] to offsets[i + 1]. It gives its own and gets all
 * others. */
int attend_ranks_all_gather(attend_ranks *r, void *data, const size_t *offsets);
/* The same, but only rank 0 gets the blocks. */
int attend_ranks_gather(attend_ranks *r, void *data, const size_t *offsets);
/* Rank 0's bytes become those of all ranks. */
int attend_ranks_share(attend_ranks *r, void *data, size_t size);
/* Rank 0's answer. */
int attend_ranks_decide(attend_ranks *r, bool *answer);

/* Tells the other ranks that this one has failed, with the message of this thread. Without effect if the failure is one
 * of another rank. */
void attend_ranks_fail(attend_ranks *r, int status);

#endif
