/* helper_thread.h: a thread for large requests and answers.
 *
 * Purpose    The thread of a listener serves all its connections. Reading a long text into tokens and writing a large
 *            answer take up to a second, for which the others would wait; they only wait for each other here.
 * Memory     A job is a member of what it works on, so that adding one cannot fail.
 * Threads    helper_thread_add may be called by any thread. */
#ifndef ATTEND_CLI_SERVE_HELPER_THREAD_H
#define ATTEND_CLI_SERVE_HELPER_THREAD_H

typedef struct helper_job {
    void (*run)(void *user);
    void *user;
    struct helper_job *next; /* internal */
} helper_job;

typedef struct helper_thread helper_thread;

int helper_thread_new(helper_thread **out);
/* Runs the jobs that were added, and ends. NULL is allowed. */
void helper_thread_free(helper_thread *h);
/* Runs a job after those that were added before. It may be added again, or freed, when `run` was called. */
void helper_thread_add(helper_thread *h, helper_job *job);

#endif
