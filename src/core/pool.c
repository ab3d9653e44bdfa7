/* pool.c: runs of pieces, shared by threads.
 *
 * Each thread has a slot for each level of nesting, in which its current run is open to helpers. A helper joins by
 * incrementing the count of helpers in the state of the slot, takes pieces until there are none left, and leaves by
 * decrementing it. The run is over when all pieces are taken and the count is 0. The state also has the number of the
 * run, so that a helper cannot join a later run than the one it has seen.
 *
 * A thread that waits for its helpers helps only with runs of deeper levels. Their pieces are short, and the depth of
 * its stack is limited by the number of levels. */
#include "core/pool.h"

#include "core/memory.h"
#include "core/status.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    /* Waking a sleeping thread takes 35 to 105 microseconds, a spinning one 1 or 2: spin for about as long as a wake-up
     * takes, then sleep. */
    SPINS = 4000,
    YIELD = 64, /* spins between two offers to let another thread run */
    MAX_THREADS = 1024,
    LEVELS = 2, /* runs that are divided: shards or batches, and the products in them; deeper ones run on one thread */
};

/* The state of a slot: the number of helpers, whether more may join, and the number of the run. */
static const uint64_t HELPERS = 0xffff, OPEN = 0x10000, NEXT_RUN = 0x20000;

/* Pieces of one run; a cache line of its own. */
typedef struct slot {
    _Alignas(64) _Atomic(uint64_t) state;
    atomic_int next; /* piece */
    int pieces;
    void (*work)(void *user, int piece);
    void *user;
} slot;

struct attend_pool {
    int threads;
    int started; /* workers running */
    struct worker *workers;
    slot *slots;                  /* (threads, LEVELS) */
    atomic_bool has_outsider;     /* a thread that is not of the pool uses the slots of thread 0 */
    _Alignas(64) atomic_int idle; /* threads that look for work, spinning or asleep */
    atomic_int asleep[2];         /* workers without work; threads that wait for their helpers */
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t changed[2]; /* for each kind of sleeper */
};

typedef enum sleeper { WORKER, WAITER } sleeper;

typedef struct worker {
    attend_pool *pool;
    int self;
    pthread_t thread;
} worker;

/* Where the calling thread is: in a piece of a run of this pool. */
typedef struct place {
    attend_pool *pool;
    int self, level; /* the number of the thread; the level of the next run */
} place;

static _Thread_local place here;

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static slot *slot_of(const attend_pool *p, int thread, int level)
{
    return &p->slots[thread * LEVELS + level];
}

/* ---- pieces ---- */

static void run_pieces(slot *s, place inside)
{
    const place before = here;
    here = inside;
    for (int piece; (piece = atomic_fetch_add(&s->next, 1)) < s->pieces;) {
        if (piece == s->pieces - 1) atomic_fetch_and(&s->state, ~OPEN);
        s->work(s->user, piece);
    }
    here = before;
}

/* Wakes up to `count` sleeping threads of a kind. A thread counts itself as asleep before it looks for work for the last
 * time, so that either it sees the work or it is seen here. */
static void wake(attend_pool *p, sleeper kind, int count)
{
    const int asleep = atomic_load(&p->asleep[kind]);
    if (asleep == 0) return;
    pthread_mutex_lock(&p->lock);
    if (count < asleep)
        for (int i = 0; i < count; i++) pthread_cond_signal(&p->changed[kind]);
    else
        pthread_cond_broadcast(&p->changed[kind]);
    pthread_mutex_unlock(&p->lock);
}

/* ---- helping ---- */

static bool is_open(const slot *s)
{
    return atomic_load(&s->state) & OPEN;
}

static bool join(slot *s)
{
    uint64_t state = atomic_load(&s->state);
    return state & OPEN && atomic_compare_exchange_strong(&s->state, &state, state + 1);
}

/* Runs pieces of another thread's run of this level or a deeper one; false: there is none. */
static bool help(attend_pool *p, int self, int level)
{
    for (; level < LEVELS; level++)
        for (int i = 1; i <= p->threads; i++) {
            slot *s = slot_of(p, (self + i) % p->threads, level);
            if (!is_open(s) || !join(s)) continue;
            atomic_fetch_sub(&p->idle, 1);
            run_pieces(s, (place){ .pool = p, .self = self, .level = level + 1 });
            /* idle again before the run is over, so that its thread counts this one for the next run */
            atomic_fetch_add(&p->idle, 1);
            if ((atomic_fetch_sub(&s->state, 1) & HELPERS) == 1) wake(p, WAITER, p->threads);
            return true;
        }
    return false;
}

static bool has_work(const attend_pool *p, int level)
{
    for (int i = 0; i < p->threads; i++)
        for (int l = level; l < LEVELS; l++)
            if (is_open(slot_of(p, i, l))) return true;
    return false;
}

/* What a thread waits for, which ends its helping. */
typedef struct condition {
    bool (*over)(void *user);
    void *user;
    sleeper kind;
} condition;

static bool run_is_over(void *user)
{
    const slot *run = user;
    return (atomic_load(&run->state) & HELPERS) == 0;
}

static bool pool_is_over(void *user)
{
    const attend_pool *p = user;
    return atomic_load(&p->stop);
}

static void sleep_until(attend_pool *p, int level, const condition *c)
{
    const sleeper kind = c->kind;
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->asleep[kind], 1);
    while (!c->over(c->user) && !has_work(p, level)) pthread_cond_wait(&p->changed[kind], &p->lock);
    atomic_fetch_sub(&p->asleep[kind], 1);
    pthread_mutex_unlock(&p->lock);
}

/* Helps with runs from this level on until the condition holds. */
static void help_until(attend_pool *p, int self, int level, const condition *c)
{
    const int counted = level < LEVELS;
    atomic_fetch_add(&p->idle, counted);
    for (int spins = 0; !c->over(c->user);) {
        if (help(p, self, level)) {
            spins = 0;
        } else if (++spins < SPINS) {
            relax();
            if (spins % YIELD == 0) sched_yield(); /* with more threads than processors, others have work to do */
        } else {
            sleep_until(p, level, c);
            spins = 0;
        }
    }
    atomic_fetch_sub(&p->idle, counted);
}

static void *worker_main(void *argument)
{
    const worker *w = argument;
    help_until(w->pool, w->self, 0, &(condition){ pool_is_over, w->pool, WORKER });
    return NULL;
}

/* ---- runs ---- */

int attend_pool_available(attend_pool *p)
{
    return p && (here.pool != p || here.level < LEVELS) ? 1 + atomic_load(&p->idle) : 1;
}

static void run_alone(int pieces, void (*work)(void *user, int piece), void *user)
{
    for (int i = 0; i < pieces; i++) work(user, i);
}

void attend_pool_run(attend_pool *p, int pieces, void (*work)(void *user, int piece), void *user)
{
    const bool inside = here.pool == p;
    const int self = inside ? here.self : 0, level = inside ? here.level : 0;
    if (pieces <= 1 || !p || p->started == 0 || level >= LEVELS) {
        run_alone(pieces, work, user);
        return;
    }
    if (!inside && atomic_exchange(&p->has_outsider, true)) {
        run_alone(pieces, work, user);
        return;
    }
    slot *s = slot_of(p, self, level);
    s->pieces = pieces, s->work = work, s->user = user;
    atomic_store(&s->next, 0);
    atomic_fetch_add(&s->state, NEXT_RUN | OPEN); /* it was closed, without helpers */
    wake(p, WORKER, pieces - 1);
    wake(p, WAITER, p->threads);
    run_pieces(s, (place){ .pool = p, .self = self, .level = level + 1 });
    help_until(p, self, level + 1, &(condition){ run_is_over, s, WAITER });
    if (!inside) atomic_store(&p->has_outsider, false);
}

/* A worker, not a waiter: runs wake as many of those as they have pieces. */
void attend_pool_help_until(attend_pool *p, bool (*over)(void *user), void *user)
{
    const bool inside = here.pool == p;
    help_until(p, inside ? here.self : 0, inside ? here.level : 0, &(condition){ over, user, WORKER });
}

void attend_pool_wake(attend_pool *p)
{
    wake(p, WORKER, p->threads);
}

int attend_pool_threads(const attend_pool *p)
{
    return p->threads;
}

static int start(attend_pool *p)
{
    const size_t bytes = (size_t)p->threads * LEVELS * sizeof *p->slots;
    p->workers = attend_memory_zeroed((size_t)p->threads, sizeof *p->workers);
    p->slots = attend_memory_aligned(bytes);
    if (!p->workers || !p->slots) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d threads", p->threads);
    for (int i = 0; i < p->threads * LEVELS; i++) p->slots[i] = (slot){ .pieces = 0 };
    for (int i = 0; i < p->threads - 1; i++) {
        worker *w = &p->workers[i];
        *w = (worker){ .pool = p, .self = i + 1 };
        const int error = pthread_create(&w->thread, NULL, worker_main, w);
        if (error)
            return attend_fail(ATTEND_FAILED, "cannot start thread %d of %d: %s", i + 2, p->threads,
                               attend_errno_text(error));
        p->started++;
    }
    return ATTEND_OK;
}

int attend_pool_new(attend_pool **out, int threads)
{
    *out = NULL;
    if (threads < 1 || threads > MAX_THREADS)
        return attend_fail(ATTEND_BAD_USAGE, "the number of threads is %d; it must be from 1 to %d", threads,
                           MAX_THREADS);
    attend_pool *p = attend_memory_aligned(sizeof *p);
    if (!p) return attend_fail(ATTEND_NO_MEMORY, "no memory for a thread pool");
    *p = (attend_pool){ .threads = threads };
    pthread_mutex_init(&p->lock, NULL);
    for (int i = 0; i < 2; i++) pthread_cond_init(&p->changed[i], NULL);
    const int status = start(p);
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
    atomic_store(&p->stop, true);
    wake(p, WORKER, p->threads);
    for (int i = 0; i < p->started; i++) pthread_join(p->workers[i].thread, NULL);
    for (int i = 0; i < 2; i++) pthread_cond_destroy(&p->changed[i]);
    pthread_mutex_destroy(&p->lock);
    attend_memory_free(p->slots);
    attend_memory_free(p->workers);
    attend_memory_free(p);
}
