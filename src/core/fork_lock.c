#include "core/fork_lock.h"

/* Counts the threads that hold a lock or wait for one. A fork waits until there are none, and keeps `gate` until it is
 * done. A thread that takes a lock holds `gate` only while it is counted, so that locks can be nested while a fork waits. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t none_left = PTHREAD_COND_INITIALIZER;
static long holders;

/* The locks that this thread holds. A driver that is loaded under a lock may fork, to start a program: that thread would
 * wait for itself. */
static _Thread_local int held;

static void before_fork(void)
{
    pthread_mutex_lock(&gate);
    while (held == 0 && holders > 0) pthread_cond_wait(&none_left, &gate);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&gate);
}

/* The other threads are gone: those that held a lock, if this thread did, and those that waited to fork. */
static void in_child(void)
{
    holders = held;
    none_left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pthread_mutex_unlock(&gate);
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
    pthread_mutex_lock(&gate);
    holders++;
    pthread_mutex_unlock(&gate);
    held++;
    pthread_mutex_lock(lock);
}

void attend_fork_unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
    held--;
    pthread_mutex_lock(&gate);
    if (--holders == 0) pthread_cond_broadcast(&none_left);
    pthread_mutex_unlock(&gate);
}
