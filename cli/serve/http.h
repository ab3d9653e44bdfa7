/* http.h: HTTP/1.1, by libmicrohttpd, which http.c alone knows.
 *
 * Purpose    An exchange is a request and its answer. When a request is complete, `handle` either replies, or calls
 *            http_wait; http_wake, by any thread, then leads to `woken`, which replies. An answer may also be written
 *            part by part, by another thread (http_stream).
 * Refused    Requests with both Content-Length and Transfer-Encoding, with several Content-Length, with an encoding other
 *            than chunked, with invalid names of headers, with headers of several lines, with a body or a header that is
 *            too large: before they reach `handle`. A proxy in front may disagree with this server about where such a
 *            request ends ("request smuggling").
 * Threads    `handle`, `woken` and `finished` are called by the thread of the listener; `gone` by another. While an
 *            exchange waits, another thread may use it instead, until it calls http_wake. */
#ifndef ATTEND_CLI_SERVE_HTTP_H
#define ATTEND_CLI_SERVE_HTTP_H

#include "serve/connections.h"
#include <stddef.h>

typedef struct http_server http_server;
typedef struct http_exchange http_exchange;

typedef struct http_limits {
    size_t max_body, max_header;
    size_t max_bodies; /* bytes of all bodies that are kept at a time */
    connection_limits connections;
} http_limits;

enum { STATUS_CLIENT_LEFT = 499 };

typedef struct http_handler {
    void *user;
    void (*handle)(void *user, http_exchange *e);
    void (*woken)(void *user, http_exchange *e); /* not if there was an answer before http_wake */
    /* The client closed its connection; http_wake is still needed. Must not call functions of this header except
     * http_data. */
    void (*gone)(void *user, http_exchange *e);
    /* The exchange ends. status 0: it had no complete answer; STATUS_CLIENT_LEFT: because the client closed its
     * connection before. */
    void (*finished)(void *user, http_exchange *e, int status, double seconds);
} http_handler;

typedef struct http_counts {
    connection_counts connections;
    uint64_t too_large_bodies, too_large_headers, malformed; /* requests that were refused */
    uint64_t refused_bodies;                                 /* because of max_bodies, or without memory */
    int exchanges;                                           /* at present */
    size_t body_bytes;                                       /* at present */
} http_counts;

/* Starts a thread for each of the listening sockets, which it takes over. */
int http_server_new(http_server **out, const int *sockets, int count, const http_limits *limits,
                    const http_handler *handler);
/* Open files of such a server, at most. */
int http_server_max_files(const http_limits *limits, int count);
/* Closes the listening sockets; answers with Connection: close. */
void http_server_drain(http_server *s);
/* Cancels the exchanges that wait or stream, by `gone`, and returns when they have been woken. NULL is allowed. */
void http_server_free(http_server *s);
http_counts http_server_get_counts(http_server *s);

/* ---- requests ---- */

const char *http_method(const http_exchange *e); /* "GET"; HEAD is answered as GET, without the body */
const char *http_path(const http_exchange *e);
const char *http_header(const http_exchange *e, const char *name);      /* NULL: it has none */
const char *http_last_header(const http_exchange *e, const char *name); /* the last of several */
const char *http_body(const http_exchange *e, size_t *size);            /* ends with '\0' */
const client_address *http_client(const http_exchange *e);
int64_t http_began(const http_exchange *e); /* when the header was complete (clock.h) */
/* Data of the handler. */
void *http_data(const http_exchange *e);
void http_set_data(http_exchange *e, void *data);

/* ---- answers ---- */

/* Adds a header to the answer, before http_reply. */
void http_add_header(http_exchange *e, const char *name, const char *value);
/* Answers; if the exchange waits, the answer is sent after http_wake. The text is copied, except by http_reply_static. */
void http_reply(http_exchange *e, int status, const char *type, const char *text, size_t size);
void http_reply_static(http_exchange *e, int status, const char *type, const char *text, size_t size);
void http_wait(http_exchange *e);
void http_wake(http_exchange *e);

/* ---- answers in parts ---- */

/* An answer that is written while it is sent. It outlives its exchange, which ends if the client leaves. */
typedef struct http_stream http_stream;

/* A stream for an exchange, with two references: the caller's and that of the exchange. At most max_bytes wait to be
 * sent. NULL: no memory. */
http_stream *http_stream_new(http_exchange *e, size_t max_bytes);
/* Answers with the stream, with status 200. What was written before is sent as well. */
void http_reply_stream(http_exchange *e, http_stream *s, const char *type);
/* Adds a part; by any thread. false: there is nothing to write to any more, because the client has left or does not
 * read fast enough. */
bool http_stream_write(http_stream *s, const char *bytes, size_t size);
/* Ends the answer; drops the reference of its caller. By any thread. */
void http_stream_end(http_stream *s);

#endif
