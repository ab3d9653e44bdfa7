#include "serve/helper_thread.h"

#include <attend/status.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct helper_thread {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    helper_job *first, *last;
    bool must_end;
};

/* The next job, or NULL at the end. */
static helper_job *take(helper_thread *h)
{
    pthread_mutex_lock(&h->lock);
    while (!h->first && !h->must_end) pthread_cond_wait(&h->changed, &h->lock);
    helper_job *job = h->first;
    if (job) h->first = job->next;
    pthread_mutex_unlock(&h->lock);
    return job;
}

static void *work(void *argument)
{
    helper_thread *h = argument;
    for (helper_job *job; (job = take(h));) job->run(job->user);
    return NULL;
}

int helper_thread_new(helper_thread **out)
{
    *out = NULL;
    helper_thread *h = calloc(1, sizeof *h);
    if (!h) return attend_fail(ATTEND_NO_MEMORY, "out of memory");
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    const int error = pthread_create(&h->thread, NULL, work, h);
    h->has_thread = error == 0;
    if (error) {
        helper_thread_free(h);
        return attend_fail(ATTEND_FAILED, "cannot start a thread: %s", attend_errno_text(error));
    }
    *out = h;
    return ATTEND_OK;
}

void helper_thread_free(helper_thread *h)
{
    if (!h) return;
    pthread_mutex_lock(&h->lock);
    h->must_end = true;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
    if (h->has_thread) pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

void helper_thread_add(helper_thread *h, helper_job *job)
{
    pthread_mutex_lock(&h->lock);
    job->next = NULL;
    if (h->first)
        h->last->next = job;
    else
        h->first = job;
    h->last = job;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
}
