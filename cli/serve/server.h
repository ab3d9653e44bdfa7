/* server.h: the state of attend serve. routes.c answers requests, translation.c those for /translate, explore.c those
 * for /explore, metrics.c writes /metrics, server_log.c the log. */
#ifndef ATTEND_CLI_SERVE_SERVER_H
#define ATTEND_CLI_SERVE_SERVER_H

#include "serve/api_keys.h"
#include "serve/helper_thread.h"
#include "serve/http.h"
#include "serve/rate_limit.h"
#include "serve/served_models.h"
#include <attend/json.h>
#include <stdatomic.h>

typedef enum server_state { SERVER_LOADING, SERVER_READY, SERVER_DRAINING } server_state;
typedef enum log_format { LOG_TEXT, LOG_JSON, LOG_NONE } log_format;

/* Why requests were refused, for metrics. */
typedef enum refusal {
    REFUSED_KEY,
    REFUSED_RATE,
    REFUSED_QUEUE,
    REFUSED_STATE,
    REFUSED_TEXTS,
    REFUSED_CHARACTERS,
    REFUSED_WEIGHTS,
    REFUSED_ANSWERS,
    REFUSED_DEADLINE,
    REFUSED_EXPLORATIONS,
    REFUSED_DEPTH,
    REFUSED_TOKENS,
    REFUSED_INVALID,
    REFUSAL_COUNT
} refusal;

enum { LATENCY_BUCKETS = 12, STATUS_COUNT = 600 };

typedef struct server {
    attend_batcher *batcher;
    served_models models;
    http_server *http;
    helper_thread *helper;
    api_keys keys;
    rate_limit rate;
    bool limit_local_rate; /* the rate limit applies to local addresses without a key too */
    bool behind_proxy;     /* X-Forwarded-For of local clients is their address */
    double deadline;       /* seconds of a request */
    int max_lines, max_characters, max_explorations;
    atomic_int explorations;    /* at present */
    long long max_weights;      /* of attention, in an answer */
    size_t max_answers;         /* bytes of all answers until they were sent; with attention, from the request on */
    atomic_size_t answer_bytes; /* at present; until there is an answer, estimated */
    const char *allow_origin;   /* NULL: none */
    log_format log;
    atomic_int state; /* server_state */
    _Atomic(uint64_t) answers[STATUS_COUNT], refusals[REFUSAL_COUNT];
    _Atomic(uint64_t) latency[LATENCY_BUCKETS + 1], latency_us; /* of /translate */
    _Atomic(uint64_t) reloads, failed_reloads;
} server;

/* ---- routes.c ---- */

extern const http_handler server_handler; /* its user is a server */
/* {"error": "..."} with the status, and a metric. */
void server_refuse(server *s, http_exchange *e, int status, refusal why, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Answers with what a writer has written to `json`, and frees it; 503 if it failed. */
void server_reply_json(server *s, http_exchange *e, int status, const attend_json_writer *w, attend_string *json);

/* The first member of the data of an exchange that takes longer. */
typedef struct server_task {
    void (*reply)(server *s, http_exchange *e); /* after http_wake */
    void (*cancel)(http_exchange *e);           /* the client has left */
    void (*end)(http_exchange *e);              /* frees the data */
} server_task;

/* ---- translation.c, translation_json.c, explore.c ---- */

/* Whether a line was refused for its length, or for another reason. */
refusal translation_fault_refusal(const char *fault);

void translation_begin(server *s, http_exchange *e);
void explore_begin(server *s, http_exchange *e);

/* ---- metrics.c, server_log.c ---- */

void metrics_count(server *s, const http_exchange *e, int status, double seconds);
void metrics_reply(server *s, http_exchange *e);
void log_request(const server *s, const http_exchange *e, int status, double seconds);
/* A line about the server itself. */
void log_event(const server *s, const char *event, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
