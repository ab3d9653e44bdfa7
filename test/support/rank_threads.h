/* rank_threads.h: runs attend_train on several ranks, which are threads of the test. */
#ifndef ATTEND_TEST_RANK_THREADS_H
#define ATTEND_TEST_RANK_THREADS_H

#include "rank/in_process.h"
#include <attend/trainer.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEST_RANKS = 8 };

typedef struct rank_thread {
    rank_group *group;
    int rank;
    attend_train_options options;
    attend_train_events events;
    attend_train_end end;
    int status;
    char message[512];
    uint64_t bytes; /* sent */
    double seconds; /* in exchanges */
} rank_thread;

static inline void *run_rank_thread(void *user)
{
    rank_thread *t = user;
    attend_ranks *r = attend_rank_group_join(t->group, t->rank);
    t->options.ranks = r;
    t->status = r ? attend_train(&t->options, &t->events, &t->end) : ATTEND_NO_MEMORY;
    snprintf(t->message, sizeof t->message, "%s", t->status == ATTEND_OK ? "" : attend_message());
    t->bytes = attend_ranks_bytes_sent(r), t->seconds = attend_ranks_seconds(r);
    attend_ranks_leave(r);
    return NULL;
}

/* Trains with the same options on `count` ranks of a group; results in threads[]. events: of rank 0, or NULL. */
static inline void train_on_ranks(rank_group *group, int count, const attend_train_options *options,
                                  const attend_train_events *events, rank_thread threads[MAX_TEST_RANKS])
{
    pthread_t ids[MAX_TEST_RANKS];
    for (int i = 0; i < count; i++) {
        threads[i] = (rank_thread){ .group = group, .rank = i, .options = *options };
        if (events && i == 0) threads[i].events = *events;
        if (pthread_create(&ids[i], NULL, run_rank_thread, &threads[i]) != 0) abort();
    }
    for (int i = 0; i < count; i++) pthread_join(ids[i], NULL);
}

#endif
