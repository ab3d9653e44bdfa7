/* explore.c: POST /explore: the beam of one line while it is searched, as server-sent events.
 *
 *     event: begin   {"separator": " " if tokens are words, else ""}
 *     event: step    {"step": 1, "branches": [{"parent", "number", "token", "probability", "score", "ended"}, ...]}
 *     event: end     {"translations": [{"text", "tokens", "score", "confidence"}, ...]}
 *     event: error   {"error": "..."}
 *
 * The worker that decodes the line writes to the stream of the exchange, and never waits for the client: one that does
 * not read is cancelled, as one that has left is. */
#include "serve/accept_request.h"
#include "serve/clock.h"

#include <attend/json.h>
#include <attend/status.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MAX_BEAM: a tree of more cannot be read. */
enum { MAX_BEAM = 8, MAX_UNSENT = 4 << 20 };

typedef struct exploration {
    server_task task;
    server *server;
    atomic_int references; /* of the exchange and of the worker */
    translate_request request;
    attend_search_options search;
    http_stream *stream;
    const attend_tokenizer *target;
    pthread_mutex_t lock; /* of the future */
    attend_future *future;
} exploration;

static void release(exploration *x)
{
    if (atomic_fetch_sub(&x->references, 1) > 1) return;
    atomic_fetch_sub(&x->server->explorations, 1);
    translate_request_free(&x->request);
    pthread_mutex_destroy(&x->lock);
    free(x);
}

/* ---- events ---- */

static attend_json_writer begin_event(attend_string *event, const char *name)
{
    attend_json_writer w = attend_json_to_string(event);
    w.minimal = true;
    attend_json_put_space(&w, "event: "), attend_json_put_space(&w, name), attend_json_put_space(&w, "\ndata: ");
    return w;
}

static bool send_event(exploration *x, attend_json_writer *w, attend_string *event)
{
    attend_json_put_space(w, "\n\n");
    const bool ok = w->status == ATTEND_OK && http_stream_write(x->stream, event->text, event->size);
    attend_string_free(event);
    return ok;
}

static void put_branch(attend_json_writer *w, const exploration *x, const attend_search_branch *b)
{
    const char *token = attend_tokenizer_token(x->target, b->token);
    attend_json_begin_object(w);
    attend_json_put_key(w, "parent"), attend_json_put_integer(w, b->parent);
    if (b->number >= 0) attend_json_put_key(w, "number"), attend_json_put_integer(w, b->number);
    attend_json_put_key(w, "token"), attend_json_put_text(w, b->token == ATTEND_END || !token ? "" : token);
    attend_json_put_key(w, "probability"), attend_json_put_number(w, 4, exp(b->log_probability));
    attend_json_put_key(w, "score"), attend_json_put_number(w, 4, b->score);
    if (b->ended) attend_json_put_key(w, "ended"), attend_json_put_bool(w, true);
    attend_json_end_object(w);
}

static void cancel(exploration *x)
{
    pthread_mutex_lock(&x->lock);
    if (x->future) attend_future_cancel(x->future);
    pthread_mutex_unlock(&x->lock);
}

/* Before the first step. */
static void send_begin(exploration *x)
{
    attend_string event = { 0 };
    attend_json_writer w = begin_event(&event, "begin");
    attend_json_begin_object(&w);
    attend_json_put_key(&w, "separator");
    attend_json_put_text(&w, attend_tokenizer_kind(x->target) == ATTEND_TOKENS_WORD ? " " : "");
    attend_json_end_object(&w);
    send_event(x, &w, &event);
}

static void send_step(void *user, int source, int step, const attend_search_branch *branches, int count)
{
    exploration *x = user;
    attend_string event = { 0 };
    (void)source;
    if (step == 1) send_begin(x);
    attend_json_writer w = begin_event(&event, "step");
    attend_json_begin_object(&w);
    attend_json_put_key(&w, "step"), attend_json_put_integer(&w, step);
    attend_json_put_key(&w, "branches"), attend_json_begin_array(&w);
    for (int i = 0; i < count; i++) put_branch(&w, x, &branches[i]);
    attend_json_end_array(&w), attend_json_end_object(&w);
    if (!send_event(x, &w, &event)) cancel(x);
}

/* ---- the end ---- */

static void put_translation(attend_json_writer *w, const attend_hypothesis *h)
{
    attend_json_begin_object(w);
    attend_json_put_key(w, "text"), attend_json_put_text(w, h->text);
    attend_json_put_key(w, "tokens"), attend_json_begin_array(w);
    for (int i = 0; i < h->count; i++)
        attend_json_put_bytes(w, h->text + h->spans[i].begin, (size_t)(h->spans[i].end - h->spans[i].begin));
    attend_json_end_array(w);
    attend_json_put_key(w, "score"), attend_json_put_number(w, 4, h->score);
    attend_json_put_key(w, "confidence"), attend_json_put_number(w, 4, h->confidence);
    attend_json_end_object(w);
}

static const char *error_of(const attend_future *f, refusal *why)
{
    const attend_line_result *r = attend_future_result(f);
    const attend_future_state state = attend_future_poll(f);
    *why = state == ATTEND_FUTURE_DONE      ? (r->fault ? translation_fault_refusal(r->fault) : REFUSED_INVALID)
           : state == ATTEND_FUTURE_EXPIRED ? REFUSED_DEADLINE
                                            : REFUSED_STATE;
    return state == ATTEND_FUTURE_DONE        ? r->fault
           : state == ATTEND_FUTURE_EXPIRED   ? "the translation took too long"
           : state == ATTEND_FUTURE_CANCELLED ? "the request was cancelled"
                                              : attend_future_message(f);
}

static void send_end(void *user, attend_future *f)
{
    exploration *x = user;
    attend_string event = { 0 };
    refusal why;
    const char *error = error_of(f, &why);
    attend_json_writer w = begin_event(&event, error ? "error" : "end");
    attend_json_begin_object(&w);
    if (error) {
        atomic_fetch_add(&x->server->refusals[why], 1);
        attend_json_put_key(&w, "error"), attend_json_put_text(&w, error);
    } else {
        const attend_line_result *r = attend_future_result(f);
        attend_json_put_key(&w, "translations"), attend_json_begin_array(&w);
        for (int i = 0; i < r->count; i++) put_translation(&w, &r->hypotheses[i]);
        attend_json_end_array(&w);
    }
    attend_json_end_object(&w);
    send_event(x, &w, &event);
    http_stream_end(x->stream);
    release(x);
}

/* ---- the exchange ---- */

static void client_gone(http_exchange *e)
{
    cancel(http_data(e));
}

static void exchange_end(http_exchange *e)
{
    exploration *x = http_data(e);
    pthread_mutex_lock(&x->lock);
    attend_future_free(x->future); /* cancels it */
    x->future = NULL;
    pthread_mutex_unlock(&x->lock);
    http_set_data(e, NULL);
    release(x);
}

/* ---- beginning ---- */

/* Takes one of the explorations; false after an answer. */
static bool take_place(server *s, http_exchange *e)
{
    if (s->max_explorations == 0) {
        server_refuse(s, e, 404, REFUSED_EXPLORATIONS, "this server does not show its searches");
        return false;
    }
    if (atomic_fetch_add(&s->explorations, 1) < s->max_explorations) return true;
    atomic_fetch_sub(&s->explorations, 1);
    server_refuse(s, e, 503, REFUSED_EXPLORATIONS, "the server shows %d searches already; try again later",
                  s->max_explorations);
    return false;
}

static int submit(exploration *x, http_exchange *e, int pair)
{
    server *s = x->server;
    const translate_request *r = &x->request;
    const double left = s->deadline - (double)(clock_now() - http_began(e)) * 1e-9;
    const attend_request request = { .text = r->texts[0],
                                     .size = strlen(r->texts[0]),
                                     .prefix = r->prefix,
                                     .prefix_size = r->prefix ? strlen(r->prefix) : 0,
                                     .search = &x->search,
                                     .timeout = s->deadline > 0 ? (left > 0.001 ? left : 0.001) : 0,
                                     .done = send_end,
                                     .branches = send_step,
                                     .user = x };
    pthread_mutex_lock(&x->lock); /* the worker may begin at once */
    const int status = served_models_submit(&s->models, pair, &x->future, 1, &request, &x->target);
    pthread_mutex_unlock(&x->lock);
    return status;
}

static void set_search(exploration *x)
{
    const translate_request *r = &x->request;
    attend_search_options *o = &x->search;
    *o = x->server->models.options.search;
    if (o->beam > MAX_BEAM) o->beam = MAX_BEAM;
    if (r->alternatives > 0) o->n_best = r->alternatives < o->beam ? r->alternatives + 1 : o->beam;
    if (r->prefix) o->shortlist = false;
}

static void start(exploration *x, http_exchange *e, int pair)
{
    server *s = x->server;
    set_search(x);
    x->stream = http_stream_new(e, MAX_UNSENT);
    if (!x->stream) {
        refuse_memory(s, e);
        return;
    }
    atomic_fetch_add(&x->references, 1);
    const int status = submit(x, e, pair);
    if (status == ATTEND_OK) {
        http_reply_stream(e, x->stream, "text/event-stream");
        return;
    }
    http_stream_end(x->stream);
    release(x);
    const bool is_busy = status == ATTEND_BUSY, is_invalid = status == ATTEND_BAD_USAGE;
    server_refuse(s, e,
                  is_busy      ? 503
                  : is_invalid ? 400
                               : 500,
                  is_busy      ? REFUSED_QUEUE
                  : is_invalid ? REFUSED_INVALID
                               : REFUSED_STATE,
                  "%s", is_busy ? "the server is busy; try again later" : attend_message());
}

void explore_begin(server *s, http_exchange *e)
{
    if (!take_place(s, e)) return;
    exploration *x = calloc(1, sizeof *x);
    if (!x) {
        atomic_fetch_sub(&s->explorations, 1);
        refuse_memory(s, e);
        return;
    }
    *x = (exploration){ .task = { NULL, client_gone, exchange_end }, .server = s, .references = 1 };
    pthread_mutex_init(&x->lock, NULL);
    http_set_data(e, x);
    const int pair = accept_request(s, e, &x->request);
    const translate_request *r = &x->request;
    if (pair < 0) return;
    if (r->text_count != 1 || strchr(r->texts[0], '\n'))
        server_refuse(s, e, 400, REFUSED_INVALID, "q must be one line");
    else
        start(x, e, pair);
}
