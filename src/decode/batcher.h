/* batcher.h: the state of a batcher. batcher.c creates batchers and accepts requests, batcher_queue.c chooses batches
 * from what waits, batcher_worker.c decodes them, future.c has the requests themselves.
 *
 * Locks      `lock` of a batcher protects its queue, counters and models; `lock` of a future its state. A thread that
 *            holds the second may take the pool's; none is held while a `done` function runs.
 * Lifetime   A future is referenced by its caller and, until it has ended, by its batcher. A batcher ends all futures
 *            before it is freed, so that one that has not ended may use its batcher. */
#ifndef ATTEND_DECODE_BATCHER_H
#define ATTEND_DECODE_BATCHER_H

#include "core/pool.h"
#include "decode/translator_lines.h"
#include <attend/batcher.h>
#include <pthread.h>
#include <stdatomic.h>

struct attend_future {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_int references;
    atomic_int state; /* attend_future_state */
    /* when attend_future_cancel was called, in nanoseconds of the monotonic clock; 0: it was not */
    _Atomic(int64_t) cancelled_at;
    attend_batcher_model *model;
    attend_search_options search;
    int64_t submitted, deadline; /* nanoseconds; deadline INT64_MAX: none */
    uint64_t sequence;           /* number of the request */
    int tokens;                  /* that it adds to a batch; 0: nothing is decoded */
    attend_pipeline sides[2];    /* with its texts */
    translator_line line;
    int status;
    char message[256];
    attend_future_fn done;
    attend_branches_fn branches;
    void *user; /* of both */
};

struct attend_batcher_model {
    attend_batcher *batcher;
    translator_setup setup;
    attend_pipeline sides[2]; /* tokenizers */
    int pending;              /* requests that have not ended */
    attend_batcher_model *next;
};

/* The memory of one worker. */
typedef struct batcher_worker {
    attend_ctx **contexts; /* (context_count), one for each model of an ensemble */
    int context_count;
    attend_future **batch; /* (max_waiting) */
    int batch_count;
    attend_future **ended; /* (max_waiting) requests that ended in the queue */
} batcher_worker;

struct attend_batcher {
    attend_batcher_options o;
    attend_pool *pool;
    pthread_t runner; /* the thread that runs the pool's pieces, which are the workers */
    bool has_runner;
    batcher_worker *workers; /* (threads) */
    pthread_mutex_t lock;
    pthread_cond_t changed;       /* a model has no pending requests */
    attend_batcher_model *models; /* a list */
    attend_future **queue;        /* (max_waiting), in no order */
    attend_future **similar;      /* (max_waiting) scratch: those that fit into a batch */
    uint64_t sequence;            /* of the next request */
    int running_workers;
    attend_batcher_statistics statistics;
    /* read without the lock */
    atomic_bool closing;
    atomic_int waiting;              /* length of the queue */
    atomic_int busy;                 /* workers that decode */
    atomic_bool is_exclusive;        /* a worker needs all memory: no other begins a batch */
    atomic_bool has_cancelled;       /* a request in the queue may have been cancelled */
    _Atomic(int64_t) first_deadline; /* of the queue; INT64_MAX: none */
};

/* The monotonic clock, in nanoseconds. */
int64_t attend_batcher_clock(void);

/* ---- batcher_queue.c ---- */

/* Adds requests that fit; the caller holds the lock. */
void attend_batcher_queue_add(attend_batcher *b, attend_future *const *futures, int count);
/* Moves a batch from the queue to worker->batch; false: nothing waits. */
bool attend_batcher_queue_take(attend_batcher *b, batcher_worker *w);
/* Ends the requests in the queue that are cancelled or expired; all of them if the batcher is closing. Cheap if there
 * are none. */
void attend_batcher_queue_sweep(attend_batcher *b, batcher_worker *w);

/* ---- batcher_worker.c ---- */

/* A worker, until the batcher is closed: piece `number` of the pool's run. */
void attend_batcher_work(void *batcher, int number);

/* ---- future.c ---- */

/* A future with two references that has encoded its line. */
int attend_future_new(attend_future **out, attend_batcher_model *m, const attend_request *r);
/* Whether the request must end without a result now, and in which state; ATTEND_FUTURE_RUNNING: it need not. */
attend_future_state attend_future_verdict(const attend_future *f, int64_t now);
/* Ends a request: sets its final state, calls `done`, and drops the batcher's reference. No lock is held. */
void attend_future_end(attend_future *f, attend_future_state state);
void attend_future_release(attend_future *f);
/* Frees a request that was never queued. */
void attend_future_discard(attend_future *f);

#endif
