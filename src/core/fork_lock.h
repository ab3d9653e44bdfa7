/* fork_lock.h: locks of what threads share and a child process goes on using: caches of parameters and models, and lists.
 *
 * A child of fork has only the thread that called it. A mutex that another thread held would stay locked in the child, and
 * what it protects would stay half-written. fork therefore waits until no thread holds one of these locks, and lets no
 * thread take one until the child exists. Locks are held for short times, since no order of waiting is kept: threads that
 * take them without a pause would keep a fork waiting. Locks may be nested. Code under them takes no lock of a caller, such as Python's
 * global lock. If it forks, as a driver may that starts a program, the child can do no more than that. Locks of objects
 * with threads of their own (pools, batchers) need none of this: a child cannot use these objects. */
#ifndef ATTEND_CORE_FORK_LOCK_H
#define ATTEND_CORE_FORK_LOCK_H

#include <pthread.h>

void attend_fork_lock(pthread_mutex_t *lock);
void attend_fork_unlock(pthread_mutex_t *lock);

#endif
