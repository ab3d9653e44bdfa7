/* translation.c: POST /translate. The lines of all texts are submitted together; the last one that is done wakes the
 * exchange, or has a large answer written before. */
#include "serve/accept_request.h"
#include "serve/clock.h"
#include "serve/server.h"
#include "serve/translation.h"

#include <attend/status.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Checks what accept_request does not; false after an answer. */
static bool check_request(server *s, http_exchange *e, const translation *t)
{
    const translate_request *r = &t->request;
    if (r->format && strcmp(r->format, "text") != 0 && strcmp(r->format, "html") != 0) {
        server_refuse(s, e, 400, REFUSED_INVALID, "the format %.20s is not supported; use text or html", r->format);
        return false;
    }
    if (r->attention && !served_models_has_attention(&s->models, t->pair)) {
        server_refuse(s, e, 400, REFUSED_INVALID, "the model has no attention");
        return false;
    }
    return true;
}

/* ---- lines ---- */

static int count_lines(const translation *t)
{
    const translate_request *r = &t->request;
    int n = 0;
    for (int i = 0; i < r->text_count; i++) {
        n += t->documents ? t->documents[i].segment_count : 1;
        for (const char *c = r->texts[i]; !t->documents && (c = strchr(c, '\n')); c++) n++;
    }
    return n;
}

static void find_lines(translation *t)
{
    const translate_request *r = &t->request;
    int n = 0;
    for (int i = 0; i < r->text_count; i++) {
        const html_document *d = t->documents ? &t->documents[i] : NULL;
        t->first[i] = n;
        for (int j = 0; d && j < d->segment_count; j++)
            t->lines[n++] = (translation_line){ d->texts + d->segments[j].text, d->segments[j].size, false };
        for (const char *line = d ? NULL : r->texts[i], *end; line; line = *end ? end + 1 : NULL) {
            end = line + strcspn(line, "\n");
            const bool has_return = *end && end > line && end[-1] == '\r';
            t->lines[n++] = (translation_line){ line, (size_t)(end - line) - has_return, has_return };
        }
    }
    t->first[r->text_count] = n;
}

/* Divides the texts into lines; false after an answer. */
static bool divide(server *s, http_exchange *e, translation *t)
{
    const translate_request *r = &t->request;
    if (r->format && strcmp(r->format, "html") == 0) {
        t->documents = calloc((size_t)r->text_count + 1, sizeof *t->documents);
        for (int i = 0; i < r->text_count; i++)
            if (!t->documents || html_parse(&t->documents[i], r->texts[i], strlen(r->texts[i])) != ATTEND_OK)
                return refuse_memory(s, e);
    }
    t->count = count_lines(t);
    if (t->count > s->max_lines) {
        server_refuse(s, e, 413, REFUSED_TEXTS, "the texts have %d lines; the limit is %d", t->count, s->max_lines);
        return false;
    }
    t->lines = calloc((size_t)t->count + 1, sizeof *t->lines);
    t->futures = calloc((size_t)t->count + 1, sizeof *t->futures);
    t->first = calloc((size_t)r->text_count + 1, sizeof *t->first);
    if (!t->lines || !t->futures || !t->first) return refuse_memory(s, e);
    find_lines(t);
    return true;
}

/* ---- submitting ---- */

static void write_answer(void *user)
{
    translation *t = user;
    pthread_mutex_lock(&t->lock); /* the listener may still submit */
    pthread_mutex_unlock(&t->lock);
    translation_reply(t->server, t->exchange);
    http_wake(t->exchange);
}

static void line_done(void *user, attend_future *f)
{
    enum { LARGE = 256 << 10 };
    translation *t = user;
    (void)f;
    if (atomic_fetch_sub(&t->remaining, 1) > 1) return;
    t->job = (helper_job){ .run = write_answer, .user = t };
    if (t->is_long || t->answer_bytes > LARGE)
        helper_thread_add(t->server->helper, &t->job);
    else
        http_wake(t->exchange);
}

/* A request for each line of each text. */
static void fill_requests(const server *s, translation *t, attend_request *requests)
{
    const translate_request *r = &t->request;
    const double left = s->deadline - (double)(clock_now() - http_began(t->exchange)) * 1e-9;
    for (int i = 0; i < t->count; i++) {
        requests[i] = (attend_request){ .text = t->lines[i].text, .size = t->lines[i].size, .search = &t->search };
        requests[i].prefix = r->prefix, requests[i].prefix_size = r->prefix ? strlen(r->prefix) : 0;
        requests[i].timeout = s->deadline > 0 ? (left > 0.001 ? left : 0.001) : 0;
        requests[i].stream = (uint64_t)i;
        requests[i].done = line_done, requests[i].user = t;
    }
}

/* An upper bound of the attention weights that the translations have: a row for each target token and for the end, with
 * a column for each source token and for the end, of each translation. A model that is replaced meanwhile may count
 * other tokens; translation_json.c counts again what is returned. */
static int max_weights(server *s, const translation *t, double *total)
{
    const translate_request *r = &t->request;
    const attend_search_options *o = &t->search;
    const int max_tokens = s->models.options.max_tokens;
    const double prefix = r->prefix ? fmin((double)strlen(r->prefix), max_tokens) : 0;
    *total = 0;
    for (int i = 0; i < t->count && *total <= (double)s->max_weights; i++) {
        const translation_line *line = &t->lines[i];
        int tokens;
        const int status = served_models_count_tokens(&s->models, t->pair, line->text, line->size, max_tokens, &tokens);
        if (status != ATTEND_OK) return status;
        const double source = tokens + 1.0;
        double target = o->length_ratio * source + o->length_extra;
        if (o->max_length > 0) target = fmin(target, o->max_length);
        *total += source * (fmax(target, prefix) + 1) * o->n_best;
    }
    return ATTEND_OK;
}

/* Reserves the memory of an answer with weights, which a slow client can keep for long; false after an answer. */
static bool reserve_weights(server *s, http_exchange *e, translation *t)
{
    double total = 0;
    if (!t->search.weights) return true;
    if (max_weights(s, t, &total) != ATTEND_OK) return refuse_memory(s, e);
    if (total > (double)s->max_weights) {
        server_refuse(s, e, 413, REFUSED_WEIGHTS, TOO_MANY_WEIGHTS);
        return false;
    }
    const bool has_room = translation_reserve(t, (size_t)total * WEIGHT_BYTES); /* at most max_answers */
    if (!has_room) server_refuse(s, e, 503, REFUSED_ANSWERS, "the server has no memory for this answer now");
    return has_room;
}

/* Submits all lines. The exchange waits before, because the last line may be done at once. */
static void submit(server *s, translation *t)
{
    attend_request *requests = calloc((size_t)t->count, sizeof *requests);
    int status = requests ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "out of memory");
    if (status == ATTEND_OK) fill_requests(s, t, requests);
    atomic_store(&t->remaining, t->count);
    pthread_mutex_lock(&t->lock); /* the client may leave meanwhile */
    if (status == ATTEND_OK) status = served_models_submit(&s->models, t->pair, t->futures, t->count, requests, NULL);
    t->status = status;
    t->is_submitted = status == ATTEND_OK;
    for (int i = 0; t->is_submitted && t->is_gone && i < t->count; i++) attend_future_cancel(t->futures[i]);
    pthread_mutex_unlock(&t->lock);
    free(requests);
    if (status == ATTEND_OK) return;
    strncat(t->message, attend_message(), sizeof t->message - 1);
    http_wake(t->exchange);
}

/* A prefix is translated, and answered, once for each line. False after an answer. */
static bool check_prefix(server *s, http_exchange *e, const translation *t)
{
    return !t->request.prefix || check_characters(s, e, &t->request, t->count);
}

/* True: the lines were submitted, or the submission failed; the exchange is woken. False after an answer. */
static bool start(server *s, http_exchange *e, translation *t)
{
    const translate_request *r = &t->request;
    t->search = s->models.options.search;
    t->search.weights |= r->attention || (t->documents && served_models_has_attention(&s->models, t->pair));
    if (r->alternatives > 0) t->search.n_best = r->alternatives < t->search.beam ? r->alternatives + 1 : t->search.beam;
    if (r->prefix) t->search.shortlist = false; /* a shortlist allows no prefixes */
    if (!reserve_weights(s, e, t)) return false;
    if (t->count == 0) { /* an empty array, or HTML without texts */
        translation_reply(s, e);
        return false;
    }
    if (!t->is_long) http_wait(e); /* else it does already */
    submit(s, t);
    return true;
}

/* What accept_request has not done. */
static void prepare(void *user)
{
    translation *t = user;
    server *s = t->server;
    http_exchange *e = t->exchange;
    const bool is_started =
        !(t->is_long && translation_is_gone(t)) && divide(s, e, t) && check_prefix(s, e, t) && start(s, e, t);
    if (!is_started && t->is_long) http_wake(e);
}

/* ---- ending ---- */

static void cancel(http_exchange *e)
{
    translation *t = http_data(e);
    pthread_mutex_lock(&t->lock);
    t->is_gone = true;
    for (int i = 0; t->is_submitted && i < t->count; i++) attend_future_cancel(t->futures[i]);
    pthread_mutex_unlock(&t->lock);
}

bool translation_is_gone(translation *t)
{
    pthread_mutex_lock(&t->lock);
    const bool is_gone = t->is_gone;
    pthread_mutex_unlock(&t->lock);
    return is_gone;
}

void translation_free_results(translation *t)
{
    pthread_mutex_lock(&t->lock);
    t->is_submitted = false;
    for (int i = 0; t->futures && i < t->count; i++) attend_future_free(t->futures[i]);
    for (int i = 0; t->documents && i < t->request.text_count; i++) html_free(&t->documents[i]);
    free(t->futures);
    free(t->documents);
    t->futures = NULL, t->documents = NULL;
    pthread_mutex_unlock(&t->lock);
}

bool translation_reserve(translation *t, size_t bytes)
{
    server *s = t->server;
    const size_t total = atomic_fetch_add(&s->answer_bytes, bytes) + bytes - t->answer_bytes;
    const bool has_room = total <= s->max_answers || bytes <= t->answer_bytes;
    atomic_fetch_sub(&s->answer_bytes, has_room ? t->answer_bytes : bytes);
    if (has_room) t->answer_bytes = bytes;
    return has_room;
}

static void end(http_exchange *e)
{
    translation *t = http_data(e);
    translation_reserve(t, 0);
    translation_free_results(t);
    free(t->lines);
    free(t->first);
    translate_request_free(&t->request);
    pthread_mutex_destroy(&t->lock);
    free(t);
    http_set_data(e, NULL);
}

/* ---- beginning ---- */

/* Whether reading the texts takes more than about a millisecond. */
static bool is_long(const server *s, const translate_request *r)
{
    enum { LONG = 8 << 10 };
    size_t bytes = r->prefix ? strlen(r->prefix) * (size_t)s->max_lines : 0;
    for (int i = 0; i < r->text_count; i++) bytes += strlen(r->texts[i]);
    return bytes > LONG;
}

void translation_begin(server *s, http_exchange *e)
{
    translation *t = calloc(1, sizeof *t);
    if (!t) {
        refuse_memory(s, e);
        return;
    }
    t->task = (server_task){ translation_reply, cancel, end };
    t->server = s, t->exchange = e;
    pthread_mutex_init(&t->lock, NULL);
    http_set_data(e, t);
    t->pair = accept_request(s, e, &t->request);
    if (t->pair < 0 || !check_request(s, e, t)) return;
    t->is_long = is_long(s, &t->request);
    t->job = (helper_job){ .run = prepare, .user = t };
    if (t->is_long) {
        http_wait(e);
        helper_thread_add(s->helper, &t->job);
    } else {
        prepare(t);
    }
}
