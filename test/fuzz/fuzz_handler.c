/* Any request to attend serve, from its method to its answer, with HTTP replaced by this file: the first byte has flags,
 * then follow "METHOD PATH", the lines of the header, an empty line and the body. Every request has one answer, with a
 * status that the documents name; JSON is valid; a client that leaves at once cancels it; no memory of answers and no
 * exploration is left. */
#include "fuzz/fuzz.h"
#include "serve/page.h"
#include "serve/server.h"
#include "support/json_check.h"
#include "support/tiny_pairs.h"

#include <attend/text.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

static void must(int holds)
{
    if (!holds) abort();
}

/* ---- HTTP ---- */

const serve_page_part serve_page_document = { (const unsigned char *)"page", 4 };
const char serve_page_style_hash[] = "sha256-a", serve_page_script_hash[] = "sha256-b";

enum { FUZZ_HEADERS = 16, FUZZ_ANSWER_HEADERS = 8 };

struct http_stream {
    atomic_int references;
    http_exchange *exchange; /* under the lock; NULL: it has ended */
    char *bytes;
    size_t size, max;
};

struct http_exchange {
    const char *method, *path, *body;
    size_t size;
    char *names[FUZZ_HEADERS], *values[FUZZ_HEADERS];
    int header_count, answer_headers;
    client_address address;
    void *data;
    bool waits, is_woken, has_ended; /* under the lock; has_ended: its stream */
    int status, answers;
    bool is_json;
    char *text;
    http_stream *stream;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

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
    for (int i = 0; i < e->header_count; i++)
        if (strcasecmp(e->names[i], name) == 0) return e->values[i];
    return NULL;
}

const char *http_last_header(const http_exchange *e, const char *name)
{
    for (int i = e->header_count - 1; i >= 0; i--)
        if (strcasecmp(e->names[i], name) == 0) return e->values[i];
    return NULL;
}

const char *http_body(const http_exchange *e, size_t *size)
{
    *size = e->size;
    return e->body;
}

const client_address *http_client(const http_exchange *e)
{
    return &e->address;
}

int64_t http_began(const http_exchange *e)
{
    (void)e;
    return 1;
}

void *http_data(const http_exchange *e)
{
    return e->data;
}

void http_set_data(http_exchange *e, void *data)
{
    e->data = data;
}

void http_add_header(http_exchange *e, const char *name, const char *value)
{
    must(e->answers == 0 && ++e->answer_headers <= FUZZ_ANSWER_HEADERS);
    must(strlen(name) > 0 && strpbrk(value, "\r\n") == NULL);
}

void http_reply(http_exchange *e, int status, const char *type, const char *text, size_t size)
{
    must(++e->answers == 1);
    e->status = status;
    e->is_json = strcmp(type, "application/json") == 0;
    e->text = malloc(size + 1);
    must(e->text != NULL);
    memcpy(e->text, text, size);
    e->text[size] = '\0';
    must(strlen(e->text) == size);
}

void http_reply_static(http_exchange *e, int status, const char *type, const char *text, size_t size)
{
    http_reply(e, status, type, text, size);
}

void http_wait(http_exchange *e)
{
    must(!e->waits && e->answers == 0);
    e->waits = true;
}

void http_wake(http_exchange *e)
{
    pthread_mutex_lock(&lock);
    must(e->waits && !e->is_woken);
    e->is_woken = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

http_stream *http_stream_new(http_exchange *e, size_t max_bytes)
{
    http_stream *s = calloc(1, sizeof *s);
    must(s != NULL);
    atomic_store(&s->references, 2);
    s->exchange = e, s->max = max_bytes;
    e->stream = s;
    return s;
}

static void release(http_stream *s)
{
    if (atomic_fetch_sub(&s->references, 1) > 1) return;
    free(s->bytes);
    free(s);
}

void http_reply_stream(http_exchange *e, http_stream *s, const char *type)
{
    must(e->stream == s && strcmp(type, "text/event-stream") == 0 && ++e->answers == 1);
    e->status = 200;
}

bool http_stream_write(http_stream *s, const char *bytes, size_t size)
{
    pthread_mutex_lock(&lock);
    const bool ok = s->exchange && s->size + size <= s->max;
    if (ok) {
        s->bytes = realloc(s->bytes, s->size + size + 1);
        must(s->bytes != NULL);
        memcpy(s->bytes + s->size, bytes, size);
        s->size += size;
        s->bytes[s->size] = '\0';
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

void http_stream_end(http_stream *s)
{
    pthread_mutex_lock(&lock);
    if (s->exchange) s->exchange->has_ended = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    release(s);
}

http_counts http_server_get_counts(http_server *s)
{
    (void)s;
    return (http_counts){ .exchanges = 1 };
}

/* ---- the server ---- */

static server servers[2]; /* the second has API keys, a rate, and small limits */
static served_pair pairs[2];

static int next_line(void *user, const char **line, size_t *size)
{
    static const char *const lines[] = { "a b c d", "b c <", "a &" };
    int *next = user;
    if (*next == 3) return 0;
    *line = lines[(*next)++];
    *size = strlen(*line);
    return 1;
}

static attend_model *model_of(attend_token_kind kind)
{
    attend_tokenizer_options options = ATTEND_TOKENIZER_OPTIONS_INIT;
    attend_tokenizer *t = NULL;
    attend_config config;
    attend_model *m = NULL;
    options.kind = kind;
    must(attend_tokenizer_learn(&t, &options, next_line, &(int){ 0 }) == ATTEND_OK);
    must(tiny_config(&config, "hidden=2 embedding=2 attention-width=2") == ATTEND_OK);
    config.source_vocab = config.target_vocab = attend_tokenizer_size(t);
    must(attend_model_new(&m, &config, 1) == ATTEND_OK);
    must(attend_tokenizer_attach(t, m, "source") == ATTEND_OK && attend_tokenizer_attach(t, m, "target") == ATTEND_OK);
    attend_tokenizer_free(t);
    return m;
}

static void begin_server(server *s, bool is_strict)
{
    const attend_translator_options options = ATTEND_TRANSLATOR_OPTIONS_INIT;
    const attend_batcher_options batching = { 1, 32 };
    s->models.options = options;
    s->models.options.max_tokens = 12;
    s->models.options.search.beam = 2, s->models.options.search.max_length = 4;
    s->models.pairs = pairs, s->models.count = 2;
    pthread_rwlock_init(&s->models.lock, NULL);
    must(attend_batcher_new(&s->batcher, &batching) == ATTEND_OK);
    for (int i = 0; !is_strict && i < 2; i++) {
        attend_model *m = model_of(i == 0 ? ATTEND_TOKENS_WORD : ATTEND_TOKENS_CHAR);
        pairs[i] = (served_pair){ .count = 1, .models = { m }, .has_attention = true };
        strcpy(pairs[i].source, i == 0 ? "en" : "pt-BR"), strcpy(pairs[i].target, "fr");
        must(attend_batcher_add_model(&pairs[i].model, s->batcher, m, &s->models.options) == ATTEND_OK);
    }
    must(helper_thread_new(&s->helper) == ATTEND_OK);
    s->max_lines = is_strict ? 3 : 30, s->max_characters = is_strict ? 20 : 40000, s->max_explorations = 1;
    s->max_weights = is_strict ? 50 : 100000, s->max_answers = is_strict ? 700 : 1 << 22;
    s->allow_origin = "https://a", s->behind_proxy = true, s->log = LOG_NONE, s->limit_local_rate = is_strict;
    atomic_store(&s->state, SERVER_READY);
    must(rate_limit_new(&s->rate, is_strict ? 100 : 0) == ATTEND_OK);
    if (!is_strict) return;
    s->keys = (api_keys){ .keys = calloc(1, sizeof *s->keys.keys), .count = 1, .capacity = 1 };
    must(s->keys.keys != NULL);
    strcpy(s->keys.keys[0], "key-1234");
}

/* ---- requests ---- */

static char *cut(char **at, char c)
{
    char *begin = *at, *end = begin + strcspn(begin, (char[]){ c, '\0' });
    *at = *end ? end + 1 : end;
    *end = '\0';
    return begin;
}

static void read_request(http_exchange *e, char *text, size_t size)
{
    char *at = text, *line = cut(&at, '\n');
    e->method = cut(&line, ' ');
    if (strcmp(e->method, "HEAD") == 0) e->method = "GET"; /* as http.c does */
    e->path = line;
    while (*at && *(line = cut(&at, '\n')) && e->header_count < FUZZ_HEADERS) {
        e->names[e->header_count] = cut(&line, ':');
        e->values[e->header_count++] = line + strspn(line, " ");
    }
    e->body = at, e->size = (size_t)(text + size - at);
}

/* Waits until a flag is set, a minute at most. */
static void wait_for(const bool *flag)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    pthread_mutex_lock(&lock);
    while (!*flag) must(pthread_cond_timedwait(&changed, &lock, &end) == 0);
    pthread_mutex_unlock(&lock);
}

static void check_answer(const http_exchange *e)
{
    static const int statuses[] = { 200, 204, 400, 403, 404, 405, 413, 415, 429, 503 };
    bool is_known = false;
    must(e->answers == 1);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) is_known |= e->status == statuses[i];
    must(is_known);
    if (!e->is_json) return;
    reader r = { .at = e->text };
    must(value(&r));
    blanks(&r);
    must(*r.at == '\0');
    must(e->status == 200 || strncmp(e->text, "{\"error\": \"", 11) == 0 ||
         strncmp(e->text, "{\"status\": \"", 12) == 0);
}

/* Each event is one line of JSON. */
static void check_stream(const http_stream *s)
{
    for (const char *at = s->bytes; at && *at;) {
        must(strncmp(at, "event: ", 7) == 0 && (at = strstr(at, "\ndata: ")) != NULL);
        reader r = { .at = at + 7 };
        must(value(&r) && strncmp(r.at, "\n\n", 2) == 0);
        at = r.at + 2;
    }
}

static void run(server *s, http_exchange *e, bool leaves)
{
    server_handler.handle(s, e);
    if (e->waits || (e->stream && e->answers)) {
        if (leaves) server_handler.gone(s, e);
        wait_for(e->waits ? &e->is_woken : &e->has_ended);
    }
    if (e->waits && e->answers == 0) server_handler.woken(s, e);
    check_answer(e);
    if (e->stream && e->answers) check_stream(e->stream);
    server_handler.finished(s, e, e->status, 0.1);
    if (!e->stream) return;
    pthread_mutex_lock(&lock);
    e->stream->exchange = NULL;
    pthread_mutex_unlock(&lock);
    release(e->stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!servers[0].batcher) begin_server(&servers[0], false), begin_server(&servers[1], true);
    if (size == 0) return 0;
    char *text = malloc(size);
    must(text != NULL);
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = '\0';
    server *s = &servers[bytes[0] & 1];
    http_exchange e = { .address = client_address_of((struct sockaddr *)&(struct sockaddr_in){
                            .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } }) };
    read_request(&e, text, size - 1);
    run(s, &e, bytes[0] & 2);
    free(e.text);
    free(text);
    must(atomic_load(&s->answer_bytes) == 0);
    for (int i = 0; atomic_load(&s->explorations) > 0; i++) { /* the worker still holds it for a moment */
        must(i < 60000);
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    return 0;
}

void fuzz_seeds(void (*seed)(const void *bytes, size_t size))
{
    static const char json[] = "Content-Type: application/json\n\n{\"source\": \"en\", \"target\": \"fr\", ";
    static const char *const heads[] = { "0POST /translate\n", "2POST /translate\n",
                                         "1POST /translate\nAuthorization: Bearer key-1234\n", "0POST /explore\n",
                                         "2POST /explore\n" };
    static const char *const rests[] = {
        "\"q\": \"a b\", \"alternatives\": 1, \"attention\": true}",
        "\"q\": [\"a\", \"b\\r\\nc\", \"\"], \"prefix\": \"d\", \"api_key\": \"key-1234\", \"format\": null}",
        "\"format\": \"html\", \"q\": [\"<p>a <b>b <i>c</b></i>&amp;<br>d<!--\", \"<pre>\"], \"alternatives\": \"2\"}",
    };
    static const char *const others[] = {
        "0POST /translate\nContent-Type: "
        "application/x-www-form-urlencoded\n\nq=a+%3cb&source=auto&target=fr&format=html",
        "0POST /translate\nContent-Type: "
        "application/x-www-form-urlencoded\n\nq=a&q=%f0&source=PT_br&target=fr&alternatives=1",
        "1POST /translate\nX-Forwarded-For: 1.2.3.4, ::1\n\n{\"q\": \"a\", \"source\": \"en\", \"target\": \"fr\"}",
        "0OPTIONS /explore\nOrigin: https://a\n\n",
        "0HEAD /metrics\n\n",
        "0GET /languages\n\n",
        "0POST /detect\n\nq=a",
        "0GET /frontend/settings\n\n",
        "0GET /health\n\n",
        "0GET /\n\n",
    };
    char text[4096];
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (size_t j = 0; j < sizeof rests / sizeof *rests; j++) {
            snprintf(text, sizeof text, "%s%s%s", heads[i], json, rests[j]);
            seed(text, strlen(text));
        }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) seed(others[i], strlen(others[i]));
    /* long enough for the helper thread */
    static char large[12000];
    const int n = snprintf(large, sizeof large, "0POST /translate\n%s\"attention\": true, \"q\": \"", json);
    memset(large + n, 'a', sizeof large - 2 - (size_t)n);
    memcpy(large + sizeof large - 2, "\"}", 2);
    seed(large, sizeof large);
    large[0] = '2';
    seed(large, sizeof large);
}
