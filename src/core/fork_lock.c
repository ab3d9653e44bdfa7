#include "core/fork_lock.h"

/* Those who hold a lock are readers of the gate; a fork is a writer. Readers are preferred, as glibc does by default, so
 * that they can be nested. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;

/* The locks that this thread holds. A driver that is loaded under a lock may fork, to start a program: that thread would
 * wait for itself. */
static _Thread_local int held;

static void before_fork(void)
{
    if (held == 0) pthread_rwlock_wrlock(&gate);
}

static void in_parent(void)
{
    if (held == 0) pthread_rwlock_unlock(&gate);
}

/* The gate names its owner by a number that the thread does not have in the child: it is made anew. */
static void in_child(void)
{
    gate = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    for (int i = 0; i < held; i++) pthread_rwlock_rdlock(&gate);
}

/* Without memory for the handlers, a fork is as safe as without the gate. */
static void watch(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

void attend_fork_lock(pthread_mutex_t *lock)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    pthread_rwlock_rdlock(&gate);
    held++;
    pthread_mutex_lock(lock);
}

void attend_fork_unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
    held--;
    pthread_rwlock_unlock(&gate);
}
