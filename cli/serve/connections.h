/* connections.h: the connections of the server: how many there are, and how long each may take.
 *
 * Purpose    libmicrohttpd limits only the time between two bytes, and does not notice that a client has left while its
 *            request waits for its translation. A thread therefore watches all sockets: it closes a connection whose
 *            phase takes too long in total, however many bytes it sends, and reports clients that close theirs.
 * Limits     At the maximum, a new connection takes the place of the one that has been without a complete request for
 *            the longest time; if all have one, it is refused.
 * Threads    All functions may be called by any thread. */
#ifndef ATTEND_CLI_SERVE_CONNECTIONS_H
#define ATTEND_CLI_SERVE_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct connections connections;
typedef struct connection connection;

/* The address of a client, for limits: an IPv4 address, or the first 64 bits of an IPv6 address. */
typedef struct client_address {
    unsigned char bytes[16];
    bool is_local; /* of this machine, or a Unix socket */
    char text[48];
} client_address;

client_address client_address_of(const struct sockaddr *a);
bool client_address_equal(const client_address *a, const client_address *b);

typedef enum connection_phase {
    PHASE_HEADER, /* until a request header is complete: after opening, and after each answer */
    PHASE_BODY,
    PHASE_WAIT, /* the request is complete, and its answer is not */
    PHASE_SEND
} connection_phase;

typedef struct connection_limits {
    int max_connections, max_per_address; /* max_per_address 0: none */
    bool limit_local;                     /* max_per_address applies to local addresses too */
    double seconds[4];                    /* of each phase; 0: no limit */
} connection_limits;

typedef struct connection_counts {
    int open;
    uint64_t accepted, refused, evicted; /* refused, or closed for others, at a limit */
    uint64_t late[4];                    /* closed because a phase took too long */
    uint64_t gone;                       /* clients that closed the connection while their request waited */
} connection_counts;

/* gone(user, waiting) is called if a client closes its connection in PHASE_WAIT, with a lock of the connections: it
 * must not call these functions. */
int connections_new(connections **out, const connection_limits *limits, void (*gone)(void *user, void *waiting),
                    void *user);
void connections_free(connections *all);

/* A new connection, in PHASE_HEADER. NULL: no memory. */
connection *connections_open(connections *all, int fd, const struct sockaddr *address);
/* Before its socket is closed. */
void connections_close(connections *all, connection *c);
/* Begins a phase. `waiting` is the argument of gone. */
void connections_set_phase(connections *all, connection *c, connection_phase phase, void *waiting);

typedef enum connection_end {
    CONNECTION_OPEN,
    CONNECTION_LEFT, /* its client has closed it while its request waited */
    CONNECTION_SHUT  /* this server has closed it, at a limit */
} connection_end;

connection_end connections_get_end(connections *all, const connection *c);

/* Calls gone for all that wait, as if their clients had left. */
void connections_cancel(connections *all);

/* Why its requests must be refused; NULL: they need not be. */
const char *connection_refusal(const connection *c);
const client_address *connection_address(const connection *c);
connection_counts connections_get_counts(connections *all);

#endif
