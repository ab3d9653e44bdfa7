/* mpi_transport.c: a transport over MPI, compiled apart and loaded at run time (rank/join.c).
 *
 * MPI moves bytes; it never adds. Large transfers are cut into chunks, of which few are on their way to a rank at a time, so
 * that there is progress to see on a slow network, and signs of life do not wait behind all of them. A thread tells the
 * other ranks several times per time-out that this one is alive and how many exchanges it has begun; it calls MPI while no
 * other thread does (MPI_THREAD_SERIALIZED). MPI_Init and MPI_Finalize wait for all ranks and cannot be interrupted: while
 * they run, another thread watches the clock. */
#include "rank/transport.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG_DATA = 1, TAG_BEAT, TAG_ABORT };
/* A status; seconds that rank 0 has to print its message, or others if it is the one that is silent. */
enum { FAILED = 1, GRACE = 3, GRACE_WITHOUT_ROOT = 1 };
/* Bytes; sends to one rank at a time: at first one for each WINDOW_SECONDS of the time-out, and more as long as each takes less
 * than a part of it. */
enum { CHUNK = 256 << 10, MIN_WINDOW = 2, MAX_WINDOW = 64, WINDOW_SECONDS = 2, FAST_PART = 32 };

typedef struct abort_message {
    int status;
    char text[RANK_TEXT];
} abort_message;

typedef struct peer_state {
    double heard;        /* when the last sign of life came */
    uint64_t entered;    /* exchanges that it has begun */
    uint64_t beat;       /* what is being sent to it */
    MPI_Request request; /* of the beat; MPI_REQUEST_NULL: none */
    int window, fast;    /* chunks that are sent at a time; fast ones since it has changed */
} peer_state;

typedef struct mpi_state {
    MPI_Comm comm;
    int rank, count;
    pthread_mutex_t lock; /* of MPI, and of what follows */
    pthread_cond_t ended;
    pthread_t thread;
    bool is_root_silent;
    bool has_beats, is_ending, is_dirty; /* is_dirty: a transfer was given up and may still be in progress */
    double beat, listened;               /* seconds between signs of life; when this rank last heard those of others */
    double patience;                     /* seconds for all ranks to leave */
    uint64_t entered;
    peer_state *peers;
    abort_message *aborts; /* (count): what this rank sends */
    MPI_Request *abort_requests;
} mpi_state;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool set_fault(rank_fault *f, rank_fault_kind kind, int rank, const char *text)
{
    *f = (rank_fault){ .kind = kind, .rank = rank, .status = FAILED };
    snprintf(f->text, sizeof f->text, "%s", text);
    return false;
}

static void wait_until(pthread_cond_t *c, pthread_mutex_t *lock, double end)
{
    const struct timespec t = { (time_t)end, (long)((end - (double)(time_t)end) * 1e9) };
    pthread_cond_timedwait(c, lock, &t);
}

static void init_lock(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(lock, NULL);
    pthread_cond_init(changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* ---- calls that wait for all ranks ---- */

/* Ends the process if such a call does not return. */
typedef struct watch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread, is_over;
    int rank;
    double seconds;
    const char *what; /* that the others do not do: "join" */
} watch;

static void *run_watch(void *user)
{
    watch *w = user;
    char host[64] = "";
    /* rank 0 speaks, and its end ends the others, unless it is the one that is missing */
    const double end = now() + w->seconds + (w->rank > 0 ? GRACE_WITHOUT_ROOT : 0);
    pthread_mutex_lock(&w->lock);
    while (!w->is_over && now() < end) wait_until(&w->changed, &w->lock, end);
    if (!w->is_over) {
        gethostname(host, sizeof host - 1);
        fprintf(
            stderr,
            "attend: rank %d on %s has waited %.0f s for the other ranks to %s: one was stopped or has ended, or the "
            "network is interrupted. Run the same command to resume, with any number of ranks\n",
            w->rank, host, w->seconds, w->what);
        _exit(FAILED);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void watch_begin(watch *w, int rank, double seconds, const char *what)
{
    *w = (watch){ .rank = rank, .seconds = seconds, .what = what };
    init_lock(&w->lock, &w->changed);
    w->has_thread = pthread_create(&w->thread, NULL, run_watch, w) == 0;
}

static void watch_end(watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_over = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (w->has_thread) pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}

/* ---- signs of life; the caller has the lock ---- */

static void hear(mpi_state *s)
{
    const double time = now();
    /* this process was stopped itself, and the others were not silent */
    for (int i = 0; time - s->listened > 4 * s->beat && i < s->count; i++) s->peers[i].heard = time;
    s->listened = time;
    for (;;) {
        int found = 0;
        uint64_t entered;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_BEAT, s->comm, &found, &status);
        if (!found) return;
        MPI_Recv(&entered, (int)sizeof entered, MPI_BYTE, status.MPI_SOURCE, TAG_BEAT, s->comm, MPI_STATUS_IGNORE);
        s->peers[status.MPI_SOURCE].heard = now();
        s->peers[status.MPI_SOURCE].entered = entered;
    }
}

static void say(mpi_state *s)
{
    for (int i = 0; i < s->count; i++) {
        peer_state *p = &s->peers[i];
        int done = 1;
        if (i == s->rank) continue;
        if (p->request != MPI_REQUEST_NULL) MPI_Test(&p->request, &done, MPI_STATUS_IGNORE);
        if (!done) continue;
        p->beat = s->entered;
        MPI_Isend(&p->beat, (int)sizeof p->beat, MPI_BYTE, i, TAG_BEAT, s->comm, &p->request);
    }
}

static void *run_beats(void *user)
{
    mpi_state *s = user;
    pthread_mutex_lock(&s->lock);
    while (!s->is_ending && !s->is_dirty) { /* dirty: buffers of pending sends may be freed from now on */
        say(s);
        hear(s);
        wait_until(&s->ended, &s->lock, now() + s->beat);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- exchanges ---- */

typedef struct mpi_exchange {
    mpi_state *s;
    const rank_transfer *transfers;
    int count, requests, left;
    MPI_Request *request;     /* (requests) MPI_REQUEST_NULL: finished, or not begun */
    int *transfer, *finished; /* (requests): whose chunk it is; indices */
    size_t *size, *at;        /* (requests): of the chunk, and where it begins */
    double *begun;            /* (requests): when a send began */
    int *in_flight;           /* (ranks): sends */
    int next;                 /* of the requests: before it, all sends have begun */
    MPI_Status *status;
    double since, timeout; /* since: of the last progress */
} mpi_exchange;

static void exchange_free(mpi_exchange *x)
{
    free(x->request);
    free(x->transfer);
    free(x->finished);
    free(x->size);
    free(x->at);
    free(x->begun);
    free(x->in_flight);
    free(x->status);
}

static bool exchange_new(mpi_exchange *x)
{
    for (int i = 0; i < x->count; i++) x->requests += (int)((x->transfers[i].size + CHUNK - 1) / CHUNK);
    const size_t n = (size_t)x->requests + 1;
    x->request = malloc(n * sizeof *x->request);
    x->transfer = malloc(n * sizeof *x->transfer);
    x->finished = malloc(n * sizeof *x->finished);
    x->size = malloc(n * sizeof *x->size);
    x->status = malloc(n * sizeof *x->status);
    x->at = malloc(n * sizeof *x->at);
    x->begun = malloc(n * sizeof *x->begun);
    x->in_flight = calloc((size_t)x->s->count, sizeof *x->in_flight);
    x->left = x->requests;
    return x->request && x->transfer && x->finished && x->size && x->status && x->at && x->begun && x->in_flight;
}

/* Begins sends, in order, as long as few are on their way to a rank. */
static void start_sends(mpi_exchange *x)
{
    bool all = true;
    for (int n = x->next; n < x->requests; n++) {
        const rank_transfer *t = &x->transfers[x->transfer[n]];
        if (x->request[n] != MPI_REQUEST_NULL || x->size[n] == 0) continue;
        if (x->in_flight[t->peer] >= x->s->peers[t->peer].window) {
            all = false;
            continue;
        }
        MPI_Isend((char *)t->data + x->at[n], (int)x->size[n], MPI_BYTE, t->peer, TAG_DATA, x->s->comm, &x->request[n]);
        x->in_flight[t->peer]++;
        x->size[n] = 0, x->begun[n] = now();
        if (all) x->next = n + 1;
    }
}

/* Begins all receives, and then the first sends. */
static void start(mpi_exchange *x)
{
    int n = 0;
    for (int sends = 0; sends < 2; sends++) {
        if (sends) x->next = n;
        for (int i = 0; i < x->count; i++) {
            const rank_transfer *t = &x->transfers[i];
            if (t->is_send != sends) continue;
            for (size_t at = 0; at < t->size; at += CHUNK, n++) {
                x->size[n] = t->size - at < CHUNK ? t->size - at : CHUNK;
                x->at[n] = at, x->transfer[n] = i, x->request[n] = MPI_REQUEST_NULL;
                if (!sends)
                    MPI_Irecv((char *)t->data + at, (int)x->size[n], MPI_BYTE, t->peer, TAG_DATA, x->s->comm,
                              &x->request[n]);
            }
        }
    }
    start_sends(x);
}

/* After a send: on a slow network few chunks share it, so that each arrives soon. */
static void set_window(peer_state *p, double seconds, double timeout)
{
    const double first = timeout / WINDOW_SECONDS;
    const bool is_fast = seconds < timeout / FAST_PART;
    const int min = first < MIN_WINDOW ? MIN_WINDOW : first < MAX_WINDOW ? (int)first : MAX_WINDOW;
    if (p->window < min || !is_fast) p->window = min, p->fast = 0;
    if (is_fast && ++p->fast >= p->window && p->window < MAX_WINDOW) p->window++, p->fast = 0;
}

/* Finishes what can be finished. *progress: whether anything was. */
static bool test(mpi_exchange *x, bool *progress, rank_fault *fault)
{
    int finished = 0;
    *progress = false;
    if (x->left == 0) return true;
    const int code = MPI_Testsome(x->requests, x->request, &finished, x->finished, x->status);
    if (finished == MPI_UNDEFINED) finished = 0;
    for (int i = 0; i < finished; i++) {
        const int n = x->finished[i], peer = x->transfers[x->transfer[n]].peer;
        int received = 0;
        if (code == MPI_ERR_IN_STATUS && x->status[i].MPI_ERROR != MPI_SUCCESS) {
            char text[MPI_MAX_ERROR_STRING];
            int length = 0;
            MPI_Error_string(x->status[i].MPI_ERROR, text, &length);
            return set_fault(fault, RANK_GARBLED, peer, text);
        }
        const rank_transfer *t = &x->transfers[x->transfer[n]];
        /* it has sent bytes, or taken a whole chunk; MPI keeps smaller messages until they are taken */
        if (!t->is_send || t->size - x->at[n] >= CHUNK) x->s->peers[peer].heard = now();
        if (t->is_send) {
            x->in_flight[peer]--;
            set_window(&x->s->peers[peer], now() - x->begun[n], x->timeout);
        } else {
            MPI_Get_count(&x->status[i], MPI_BYTE, &received);
            if ((size_t)received != x->size[n])
                return set_fault(fault, RANK_GARBLED, peer, "a message has another size");
        }
    }
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
        return set_fault(fault, RANK_GARBLED, x->s->rank, "MPI has failed");
    x->left -= finished;
    *progress = finished > 0;
    if (*progress) start_sends(x);
    return true;
}

/* Whether a rank has told that it has failed. */
static bool check_aborts(mpi_state *s, rank_fault *fault)
{
    abort_message m;
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_ABORT, s->comm, &found, &status);
    if (!found) return true;
    MPI_Recv(&m, (int)sizeof m, MPI_BYTE, status.MPI_SOURCE, TAG_ABORT, s->comm, MPI_STATUS_IGNORE);
    m.text[sizeof m.text - 1] = '\0';
    set_fault(fault, RANK_FAILED, status.MPI_SOURCE, m.text);
    fault->status = m.status;
    return false;
}

/* Whether the ranks that are waited for are alive. */
static bool check_peers(const mpi_exchange *x, double timeout, rank_fault *fault)
{
    const mpi_state *s = x->s;
    const double time = now();
    char text[128];
    for (int n = 0; n < x->requests; n++) {
        const int peer = x->transfers[x->transfer[n]].peer;
        const peer_state *p = &s->peers[peer];
        if (x->request[n] == MPI_REQUEST_NULL) continue;
        if (s->has_beats && time - p->heard > timeout) {
            snprintf(text, sizeof text, "nothing was heard from it for %.0f s", time - p->heard);
            return set_fault(fault, RANK_SILENT, peer, text);
        }
        if ((!s->has_beats || p->entered >= s->entered) && time - x->since > timeout) {
            snprintf(text, sizeof text, "its data did not arrive for %.0f s", time - x->since);
            return set_fault(fault, RANK_SILENT, peer, text);
        }
    }
    return true;
}

/* Gives up what is not finished. Sends cannot be cancelled: their memory may still be read. */
static void give_up(mpi_exchange *x)
{
    for (int n = 0; n < x->requests; n++) {
        int done = 0;
        if (x->request[n] == MPI_REQUEST_NULL) continue;
        if (!x->transfers[x->transfer[n]].is_send) MPI_Cancel(&x->request[n]);
        MPI_Test(&x->request[n], &done, MPI_STATUS_IGNORE);
        if (!done) x->s->is_dirty = true;
    }
}

static bool wait_all(mpi_exchange *x, double timeout, rank_fault *fault)
{
    enum { SPINS = 2000 };
    double last = now(), checked = last;
    x->since = last;
    for (long idle = 0; x->left > 0; idle++) {
        bool progress, ok;
        pthread_mutex_lock(&x->s->lock);
        ok = test(x, &progress, fault);
        const double time = now();
        if (progress) idle = 0, x->since = time;
        if (time - last > timeout / 2) x->since = time; /* this process was stopped itself */
        last = time;
        if (ok && !progress && time - checked > 0.005) {
            checked = time;
            hear(x->s);
            ok = check_aborts(x->s, fault) && check_peers(x, timeout, fault);
        }
        if (!ok) give_up(x);
        if (!ok && fault->kind == RANK_SILENT && fault->rank == 0) x->s->is_root_silent = true;
        pthread_mutex_unlock(&x->s->lock);
        if (!ok) return false;
        if (idle < SPINS)
            sched_yield();
        else
            nanosleep(&(struct timespec){ 0, 50000 }, NULL);
    }
    return true;
}

static bool exchange(void *state, const rank_transfer *transfers, int count, double timeout, rank_fault *fault)
{
    mpi_exchange x = { .s = state, .transfers = transfers, .count = count, .timeout = timeout };
    bool ok = exchange_new(&x);
    if (!ok) set_fault(fault, RANK_NO_MEMORY, x.s->rank, "");
    if (ok) {
        pthread_mutex_lock(&x.s->lock);
        x.s->entered++;
        start(&x);
        pthread_mutex_unlock(&x.s->lock);
        ok = wait_all(&x, timeout, fault);
    }
    exchange_free(&x);
    return ok;
}

/* ---- the end ---- */

static void abort_rank(void *state, int status, const char *text)
{
    mpi_state *s = state;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->count; i++) {
        if (i == s->rank || s->abort_requests[i] != MPI_REQUEST_NULL) continue;
        s->aborts[i].status = status;
        snprintf(s->aborts[i].text, sizeof s->aborts[i].text, "%s", text);
        MPI_Isend(&s->aborts[i], (int)sizeof s->aborts[i], MPI_BYTE, i, TAG_ABORT, s->comm, &s->abort_requests[i]);
    }
    pthread_mutex_unlock(&s->lock);
}

static void close_job(void *state, bool is_broken)
{
    mpi_state *s = state;
    watch w;
    pthread_mutex_lock(&s->lock);
    s->is_ending = true;
    pthread_cond_signal(&s->ended);
    pthread_mutex_unlock(&s->lock);
    if (s->has_beats) pthread_join(s->thread, NULL);
    fflush(NULL);
    if (is_broken || s->is_dirty) {
        if (s->rank > 0) nanosleep(&(struct timespec){ s->is_root_silent ? GRACE_WITHOUT_ROOT : GRACE, 0 }, NULL);
        MPI_Abort(s->comm, FAILED);
    }
    hear(s);
    watch_begin(&w, s->rank, s->patience, "end");
    MPI_Finalize();
    watch_end(&w);
    pthread_cond_destroy(&s->ended);
    pthread_mutex_destroy(&s->lock);
    free(s->peers);
    free(s->aborts);
    free(s->abort_requests);
    free(s);
}

static bool make_state(mpi_state *s)
{
    const size_t n = (size_t)s->count;
    s->peers = calloc(n, sizeof *s->peers);
    s->aborts = calloc(n, sizeof *s->aborts);
    s->abort_requests = calloc(n, sizeof *s->abort_requests);
    if (!s->peers || !s->aborts || !s->abort_requests) return false;
    for (int i = 0; i < s->count; i++) {
        s->peers[i] = (peer_state){ .heard = now(), .request = MPI_REQUEST_NULL, .window = MIN_WINDOW };
        s->abort_requests[i] = MPI_REQUEST_NULL;
    }
    init_lock(&s->lock, &s->ended);
    return true;
}

/* The calls that wait for all ranks. NULL: `text` says why. */
static mpi_state *init(char text[RANK_TEXT], int *level)
{
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, level) != MPI_SUCCESS) {
        snprintf(text, RANK_TEXT, "MPI_Init_thread failed");
        return NULL;
    }
    mpi_state *s = calloc(1, sizeof *s);
    if (s) {
        MPI_Comm_dup(MPI_COMM_WORLD, &s->comm);
        MPI_Comm_set_errhandler(s->comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(s->comm, &s->rank);
        MPI_Comm_size(s->comm, &s->count);
    }
    if (s && make_state(s)) return s;
    free(s);
    snprintf(text, RANK_TEXT, "no memory for MPI");
    return NULL;
}

static bool join(rank_transport *out, const rank_start *start, char text[RANK_TEXT])
{
    int level = MPI_THREAD_SINGLE;
    watch w;
    watch_begin(&w, start->rank, start->patience, "join");
    mpi_state *const s = init(text, &level);
    watch_end(&w);
    if (!s) return false;
    s->beat = start->beat, s->patience = start->patience, s->listened = now();
    s->has_beats =
        level >= MPI_THREAD_SERIALIZED && s->count > 1 && pthread_create(&s->thread, NULL, run_beats, s) == 0;
    *out = (rank_transport){
        .rank = s->rank, .count = s->count, .state = s, .exchange = exchange, .abort = abort_rank, .close = close_job
    };
    return true;
}

#ifdef OMPI_MAJOR_VERSION
#define TEXT_OF(x)          #x
#define VERSION_OF(a, b, c) "Open MPI " TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)
#define LIBRARY             VERSION_OF(OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION)
#else
#define LIBRARY "MPI"
#endif

__attribute__((visibility("default"))) const rank_plugin attend_rank_plugin = { RANK_PLUGIN_VERSION, LIBRARY, join };
