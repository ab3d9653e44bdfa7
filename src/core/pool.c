#include "core/pool.h"

#include "core/memory.h"
#include "core/status.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Waking a sleeping thread takes 35 to 105 microseconds, a spinning one 1 or 2: spin for about as long as a wake-up
 * takes, then sleep. */
enum { SPINS = 4000, MAX_THREADS = 1024 };

struct attend_pool {
    int threads;
    int started; /* workers running */
    pthread_t *workers;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;

    atomic_uint epoch; /* incremented by each run */
    atomic_int next;   /* the next piece */
    atomic_int busy;   /* workers that have not finished this epoch */
    bool stop;

    int pieces;
    void (*work)(void *user, int piece);
    void *user;
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_pieces(attend_pool *p)
{
    int piece;
    while ((piece = atomic_fetch_add(&p->next, 1)) < p->pieces) p->work(p->user, piece);
}

static void *worker(void *argument)
{
    attend_pool *p = argument;
    unsigned finished = 0; /* the last epoch that this worker has run */
    for (;;) {
        for (int i = 0; i < SPINS && atomic_load(&p->epoch) == finished; i++) relax();
        pthread_mutex_lock(&p->lock);
        while (atomic_load(&p->epoch) == finished) pthread_cond_wait(&p->wake, &p->lock);
        finished = atomic_load(&p->epoch);
        bool stop = p->stop;
        pthread_mutex_unlock(&p->lock);
        if (stop) return NULL;

        run_pieces(p);
        if (atomic_fetch_sub(&p->busy, 1) == 1) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

static void wake_all(attend_pool *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->epoch, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void attend_pool_run(attend_pool *p, int pieces, void (*work)(void *user, int piece), void *user)
{
    p->pieces = pieces, p->work = work, p->user = user;
    atomic_store(&p->next, 0);
    if (p->started == 0 || pieces <= 1) {
        run_pieces(p);
        return;
    }
    atomic_store(&p->busy, p->started);
    wake_all(p);
    run_pieces(p);

    for (int i = 0; i < SPINS && atomic_load(&p->busy) > 0; i++) relax();
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->busy) > 0) pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

int attend_pool_threads(const attend_pool *p)
{
    return p->threads;
}

int attend_pool_new(attend_pool **out, int threads)
{
    *out = NULL;
    if (threads < 1 || threads > MAX_THREADS)
        return attend_fail(ATTEND_BAD_USAGE, "the number of threads is %d; it must be from 1 to %d", threads,
                           MAX_THREADS);
    attend_pool *p = attend_memory_zeroed(1, sizeof *p);
    if (!p) return attend_fail(ATTEND_NO_MEMORY, "no memory for a thread pool");
    p->threads = threads;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);

    int status = ATTEND_OK;
    p->workers = attend_memory_zeroed((size_t)threads, sizeof *p->workers);
    if (!p->workers) status = attend_fail(ATTEND_NO_MEMORY, "no memory for %d threads", threads);
    for (int i = 0; status == ATTEND_OK && i < threads - 1; i++) {
        int error = pthread_create(&p->workers[i], NULL, worker, p);
        if (error)
            status = attend_fail(ATTEND_FAILED, "cannot start thread %d of %d: %s", i + 2, threads,
                                 attend_errno_text(error));
        else
            p->started++;
    }
    if (status != ATTEND_OK) {
        attend_pool_free(p);
        return status;
    }
    *out = p;
    return ATTEND_OK;
}

void attend_pool_free(attend_pool *p)
{
    if (!p) return;
    p->stop = true;
    wake_all(p);
    for (int i = 0; i < p->started; i++) pthread_join(p->workers[i], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    attend_memory_free(p->workers);
    attend_memory_free(p);
}
