/* routes.c: which function answers a request. The API is LibreTranslate's. */
#include "serve/languages.h"
#include "serve/page.h"
#include "serve/server.h"

#include <attend/json.h>
#include <attend/status.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- answers ---- */

void server_reply_json(server *s, http_exchange *e, int status, const attend_json_writer *w, attend_string *json)
{
    static const char no_memory[] = "{\"error\": \"the server has no memory for this answer now\"}\n";
    http_add_header(e, "Cache-Control", "no-store");
    if (w->status == ATTEND_OK) {
        http_reply(e, status, "application/json", json->text, json->size);
    } else {
        atomic_fetch_add(&s->refusals[REFUSED_STATE], 1);
        http_reply_static(e, 503, "application/json", no_memory, strlen(no_memory));
    }
    attend_string_free(json);
}

void server_refuse(server *s, http_exchange *e, int status, refusal why, const char *format, ...)
{
    char text[600];
    attend_string json = { 0 };
    attend_json_writer w = attend_json_to_string(&json);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    atomic_fetch_add(&s->refusals[why], 1);
    if (status == 503) http_add_header(e, "Retry-After", "1");
    attend_json_begin_object(&w);
    attend_json_put_key(&w, "error"), attend_json_put_text(&w, text);
    attend_json_end_object(&w);
    attend_json_put_space(&w, "\n");
    server_reply_json(s, e, status, &w, &json);
}

/* ---- small answers ---- */

static void health(server *s, http_exchange *e)
{
    static const char *const texts[] = { "{\"status\": \"loading\"}\n", "{\"status\": \"ok\"}\n",
                                         "{\"status\": \"draining\"}\n" };
    const int state = atomic_load(&s->state);
    http_add_header(e, "Cache-Control", "no-store");
    if (state != SERVER_READY) http_add_header(e, "Retry-After", "1");
    http_reply_static(e, state == SERVER_READY ? 200 : 503, "application/json", texts[state], strlen(texts[state]));
}

/* Whether pair i is the first with its source. */
static bool is_first_source(const served_models *m, int i)
{
    for (int j = 0; j < i; j++)
        if (language_codes_equal(m->pairs[i].source, m->pairs[j].source)) return false;
    return true;
}

static void put_language(attend_json_writer *w, const char *code)
{
    attend_json_begin_object(w);
    attend_json_put_key(w, "code"), attend_json_put_text(w, code);
    attend_json_put_key(w, "name"), attend_json_put_text(w, language_name(code));
}

static void languages(server *s, http_exchange *e)
{
    attend_string json = { 0 };
    attend_json_writer w = attend_json_to_string(&json);
    const served_models *m = &s->models;
    w.minimal = true;
    attend_json_begin_array(&w);
    for (int i = 0; i < m->count; i++) {
        if (!is_first_source(m, i)) continue;
        put_language(&w, m->pairs[i].source);
        attend_json_put_key(&w, "targets"), attend_json_begin_array(&w);
        for (int j = i; j < m->count; j++)
            if (language_codes_equal(m->pairs[i].source, m->pairs[j].source))
                attend_json_put_text(&w, m->pairs[j].target);
        attend_json_end_array(&w), attend_json_end_object(&w);
    }
    attend_json_end_array(&w);
    attend_json_put_space(&w, "\n");
    server_reply_json(s, e, 200, &w, &json);
}

static void settings(server *s, http_exchange *e)
{
    attend_string json = { 0 };
    attend_json_writer w = attend_json_to_string(&json);
    w.minimal = true;
    attend_json_begin_object(&w);
    attend_json_put_key(&w, "charLimit"), attend_json_put_integer(&w, s->max_characters);
    attend_json_put_key(&w, "frontendTimeout"), attend_json_put_integer(&w, 500);
    attend_json_put_key(&w, "apiKeys"), attend_json_put_bool(&w, s->keys.count > 0);
    attend_json_put_key(&w, "keyRequired"), attend_json_put_bool(&w, s->keys.count > 0);
    attend_json_put_key(&w, "explore"), attend_json_put_bool(&w, s->max_explorations > 0);
    attend_json_put_key(&w, "suggestions"), attend_json_put_bool(&w, false);
    attend_json_put_key(&w, "filesTranslation"), attend_json_put_bool(&w, false);
    attend_json_put_key(&w, "supportedFilesFormat"), attend_json_begin_array(&w), attend_json_end_array(&w);
    attend_json_put_key(&w, "language"), attend_json_begin_object(&w);
    attend_json_put_key(&w, "source"), put_language(&w, s->models.pairs[0].source), attend_json_end_object(&w);
    attend_json_put_key(&w, "target"), put_language(&w, s->models.pairs[0].target), attend_json_end_object(&w);
    attend_json_end_object(&w);
    attend_json_end_object(&w);
    attend_json_put_space(&w, "\n");
    server_reply_json(s, e, 200, &w, &json);
}

/* There is no detector of languages: the answer is known only if there is one source language. */
static void detect(server *s, http_exchange *e)
{
    attend_string json = { 0 };
    attend_json_writer w = attend_json_to_string(&json);
    for (int i = 1; i < s->models.count; i++)
        if (is_first_source(&s->models, i)) {
            server_refuse(s, e, 400, REFUSED_INVALID,
                          "this server has several source languages and cannot detect which one a text is in");
            return;
        }
    attend_json_begin_array(&w), attend_json_begin_object(&w);
    attend_json_put_key(&w, "confidence"), attend_json_put_integer(&w, 100);
    attend_json_put_key(&w, "language"), attend_json_put_text(&w, s->models.pairs[0].source);
    attend_json_end_object(&w), attend_json_end_array(&w);
    attend_json_put_space(&w, "\n");
    server_reply_json(s, e, 200, &w, &json);
}

/* The page may run its own script and style, talk to this server, and nothing else. */
static void page(server *s, http_exchange *e)
{
    char policy[400];
    (void)s;
    snprintf(policy, sizeof policy,
             "default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; img-src data:; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             serve_page_script_hash, serve_page_style_hash);
    http_add_header(e, "Content-Security-Policy", policy);
    http_add_header(e, "Referrer-Policy", "no-referrer");
    http_add_header(e, "Cache-Control", "no-cache");
    http_reply_static(e, 200, "text/html; charset=utf-8", (const char *)serve_page_document.bytes,
                      serve_page_document.size);
}

/* ---- routes ---- */

static const struct route {
    const char *method, *path;
    void (*answer)(server *s, http_exchange *e);
    bool needs_models;
} routes[] = {
    { "POST", "/translate", translation_begin, true },
    { "POST", "/explore", explore_begin, true },
    { "GET", "/", page, false },
    { "GET", "/languages", languages, false },
    { "POST", "/detect", detect, false },
    { "GET", "/frontend/settings", settings, false },
    { "GET", "/health", health, false },
    { "GET", "/metrics", metrics_reply, false },
};
enum { ROUTES = sizeof routes / sizeof *routes };

/* Lets pages of another origin call the API, if that is allowed. */
static void allow_origin(const server *s, http_exchange *e)
{
    const char *origin = s->allow_origin ? http_header(e, "Origin") : NULL;
    if (!origin || (strcmp(s->allow_origin, "*") != 0 && strcmp(s->allow_origin, origin) != 0)) return;
    http_add_header(e, "Access-Control-Allow-Origin", s->allow_origin);
    http_add_header(e, "Vary", "Origin");
    if (strcmp(http_method(e), "OPTIONS") != 0) return;
    http_add_header(e, "Access-Control-Allow-Methods", "GET, POST");
    http_add_header(e, "Access-Control-Allow-Headers", "Authorization, Content-Type");
}

static void handle(void *user, http_exchange *e)
{
    server *s = user;
    const char *allowed = NULL;
    allow_origin(s, e);
    for (int i = 0; i < ROUTES; i++) {
        if (strcmp(routes[i].path, http_path(e)) != 0) continue;
        allowed = routes[i].method;
        if (strcmp(http_method(e), "OPTIONS") == 0) {
            http_reply_static(e, 204, "text/plain", "", 0);
            return;
        }
        if (strcmp(routes[i].method, http_method(e)) != 0) continue;
        if (routes[i].needs_models && atomic_load(&s->state) != SERVER_READY)
            server_refuse(s, e, 503, REFUSED_STATE,
                          atomic_load(&s->state) == SERVER_LOADING ? "the models are being loaded"
                                                                   : "the server is shutting down");
        else
            routes[i].answer(s, e);
        return;
    }
    if (allowed) {
        http_add_header(e, "Allow", strcmp(allowed, "GET") == 0 ? "GET, HEAD, OPTIONS" : "POST, OPTIONS");
        server_refuse(s, e, 405, REFUSED_INVALID, "this path does not accept the method %.20s", http_method(e));
    } else {
        server_refuse(s, e, 404, REFUSED_INVALID, "there is no such path");
    }
}

static void woken(void *user, http_exchange *e)
{
    const server_task *t = http_data(e);
    t->reply(user, e);
}

static void gone(void *user, http_exchange *e)
{
    const server_task *t = http_data(e);
    (void)user;
    t->cancel(e);
}

static void finished(void *user, http_exchange *e, int status, double seconds)
{
    server *s = user;
    metrics_count(s, e, status, seconds);
    log_request(s, e, status, seconds);
    const server_task *t = http_data(e);
    if (t) t->end(e);
}

const http_handler server_handler = { .handle = handle, .woken = woken, .gone = gone, .finished = finished };
