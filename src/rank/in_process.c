/* in_process.c: every pair of ranks has a queue of messages, which are copies. Each message has the time at which it
 * arrives, so that a slow network needs no thread of its own. */
#include "rank/in_process.h"

#include "core/memory.h"
#include "core/status.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct message {
    struct message *next;
    uint64_t number; /* of the messages between two ranks */
    double arrival;  /* seconds */
    size_t size;
    char data[];
} message;

typedef struct queue {
    message *first, *last;
    uint64_t sent, received;
} queue;

typedef struct rank_state {
    rank_group *group;
    int rank;
    uint64_t entered; /* exchanges */
    long messages;    /* sent */
    double out_free, in_free;
    double stopped; /* when it was stopped; 0: it runs */
    bool dead, aborted, left;
    int status;
    char text[RANK_TEXT];
    long fault_at;
    rank_fault_injection fault;
    double fault_seconds;
} rank_state;

struct rank_group {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
    double timeout, bandwidth, latency;
    rank_state *ranks; /* (count) */
    queue *queues;     /* (count, count): from, to */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wait_until(rank_group *g, double time)
{
    const struct timespec t = { (time_t)time, (long)((time - (double)(time_t)time) * 1e9) };
    pthread_cond_timedwait(&g->changed, &g->lock, &t);
}

/* ---- sending ---- */

static bool put(rank_state *s, const rank_transfer *t, double delay, size_t cut)
{
    rank_group *g = s->group;
    queue *q = &g->queues[s->rank * g->count + t->peer];
    rank_state *to = &g->ranks[t->peer];
    message *m = attend_memory_zeroed(1, sizeof *m + t->size);
    if (!m) return false;
    double start = now();
    if (g->bandwidth > 0) {
        start = start > s->out_free ? start : s->out_free;
        start = start > to->in_free ? start : to->in_free;
        start += (double)t->size / g->bandwidth;
        s->out_free = to->in_free = start;
    }
    *m = (message){ .number = q->sent, .arrival = start + g->latency + delay, .size = t->size - cut };
    memcpy(m->data, t->data, t->size - cut);
    if (q->last)
        q->last->next = m;
    else
        q->first = m;
    q->last = m;
    return true;
}

/* Sends with the fault that was asked for. False: no memory. */
static bool send_one(rank_state *s, const rank_transfer *t)
{
    rank_group *g = s->group;
    queue *q = &g->queues[s->rank * g->count + t->peer];
    const rank_fault_injection fault = ++s->messages == s->fault_at ? s->fault : INJECT_NONE;
    bool done = true;
    if (fault == INJECT_STOP) {
        s->stopped = now();
        const double end = s->stopped + s->fault_seconds;
        while (now() < end) wait_until(g, end);
        s->stopped = 0;
    }
    if (fault == INJECT_KILL) s->dead = true;
    if (s->dead) return true;
    if (fault != INJECT_DROP)
        done = put(s, t, fault == INJECT_DELAY ? s->fault_seconds : 0, fault == INJECT_TRUNCATE && t->size > 0);
    if (done && fault == INJECT_DUPLICATE) done = put(s, t, 0, 0);
    q->sent++;
    return done;
}

/* ---- receiving ---- */

static bool set_fault(rank_fault *f, rank_fault_kind kind, int rank, const char *text)
{
    *f = (rank_fault){ .kind = kind, .rank = rank, .status = ATTEND_FAILED };
    snprintf(f->text, sizeof f->text, "%s", text);
    return false;
}

static bool set_silence(rank_fault *f, int rank, const char *what, double seconds)
{
    char text[128];
    snprintf(text, sizeof text, "%s for %.1f s", what, seconds);
    return set_fault(f, RANK_SILENT, rank, text);
}

/* Takes the next message of a rank, if it has arrived. False: it is another one than expected. */
static bool take(rank_state *s, const rank_transfer *t, bool *taken, double *next, rank_fault *fault)
{
    queue *q = &s->group->queues[t->peer * s->group->count + s->rank];
    message *m = q->first;
    *taken = false;
    if (!m) return true;
    if (m->arrival > now()) {
        if (m->arrival < *next) *next = m->arrival;
        return true;
    }
    if (m->number != q->received) return set_fault(fault, RANK_GARBLED, t->peer, "a message is missing or came twice");
    if (m->size != t->size) return set_fault(fault, RANK_GARBLED, t->peer, "a message has another size");
    if (m->size) memcpy(t->data, m->data, m->size);
    q->first = m->next;
    if (!q->first) q->last = NULL;
    q->received++;
    attend_memory_free(m);
    *taken = true;
    return true;
}

/* Whether the ranks from which messages are missing are alive. */
static bool check_peers(rank_state *s, const rank_transfer *t, double since, double timeout, rank_fault *fault)
{
    rank_group *g = s->group;
    const double time = now();
    for (int i = 0; i < g->count; i++)
        if (i != s->rank && g->ranks[i].aborted) {
            set_fault(fault, RANK_FAILED, i, g->ranks[i].text);
            fault->status = g->ranks[i].status;
            return false;
        }
    const rank_state *peer = &g->ranks[t->peer];
    if ((peer->dead || peer->left) && !g->queues[t->peer * g->count + s->rank].first)
        return set_fault(fault, RANK_SILENT, t->peer, "it has ended");
    if (peer->stopped > 0 && time - peer->stopped > timeout)
        return set_silence(fault, t->peer, "nothing was heard from it", timeout);
    if (peer->entered >= s->entered && time - since > timeout)
        return set_silence(fault, t->peer, "its data did not arrive", timeout);
    return true;
}

static bool receive_all(rank_state *s, const rank_transfer *transfers, int count, double timeout, rank_fault *fault,
                        bool *is_done)
{
    rank_group *g = s->group;
    double since = now();
    int left = 0;
    for (int i = 0; i < count; i++) left += !is_done[i];
    while (left > 0) {
        double next = now() + 0.02;
        bool progress = false;
        for (int i = 0; i < count; i++) {
            if (is_done[i]) continue;
            if (!take(s, &transfers[i], &is_done[i], &next, fault)) return false;
            if (is_done[i]) left--, progress = true, since = now();
            if (!is_done[i] && !check_peers(s, &transfers[i], since, timeout, fault)) return false;
        }
        if (left > 0 && !progress) wait_until(g, next);
    }
    while (s->out_free > now()) wait_until(g, s->out_free);
    return true;
}

/* ---- the transport ---- */

static bool exchange(void *state, const rank_transfer *transfers, int count, double timeout, rank_fault *fault)
{
    rank_state *s = state;
    rank_group *g = s->group;
    bool *is_done = attend_memory_zeroed((size_t)count + 1, sizeof *is_done), ok = true;
    if (!is_done) return set_fault(fault, RANK_NO_MEMORY, s->rank, "");
    pthread_mutex_lock(&g->lock);
    s->entered++;
    for (int i = 0; ok && i < count; i++) {
        is_done[i] = transfers[i].is_send;
        if (transfers[i].is_send && !send_one(s, &transfers[i])) ok = set_fault(fault, RANK_NO_MEMORY, s->rank, "");
        if (s->dead) ok = set_fault(fault, RANK_SILENT, s->rank, "it was killed");
    }
    pthread_cond_broadcast(&g->changed);
    if (ok) ok = receive_all(s, transfers, count, timeout, fault, is_done);
    pthread_mutex_unlock(&g->lock);
    attend_memory_free(is_done);
    return ok;
}

static void abort_rank(void *state, int status, const char *text)
{
    rank_state *s = state;
    pthread_mutex_lock(&s->group->lock);
    if (!s->dead) {
        s->aborted = true, s->status = status;
        snprintf(s->text, sizeof s->text, "%s", text);
    }
    pthread_cond_broadcast(&s->group->changed);
    pthread_mutex_unlock(&s->group->lock);
}

static void leave(void *state, bool is_broken)
{
    rank_state *s = state;
    (void)is_broken;
    pthread_mutex_lock(&s->group->lock);
    s->left = true;
    pthread_cond_broadcast(&s->group->changed);
    pthread_mutex_unlock(&s->group->lock);
}

rank_group *attend_rank_group_new(int count, double timeout)
{
    rank_group *g = attend_memory_zeroed(1, sizeof *g);
    pthread_condattr_t attributes;
    if (!g) return NULL;
    g->count = count, g->timeout = timeout;
    g->ranks = attend_memory_zeroed((size_t)count, sizeof *g->ranks);
    g->queues = attend_memory_zeroed((size_t)count * (size_t)count, sizeof *g->queues);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    for (int i = 0; g->ranks && i < count; i++) g->ranks[i] = (rank_state){ .group = g, .rank = i };
    if (g->ranks && g->queues) return g;
    attend_rank_group_free(g);
    return NULL;
}

void attend_rank_group_free(rank_group *g)
{
    if (!g) return;
    for (int i = 0; g->queues && i < g->count * g->count; i++)
        for (message *m = g->queues[i].first, *next; m; m = next) {
            next = m->next;
            attend_memory_free(m);
        }
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    attend_memory_free(g->queues);
    attend_memory_free(g->ranks);
    attend_memory_free(g);
}

attend_ranks *attend_rank_group_join(rank_group *g, int rank)
{
    attend_ranks *r = NULL;
    const rank_transport transport = { .rank = rank,
                                       .count = g->count,
                                       .state = &g->ranks[rank],
                                       .exchange = exchange,
                                       .abort = abort_rank,
                                       .close = leave };
    return attend_ranks_new(&r, &transport, g->timeout) == ATTEND_OK ? r : NULL;
}

void attend_rank_group_inject(rank_group *g, int rank, long number, rank_fault_injection what, double seconds)
{
    g->ranks[rank].fault_at = number, g->ranks[rank].fault = what, g->ranks[rank].fault_seconds = seconds;
}

void attend_rank_group_throttle(rank_group *g, double bytes_per_second, double latency)
{
    g->bandwidth = bytes_per_second, g->latency = latency;
}

long attend_rank_group_messages(rank_group *g, int rank)
{
    pthread_mutex_lock(&g->lock);
    const long messages = g->ranks[rank].messages;
    pthread_mutex_unlock(&g->lock);
    return messages;
}
