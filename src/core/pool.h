/* pool.h: a pool of threads that run numbered pieces of work.
 *
 * Purpose    A run divides work into pieces. The calling thread takes pieces until there are none left, and threads of
 *            the pool without work help. A piece may call attend_pool_run itself: threads that find no piece of the
 *            outer run then help with the inner one. So a few large pieces keep many threads busy.
 * Progress   A run needs no helper: the caller runs all pieces if no thread comes. It waits only for pieces that other
 *            threads have begun.
 * Threads    attend_pool_run may be called by the pool's own threads within a piece, and by others. If two others call
 *            it at once, one of them runs its pieces alone. */
#ifndef ATTEND_CORE_POOL_H
#define ATTEND_CORE_POOL_H

#include <stdbool.h>

typedef struct attend_pool attend_pool;

/* `threads` counts the calling thread: threads - 1 workers are started, which sleep if there is no work for some time. */
int attend_pool_new(attend_pool **out, int threads);
void attend_pool_free(attend_pool *p);
int attend_pool_threads(const attend_pool *p);

/* The number of threads that could share a run that begins now: the caller, and those without work. 1: dividing work
 * is useless. Changes at any time, so results must not depend on it. p may be NULL: 1. */
int attend_pool_available(attend_pool *p);

/* Calls work(user, i) once for each i in [0, pieces), on any thread in any order; returns when all are done. p may be
 * NULL: on the calling thread. */
void attend_pool_run(attend_pool *p, int pieces, void (*work)(void *user, int piece), void *user);

/* For a piece that waits for something from outside the pool: helps with runs of deeper levels until over(user) is
 * true, and sleeps if there is nothing to do. `over` reads atomic variables only; after a change of them that makes it
 * true, attend_pool_wake must be called. */
void attend_pool_help_until(attend_pool *p, bool (*over)(void *user), void *user);
void attend_pool_wake(attend_pool *p);

#endif
