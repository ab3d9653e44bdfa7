/* pool.h: a pool of threads that run numbered pieces of work. */
#ifndef ATTEND_CORE_POOL_H
#define ATTEND_CORE_POOL_H

typedef struct attend_pool attend_pool;

/* `threads` counts the calling thread: threads - 1 workers are started, which sleep between runs. */
int attend_pool_new(attend_pool **out, int threads);
void attend_pool_free(attend_pool *p);
int attend_pool_threads(const attend_pool *p);

/* Calls work(user, i) once for each i in [0, pieces), on any thread in any order; returns when all are done. */
void attend_pool_run(attend_pool *p, int pieces, void (*work)(void *user, int piece), void *user);

#endif
