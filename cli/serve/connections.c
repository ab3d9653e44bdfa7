#define _GNU_SOURCE /* EPOLLRDHUP */
#include "serve/connections.h"

#include "serve/clock.h"

#include <arpa/inet.h>
#include <attend/status.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct connection {
    int fd;
    client_address address;
    const char *refusal;
    connection_phase phase;
    int64_t began; /* the phase */
    void *waiting;
    bool is_watched, is_shut, has_left;
    bool has_ended; /* its client sends no more: seen by the last look at it */
    connection *next, *previous;
};

struct connections {
    connection_limits limits;
    void (*gone)(void *user, void *waiting);
    void *user;
    pthread_mutex_t lock;
    connection *first;
    connection_counts counts;
    int watch; /* epoll */
    pthread_t watcher;
    bool has_watcher;
    atomic_bool stop;
};

/* ---- addresses ---- */

client_address client_address_of(const struct sockaddr *a)
{
    client_address c = { .is_local = true, .text = "unix" };
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)a;
    if (a && a->sa_family == AF_INET) {
        memcpy(c.bytes, &v4->sin_addr, 4);
        c.is_local = c.bytes[0] == 127;
        inet_ntop(AF_INET, &v4->sin_addr, c.text, sizeof c.text);
    } else if (a && a->sa_family == AF_INET6) {
        const unsigned char *bytes = v6->sin6_addr.s6_addr;
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
            memcpy(c.bytes, bytes + 12, 4);
            c.is_local = c.bytes[0] == 127;
        } else {
            c.bytes[15] = 6;
            memcpy(c.bytes, bytes, 8);
            c.is_local = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
        }
        inet_ntop(AF_INET6, &v6->sin6_addr, c.text, sizeof c.text);
    }
    return c;
}

bool client_address_equal(const client_address *a, const client_address *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0 && a->is_local == b->is_local;
}

/* ---- watching ---- */

/* Closes both directions, which libmicrohttpd notices; it closes the socket. */
static void shut(connection *c)
{
    if (c->is_shut) return;
    c->is_shut = true;
    shutdown(c->fd, SHUT_RDWR);
}

static void check_times(connections *all, int64_t now)
{
    for (connection *c = all->first; c; c = c->next) {
        const double limit = c->refusal ? 1 : all->limits.seconds[c->phase];
        if (c->is_shut || c->phase == PHASE_WAIT || limit == 0 || (double)(now - c->began) * 1e-9 < limit) continue;
        all->counts.late[c->phase]++;
        shut(c);
    }
}

/* Whether the client has closed its direction, and nothing is left to be read. */
static bool sends_no_more(const connection *c)
{
    char byte;
    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Closes connections whose request can never be complete. libmicrohttpd does not notice an end that comes together with
 * the bytes before it. Two looks, so that a request which has just been read is not lost. */
static void check_ends(connections *all)
{
    for (connection *c = all->first; c; c = c->next) {
        const bool is_incomplete = !c->is_shut && !c->refusal && c->phase <= PHASE_BODY && sends_no_more(c);
        if (is_incomplete && c->has_ended) {
            c->has_left = true;
            shutdown(c->fd, SHUT_RDWR);
        }
        c->has_ended = is_incomplete;
    }
}

static void report_gone(connections *all, connection *wanted)
{
    for (connection *c = all->first; c; c = c->next) { /* it may have been closed meanwhile */
        if (c != wanted || !c->waiting) continue;
        all->counts.gone++;
        c->has_left = true;
        all->gone(all->user, c->waiting);
        return;
    }
}

void connections_cancel(connections *all)
{
    pthread_mutex_lock(&all->lock);
    for (connection *c = all->first; c; c = c->next)
        if (c->waiting) all->gone(all->user, c->waiting);
    pthread_mutex_unlock(&all->lock);
}

static void *watch(void *argument)
{
    enum { EVENTS = 64, TICK_MS = 50, LOOK_MS = 500 };
    connections *all = argument;
    struct epoll_event events[EVENTS];
    for (int64_t checked = 0, looked = 0; !atomic_load(&all->stop);) {
        const int n = epoll_wait(all->watch, events, EVENTS, TICK_MS);
        const int64_t now = clock_now();
        pthread_mutex_lock(&all->lock);
        for (int i = 0; i < n; i++) report_gone(all, events[i].data.ptr);
        if (now - checked >= TICK_MS * 1000000LL) check_times(all, checked = now);
        if (now - looked >= LOOK_MS * 1000000LL) {
            check_ends(all);
            looked = now;
        }
        pthread_mutex_unlock(&all->lock);
    }
    return NULL;
}

int connections_new(connections **out, const connection_limits *limits, void (*gone)(void *user, void *waiting),
                    void *user)
{
    *out = NULL;
    connections *all = calloc(1, sizeof *all);
    if (!all) return attend_fail(ATTEND_NO_MEMORY, "out of memory");
    all->limits = *limits, all->gone = gone, all->user = user;
    pthread_mutex_init(&all->lock, NULL);
    all->watch = epoll_create1(EPOLL_CLOEXEC);
    const int error = all->watch < 0 ? errno : pthread_create(&all->watcher, NULL, watch, all);
    all->has_watcher = error == 0;
    if (error) {
        connections_free(all);
        return attend_fail(ATTEND_FAILED, "cannot watch connections: %s", attend_errno_text(error));
    }
    *out = all;
    return ATTEND_OK;
}

void connections_free(connections *all)
{
    if (!all) return;
    atomic_store(&all->stop, true);
    if (all->has_watcher) pthread_join(all->watcher, NULL);
    if (all->watch >= 0) close(all->watch);
    while (all->first) connections_close(all, all->first);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- connections ---- */

static int count_of_address(const connections *all, const client_address *a)
{
    int n = 0;
    for (const connection *c = all->first; c; c = c->next) n += !c->is_shut && client_address_equal(&c->address, a);
    return n;
}

/* Closes the connection that has been without a complete request for the longest time; false: there is none. */
static bool evict(connections *all)
{
    connection *oldest = NULL;
    for (connection *c = all->first; c; c = c->next)
        if (!c->is_shut && c->phase <= PHASE_BODY && (!oldest || c->began <= oldest->began)) oldest = c;
    if (!oldest) return false;
    all->counts.evicted++;
    shut(oldest);
    return true;
}

static const char *refusal_of(connections *all, const client_address *a)
{
    int open = 0;
    for (const connection *c = all->first; c; c = c->next) open += !c->is_shut;
    if (all->limits.max_per_address > 0 && (all->limits.limit_local || !a->is_local) &&
        count_of_address(all, a) >= all->limits.max_per_address)
        return "too many connections from this address";
    if (open >= all->limits.max_connections && !evict(all)) return "too many connections";
    return NULL;
}

connection *connections_open(connections *all, int fd, const struct sockaddr *address)
{
    connection *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->fd = fd;
    c->address = client_address_of(address);
    c->began = clock_now();
    pthread_mutex_lock(&all->lock);
    c->refusal = refusal_of(all, &c->address);
    all->counts.accepted++;
    all->counts.refused += c->refusal != NULL;
    all->counts.open++;
    c->next = all->first;
    if (c->next) c->next->previous = c;
    all->first = c;
    pthread_mutex_unlock(&all->lock);
    return c;
}

void connections_close(connections *all, connection *c)
{
    if (!c) return;
    pthread_mutex_lock(&all->lock);
    if (c->is_watched) epoll_ctl(all->watch, EPOLL_CTL_DEL, c->fd, NULL);
    if (c->previous)
        c->previous->next = c->next;
    else
        all->first = c->next;
    if (c->next) c->next->previous = c->previous;
    all->counts.open--;
    pthread_mutex_unlock(&all->lock);
    free(c);
}

void connections_set_phase(connections *all, connection *c, connection_phase phase, void *waiting)
{
    const bool watched = phase == PHASE_WAIT;
    struct epoll_event event = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = c };
    pthread_mutex_lock(&all->lock);
    c->phase = phase;
    c->waiting = waiting;
    c->began = clock_now();
    if (watched)
        epoll_ctl(all->watch, EPOLL_CTL_ADD, c->fd, &event);
    else if (c->is_watched)
        epoll_ctl(all->watch, EPOLL_CTL_DEL, c->fd, NULL);
    c->is_watched = watched;
    pthread_mutex_unlock(&all->lock);
}

connection_end connections_get_end(connections *all, const connection *c)
{
    pthread_mutex_lock(&all->lock);
    const connection_end end = c->is_shut ? CONNECTION_SHUT : c->has_left ? CONNECTION_LEFT : CONNECTION_OPEN;
    pthread_mutex_unlock(&all->lock);
    return end;
}

const char *connection_refusal(const connection *c)
{
    return c->refusal;
}

const client_address *connection_address(const connection *c)
{
    return &c->address;
}

connection_counts connections_get_counts(connections *all)
{
    pthread_mutex_lock(&all->lock);
    const connection_counts counts = all->counts;
    pthread_mutex_unlock(&all->lock);
    return counts;
}
