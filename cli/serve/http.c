#include "serve/http.h"

#include "serve/clock.h"
#include <attend/parse.h>
#include <attend/string.h>
#include <attend/status.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* RESERVE: connections of a listener beyond the limit, which are refused with an answer. */
enum { MAX_HEADERS = 8, RESERVE = 64 };

struct http_stream {
    pthread_mutex_t lock;
    http_exchange *exchange; /* NULL: it has ended */
    int references;
    char *bytes; /* that wait to be sent: [sent, size) */
    size_t sent, size, capacity, max;
    bool is_ended, is_failed, is_suspended;
};

struct http_exchange {
    http_server *server;
    http_stream *stream; /* NULL: none */
    struct MHD_Connection *connection;
    connection *watched;
    const char *method, *path;
    int64_t began;
    char *body;
    size_t size, capacity;
    bool is_too_large, is_waiting, lacks_header;
    /* The body came in chunks. libmicrohttpd 0.9 accepts lines of chunks that end with '\n' alone, so that a proxy may see
     * another end: nothing after it is read. */
    bool must_close;
    int status;                 /* of the answer; 0: none yet */
    bool is_ready;              /* there was an answer while the exchange waited: */
    struct MHD_Response *ready; /* NULL: no memory */
    int ready_status;
    void *data;
    const char *names[MAX_HEADERS]; /* of the answer */
    char *values[MAX_HEADERS];
    int header_count;
};

struct http_server {
    http_limits limits;
    http_handler handler;
    struct MHD_Daemon **daemons;
    int *drained; /* the listening socket of each daemon that accepts no more connections */
    int daemon_count, drained_count;
    int unconnected; /* a socket that takes the place of listening ones */
    connections *connections;
    atomic_bool is_draining, is_stopping;
    atomic_int exchanges, suspended;
    atomic_size_t body_bytes;
    _Atomic(uint64_t) too_large_bodies, too_large_headers, malformed, refused_bodies;
};

/* ---- requests ---- */

const char *http_method(const http_exchange *e)
{
    return e->method;
}

const char *http_path(const http_exchange *e)
{
    return e->path;
}

const char *http_header(const http_exchange *e, const char *name)
{
    return MHD_lookup_connection_value(e->connection, MHD_HEADER_KIND, name);
}

typedef struct last_value {
    const char *name, *value;
} last_value;

static enum MHD_Result keep_last(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    last_value *l = user;
    (void)kind;
    if (strcasecmp(name, l->name) == 0) l->value = value;
    return MHD_YES;
}

const char *http_last_header(const http_exchange *e, const char *name)
{
    last_value l = { .name = name };
    MHD_get_connection_values(e->connection, MHD_HEADER_KIND, keep_last, &l);
    return l.value;
}

const char *http_body(const http_exchange *e, size_t *size)
{
    *size = e->size;
    return e->body ? e->body : "";
}

const client_address *http_client(const http_exchange *e)
{
    return connection_address(e->watched);
}

int64_t http_began(const http_exchange *e)
{
    return e->began;
}

void *http_data(const http_exchange *e)
{
    return e->data;
}

void http_set_data(http_exchange *e, void *data)
{
    e->data = data;
}

/* ---- answers ---- */

void http_add_header(http_exchange *e, const char *name, const char *value)
{
    char *copy = e->header_count < MAX_HEADERS ? strdup(value) : NULL;
    e->lacks_header |= !copy;
    if (!copy) return;
    e->names[e->header_count] = name;
    e->values[e->header_count++] = copy;
}

static void queue_response(http_exchange *e, int status, struct MHD_Response *r)
{
    const bool ok = (!atomic_load(&e->server->is_draining) && !e->must_close) ||
                    MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;
    connections_set_phase(e->server->connections, e->watched, PHASE_SEND, NULL);
    if (ok && MHD_queue_response(e->connection, (unsigned)status, r) == MHD_YES) e->status = status;
    MHD_destroy_response(r);
}

/* The answer has all its headers, or it is not sent: without memory, the connection is closed. */
static struct MHD_Response *with_headers(const http_exchange *e, const char *type, struct MHD_Response *r)
{
    if (!r) return NULL;
    bool ok = !e->lacks_header && MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
              MHD_add_response_header(r, "X-Content-Type-Options", "nosniff") == MHD_YES;
    for (int i = 0; ok && i < e->header_count; i++)
        ok = MHD_add_response_header(r, e->names[i], e->values[i]) == MHD_YES;
    if (ok) return r;
    MHD_destroy_response(r);
    return NULL;
}

static void send_response(http_exchange *e, int status, const char *type, struct MHD_Response *bare)
{
    struct MHD_Response *r = with_headers(e, type, bare);
    if (e->is_waiting)
        e->ready = r, e->ready_status = status, e->is_ready = true;
    else if (r)
        queue_response(e, status, r);
}

/* Queues the answer of an exchange that waited. */
static void queue_ready(http_exchange *e)
{
    struct MHD_Response *r = e->ready;
    e->ready = NULL;
    if (r) queue_response(e, e->ready_status, r);
}

static void reply(http_exchange *e, int status, const char *type, const char *text, size_t size,
                  enum MHD_ResponseMemoryMode mode)
{
    send_response(e, status, type, MHD_create_response_from_buffer(size, (void *)(uintptr_t)text, mode));
}

void http_reply(http_exchange *e, int status, const char *type, const char *text, size_t size)
{
    reply(e, status, type, text, size, MHD_RESPMEM_MUST_COPY);
}

void http_reply_static(http_exchange *e, int status, const char *type, const char *text, size_t size)
{
    reply(e, status, type, text, size, MHD_RESPMEM_PERSISTENT);
}

void http_wait(http_exchange *e)
{
    e->is_waiting = true;
    atomic_fetch_add(&e->server->suspended, 1);
    MHD_suspend_connection(e->connection);
    connections_set_phase(e->server->connections, e->watched, PHASE_WAIT, e);
}

void http_wake(http_exchange *e)
{
    connections_set_phase(e->server->connections, e->watched, PHASE_SEND, NULL);
    MHD_resume_connection(e->connection);
}

static void end_wait(http_exchange *e)
{
    e->is_waiting = false;
    atomic_fetch_sub(&e->server->suspended, 1);
}

/* ---- answers in parts ---- */

http_stream *http_stream_new(http_exchange *e, size_t max_bytes)
{
    http_stream *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    pthread_mutex_init(&s->lock, NULL);
    s->exchange = e, s->references = 2, s->max = max_bytes;
    e->stream = s;
    return s;
}

/* Drops a reference; the lock is held. */
static void release(http_stream *s)
{
    const bool is_last = --s->references == 0;
    pthread_mutex_unlock(&s->lock);
    if (!is_last) return;
    pthread_mutex_destroy(&s->lock);
    free(s->bytes);
    free(s);
}

/* Sends on, if the connection waits; the lock is held. */
static void resume_stream(http_stream *s)
{
    http_exchange *e = s->exchange;
    if (!e || !s->is_suspended) return;
    s->is_suspended = false;
    atomic_fetch_sub(&e->server->suspended, 1);
    connections_set_phase(e->server->connections, e->watched, PHASE_SEND, NULL);
    MHD_resume_connection(e->connection);
}

bool http_stream_write(http_stream *s, const char *bytes, size_t size)
{
    pthread_mutex_lock(&s->lock);
    if (s->sent > s->size / 2 || s->size + size > s->capacity) { /* not for each part */
        if (s->sent > 0) memmove(s->bytes, s->bytes + s->sent, s->size - s->sent);
        s->size -= s->sent, s->sent = 0;
    }
    const size_t total = s->size + size;
    bool ok = s->exchange && !s->is_failed && total - s->sent <= s->max;
    if (ok && total > s->capacity) {
        const size_t capacity = 2 * total < s->max ? 2 * total : s->max;
        char *grown = realloc(s->bytes, capacity);
        ok = grown != NULL;
        if (ok) s->bytes = grown, s->capacity = capacity;
    }
    if (ok) {
        memcpy(s->bytes + s->size, bytes, size);
        s->size = total;
    }
    s->is_failed = !ok;
    resume_stream(s);
    pthread_mutex_unlock(&s->lock);
    return ok;
}

void http_stream_end(http_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_ended = true;
    resume_stream(s);
    release(s);
}

/* Called by libmicrohttpd when it can send. While there is nothing, the connection is suspended, and watched. */
static ssize_t read_stream(void *user, uint64_t position, char *to, size_t max)
{
    http_stream *s = user;
    (void)position;
    pthread_mutex_lock(&s->lock);
    http_exchange *e = s->exchange;
    const size_t rest = s->size - s->sent, n = rest < max ? rest : max;
    ssize_t result = (ssize_t)n;
    if (n > 0) {
        memcpy(to, s->bytes + s->sent, n);
        s->sent += n;
    } else if (s->is_ended || !e || atomic_load(&e->server->is_stopping)) {
        result = s->is_failed || !s->is_ended ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        s->is_suspended = true;
        atomic_fetch_add(&e->server->suspended, 1);
        MHD_suspend_connection(e->connection);
        connections_set_phase(e->server->connections, e->watched, PHASE_WAIT, e);
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

void http_reply_stream(http_exchange *e, http_stream *s, const char *type)
{
    enum { BLOCK = 16 << 10 };
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, s, NULL);
    http_add_header(e, "Cache-Control", "no-store");
    http_add_header(e, "X-Accel-Buffering", "no"); /* nginx must not collect the parts */
    send_response(e, MHD_HTTP_OK, type, r);
}

/* The exchange has ended. */
static void leave_stream(http_exchange *e)
{
    http_stream *s = e->stream;
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    if (s->is_suspended) atomic_fetch_sub(&e->server->suspended, 1);
    s->is_suspended = false;
    s->exchange = NULL;
    release(s);
    e->stream = NULL;
}

/* ---- refusing ---- */

static void refuse(http_exchange *e, int status, const char *error)
{
    char text[256] = "{\"error\": \"";
    strncat(text, error, sizeof text - strlen(text) - 4);
    strcat(text, "\"}\n");
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE) http_add_header(e, "Retry-After", "1");
    http_add_header(e, MHD_HTTP_HEADER_CONNECTION, "close");
    http_reply(e, status, "application/json", text, strlen(text));
}

/* ---- headers that two servers could understand differently ---- */

typedef struct framing {
    bool reads_buffer; /* is_folded and is_cut are looked for in the buffer of libmicrohttpd 0.9 */
    int lengths, encodings, hosts;
    bool is_chunked, is_number, is_invalid_name, is_folded, is_cut;
    size_t length;
    /* The end of the last line. Another must begin after "\r\n", which libmicrohttpd 0.9 replaces by "\0\0"; it accepts
     * a '\n' alone, after which a proxy may see the same line. */
    const char *end;
    bool is_exact; /* the line is Content-Length or Transfer-Encoding: nothing may precede "\r\n", such as a '\0', at
                    * which libmicrohttpd cuts the value */
} framing;

/* libmicrohttpd 1.0 refuses headers of several lines, '\0', and a '\r' or '\n' alone itself, and its buffer differs. The
 * version is that of the library which is loaded: both have the same ABI. */
static bool has_lenient_parser(void)
{
    return strncmp(MHD_get_version(), "0.", 2) == 0;
}

/* RFC 9110, 5.6.2. */
static bool is_token(const char *name)
{
    const char *c = name;
    while (*c > ' ' && *c < 0x7f && !strchr("\"(),/:;<=>?@[\\]{}", *c)) c++;
    return c > name && *c == '\0';
}

/* Whether a name continues one of those that say where a request ends, or for whom it is. */
static bool is_extended(const char *name)
{
    static const char *const names[] = { MHD_HTTP_HEADER_CONTENT_LENGTH, MHD_HTTP_HEADER_TRANSFER_ENCODING,
                                         MHD_HTTP_HEADER_HOST };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t size = strlen(names[i]);
        if (strncasecmp(name, names[i], size) == 0 && name[size] != '\0') return true;
    }
    return false;
}

/* Whether a header had several lines. libmicrohttpd 0.9 appends the further ones to a copy of the name; otherwise the
 * value follows the name in the buffer, after the '\0' that replaced the colon, and blanks. */
static bool is_folded(const char *name, const char *value)
{
    const uintptr_t end = (uintptr_t)value;
    const char *c = name + strlen(name) + 1;
    if ((uintptr_t)c > end) return true;
    while ((uintptr_t)c < end && (*c == ' ' || *c == '\t')) c++;
    return (uintptr_t)c != end;
}

/* Whether the last line ends correctly before `next`. */
static bool is_line_end(const framing *f, const char *next)
{
    const uintptr_t end = (uintptr_t)f->end, at = (uintptr_t)next;
    if (at < end + 2 || (f->is_exact && at != end + 2)) return false;
    for (const char *c = f->end; (uintptr_t)c < at; c++)
        if (*c != '\0' && *c != ' ' && *c != '\t') return false;
    return next[-1] == '\0' && next[-2] == '\0';
}

/* A '\r' alone stays in a value, where a proxy may see a line end. */
static bool has_control(const char *value)
{
    const unsigned char *c = (const unsigned char *)value;
    while (*c && (*c >= ' ' || *c == '\t') && *c != 0x7f) c++;
    return *c != '\0';
}

static enum MHD_Result read_framing(void *user, enum MHD_ValueKind kind, const char *name, const char *value)
{
    framing *f = user;
    (void)kind;
    f->is_cut |= (f->reads_buffer && !is_line_end(f, name)) || (value && has_control(value));
    f->end = value ? value + strlen(value) : name + strlen(name);
    f->is_exact = false;
    f->is_invalid_name |= !is_token(name) || is_extended(name);
    f->is_folded |= !value || (f->reads_buffer && is_folded(name, value));
    if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
        uint64_t number = 0;
        const char *end = NULL;
        f->lengths++;
        f->is_number =
            value && value[0] >= '0' && value[0] <= '9' && attend_parse_unsigned(value, &end, &number) && *end == '\0';
        f->length = (size_t)number;
        f->is_exact = true;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        f->encodings++;
        f->is_chunked = value && strcasecmp(value, "chunked") == 0;
        f->is_exact = true;
    } else if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
        f->hosts++;
    }
    return MHD_YES;
}

static const char *malformation(const framing *f, const char *version)
{
    if (f->is_invalid_name) return "the name of a header is invalid";
    if (f->is_folded) return "a header has several lines";
    if (f->is_cut) return "a header has an invalid character or line end";
    if (f->encodings > 0 && strcmp(version, MHD_HTTP_VERSION_1_1) != 0) return "Transfer-Encoding needs HTTP/1.1";
    if (f->lengths > 0 && f->encodings > 0) return "a request has both Content-Length and Transfer-Encoding";
    if (f->lengths > 1) return "a request has several Content-Length headers";
    if (f->lengths == 1 && !f->is_number) return "Content-Length is not a number";
    if (f->encodings > 1 || (f->encodings == 1 && !f->is_chunked))
        return "a request has a Transfer-Encoding other than chunked";
    if (f->hosts > 1) return "a request has several Host headers";
    return NULL;
}

/* Refuses a request after its header; true: it did. */
static bool refuse_header(http_exchange *e, const char *method, const char *version)
{
    http_server *s = e->server;
    framing f = { .reads_buffer = has_lenient_parser(), .end = version + strlen(version), .is_exact = true };
    MHD_get_connection_values(e->connection, MHD_HEADER_KIND, read_framing, &f);
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(e->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    /* The request begins with the method, and its header ends with an empty line. */
    f.is_cut |= f.reads_buffer && size && !is_line_end(&f, method + size->header_size - 2);
    const char *malformed = malformation(&f, version), *refusal = connection_refusal(e->watched);
    if (refusal) {
        refuse(e, MHD_HTTP_SERVICE_UNAVAILABLE, refusal);
    } else if (malformed) {
        atomic_fetch_add(&s->malformed, 1);
        refuse(e, MHD_HTTP_BAD_REQUEST, malformed);
    } else if (size && size->header_size > s->limits.max_header) {
        atomic_fetch_add(&s->too_large_headers, 1);
        refuse(e, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, "the header of the request is too large");
    } else if (f.lengths == 1 && f.length > s->limits.max_body) {
        atomic_fetch_add(&s->too_large_bodies, 1);
        refuse(e, MHD_HTTP_CONTENT_TOO_LARGE, "the body of the request is too large");
    } else {
        e->must_close = f.is_chunked;
        return false;
    }
    return true;
}

/* ---- bodies ---- */

static bool reserve(http_exchange *e, size_t size)
{
    http_server *s = e->server;
    size_t capacity = e->capacity ? e->capacity : 1024;
    if (size < e->capacity) return true;
    while (capacity <= size) capacity *= 2;
    if (capacity > s->limits.max_body + 1) capacity = s->limits.max_body + 1; /* size is at most max_body */
    const size_t more = capacity - e->capacity;
    if (atomic_fetch_add(&s->body_bytes, more) + more <= s->limits.max_bodies) {
        char *body = realloc(e->body, capacity);
        if (body) {
            e->body = body, e->capacity = capacity;
            return true;
        }
    }
    atomic_fetch_sub(&s->body_bytes, more);
    return false;
}

/* Adds a part of the body. The rest of a body that is too large is read, so that the client gets an answer, but not
 * without end. */
static enum MHD_Result receive(http_exchange *e, const char *bytes, size_t size)
{
    const size_t max = e->server->limits.max_body;
    const size_t total = e->size + size;
    if (!e->is_too_large && (total > max || !reserve(e, total))) {
        e->is_too_large = true;
        atomic_fetch_add(total > max ? &e->server->too_large_bodies : &e->server->refused_bodies, 1);
    }
    if (!e->is_too_large) {
        memcpy(e->body + e->size, bytes, size);
        e->body[total] = '\0';
    }
    e->size = total;
    return total > 2 * max + 4096 ? MHD_NO : MHD_YES;
}

static void refuse_body(http_exchange *e)
{
    if (e->size > e->server->limits.max_body)
        refuse(e, MHD_HTTP_CONTENT_TOO_LARGE, "the body of the request is too large");
    else
        refuse(e, MHD_HTTP_SERVICE_UNAVAILABLE, "the server has no memory for this request now");
}

/* ---- libmicrohttpd ---- */

static http_exchange *exchange_new(http_server *s, struct MHD_Connection *c, const char *method, const char *path)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    http_exchange *e = info && info->socket_context ? calloc(1, sizeof *e) : NULL;
    if (!e) return NULL;
    *e = (http_exchange){ .server = s, .connection = c, .watched = info->socket_context, .path = path };
    e->method = strcmp(method, "HEAD") == 0 ? "GET" : method;
    e->began = clock_now();
    atomic_fetch_add(&s->exchanges, 1);
    connections_set_phase(s->connections, e->watched, PHASE_BODY, NULL);
    return e;
}

/* Called after the header, with each part of the body, after the body, and after http_wake. */
static enum MHD_Result answer(void *user, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *bytes, size_t *size, void **state)
{
    http_server *s = user;
    http_exchange *e = *state;
    if (!e) {
        *state = e = exchange_new(s, c, method, url);
        if (!e) return MHD_NO;
        return refuse_header(e, method, version) && e->status == 0 ? MHD_NO : MHD_YES;
    }
    if (*size > 0) {
        const size_t n = *size;
        *size = 0;
        return receive(e, bytes, n);
    }
    e->method = strcmp(method, "HEAD") == 0 ? "GET" : method;
    e->path = url; /* libmicrohttpd may have moved them */
    if (e->is_too_large)
        refuse_body(e);
    else if (e->is_waiting) {
        end_wait(e);
        if (e->is_ready)
            queue_ready(e);
        else
            s->handler.woken(s->handler.user, e);
    } else {
        connections_set_phase(s->connections, e->watched, PHASE_SEND, NULL); /* complete: it is not evicted */
        s->handler.handle(s->handler.user, e);
    }
    return e->status || e->is_waiting ? MHD_YES : MHD_NO;
}

/* The status for the log: that of the answer, if the client has received it. */
static int final_status(const http_exchange *e, enum MHD_RequestTerminationCode code)
{
    const connection_end end = connections_get_end(e->server->connections, e->watched);
    if (end == CONNECTION_LEFT) return STATUS_CLIENT_LEFT;
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK) return e->status;
    if (end == CONNECTION_SHUT || code == MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN) return 0;
    const bool is_left =
        e->status || code == MHD_REQUEST_TERMINATED_READ_ERROR || code == MHD_REQUEST_TERMINATED_CLIENT_ABORT;
    return is_left ? STATUS_CLIENT_LEFT : 0;
}

static void completed(void *user, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode code)
{
    http_server *s = user;
    http_exchange *e = *state;
    (void)c;
    if (!e) return;
    if (e->is_waiting) end_wait(e);
    if (e->ready) MHD_destroy_response(e->ready);
    leave_stream(e);
    connections_set_phase(s->connections, e->watched, PHASE_HEADER, NULL);
    s->handler.finished(s->handler.user, e, final_status(e, code), (double)(clock_now() - e->began) * 1e-9);
    atomic_fetch_sub(&s->body_bytes, e->capacity);
    free(e->body);
    for (int i = 0; i < e->header_count; i++) free(e->values[i]);
    free(e);
    *state = NULL;
    atomic_fetch_sub(&s->exchanges, 1);
}

static void connected(void *user, struct MHD_Connection *c, void **context, enum MHD_ConnectionNotificationCode code)
{
    http_server *s = user;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        connections_close(s->connections, *context);
        *context = NULL;
        return;
    }
    /* The next call may overwrite what the last one returned. */
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    const int fd = info ? info->connect_fd : -1;
    info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *context = fd >= 0 ? connections_open(s->connections, fd, info ? info->client_addr : NULL) : NULL;
}

static void gone(void *user, void *waiting)
{
    http_server *s = user;
    s->handler.gone(s->handler.user, waiting);
}

/* ---- the server ---- */

/* libmicrohttpd's own limits are above ours, so that ours come first, with an answer. */
static int start(http_server *s, int socket)
{
    enum { HEADER_RESERVE = 8 << 10, STRICT = 1 };
    struct MHD_Daemon *d =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL, NULL, answer,
                         s, MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_NOTIFY_COMPLETED, completed, s,
                         MHD_OPTION_NOTIFY_CONNECTION, connected, s, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)(s->limits.connections.max_connections + RESERVE),
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, s->limits.max_header + HEADER_RESERVE,
                         MHD_OPTION_STRICT_FOR_CLIENT, STRICT, MHD_OPTION_END);
    if (!d) return attend_fail(ATTEND_FAILED, "the HTTP server cannot be started: libmicrohttpd refuses");
    s->daemons[s->daemon_count++] = d;
    return ATTEND_OK;
}

int http_server_max_files(const http_limits *limits, int count)
{
    enum { OWN = 4 }; /* of each listener */
    return limits->connections.max_connections + count * (RESERVE + OWN);
}

int http_server_new(http_server **out, const int *sockets, int count, const http_limits *limits,
                    const http_handler *handler)
{
    *out = NULL;
    http_server *s = calloc(1, sizeof *s);
    if (!s) return attend_fail(ATTEND_NO_MEMORY, "out of memory");
    s->limits = *limits, s->handler = *handler;
    s->daemons = calloc((size_t)count, sizeof *s->daemons);
    s->drained = calloc((size_t)count, sizeof *s->drained);
    s->unconnected = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int status = s->daemons && s->drained ? connections_new(&s->connections, &limits->connections, gone, s)
                                          : attend_fail(ATTEND_NO_MEMORY, "out of memory");
    if (status == ATTEND_OK && s->unconnected < 0)
        status = attend_fail(ATTEND_IO, "cannot make a socket: %s", attend_errno_text(errno));
    for (int i = 0; status == ATTEND_OK && i < count; i++) status = start(s, sockets[i]);
    if (status != ATTEND_OK) {
        http_server_free(s);
        return status;
    }
    *out = s;
    return ATTEND_OK;
}

/* The system must accept no more connections for this process, but the number of the socket must stay in use: a daemon's
 * thread may still call accept on it. Not shutdown, because the socket may be shared with the process that activated this
 * one. */
void http_server_drain(http_server *s)
{
    atomic_store(&s->is_draining, true);
    for (int i = 0; i < s->daemon_count; i++) {
        const MHD_socket socket = MHD_quiesce_daemon(s->daemons[i]);
        if (socket == MHD_INVALID_SOCKET) continue;
        while (dup2(s->unconnected, socket) < 0 && errno == EINTR) continue;
        s->drained[s->drained_count++] = socket;
    }
}

/* libmicrohttpd aborts the process if a connection is suspended when it stops. */
static void cancel_waiting(http_server *s)
{
    enum { ANSWER_TICKS = 200 }; /* a second, to send the answers */
    const struct timespec tick = { 0, 5000000 };
    if (atomic_load(&s->suspended) == 0) return;
    for (; atomic_load(&s->suspended) > 0; nanosleep(&tick, NULL)) connections_cancel(s->connections);
    for (int i = 0; i < ANSWER_TICKS && atomic_load(&s->exchanges) > 0; i++) nanosleep(&tick, NULL);
}

void http_server_free(http_server *s)
{
    if (!s) return;
    atomic_store(&s->is_stopping, true);
    cancel_waiting(s);
    for (int i = 0; i < s->daemon_count; i++) MHD_stop_daemon(s->daemons[i]);
    for (int i = 0; i < s->drained_count; i++) close(s->drained[i]);
    if (s->unconnected >= 0) close(s->unconnected);
    connections_free(s->connections);
    free(s->daemons);
    free(s->drained);
    free(s);
}

http_counts http_server_get_counts(http_server *s)
{
    return (http_counts){ .connections = connections_get_counts(s->connections),
                          .too_large_bodies = atomic_load(&s->too_large_bodies),
                          .too_large_headers = atomic_load(&s->too_large_headers),
                          .malformed = atomic_load(&s->malformed),
                          .refused_bodies = atomic_load(&s->refused_bodies),
                          .exchanges = atomic_load(&s->exchanges),
                          .body_bytes = atomic_load(&s->body_bytes) };
}
