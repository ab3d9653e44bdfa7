/* cmd_serve.c: a translation server: its options, its life and its signals. */
#include "compute_option.h"
#include "options.h"
#include "plugin_option.h"
#include "search_options.h"
#include "serve/listen.h"
#include "serve/server.h"
#include "serve/translation.h"

#include <attend/status.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct settings {
    search_settings search;
    texts_list models, listen, plugins;
    const char *api_keys, *allow_origin;
    long long queue, max_body, max_bodies, max_header, max_connections, max_per_address, max_lines, max_characters;
    long long max_weights, max_answers, max_explorations;
    double deadline, header_timeout, send_timeout, rate;
    bool behind_proxy, shortlist;
    int log, precision;
} settings;

static const char *const log_names[] = { "text", "json", "none", NULL };

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "SOURCE-TARGET=FILE",
      "a model and its languages, such as en-fr=FILE; may be repeated. Several models for the same languages form an "
      "ensemble",
      OPTION_NAMED_INPUTS, AT(models), 0, 0, NULL },
    { "listen", "ADDRESS",
      "where to accept connections: HOST:PORT, [::1]:PORT or unix:PATH; may be repeated (default: 127.0.0.1:5000, or "
      "the sockets of systemd)",
      OPTION_TEXTS, AT(listen), 0, 0, NULL },
    { "queue", "N", "lines that may wait; requests beyond it get status 503", OPTION_INTEGER, AT(queue), 1, 1e6, NULL },
    { "deadline", "SECONDS", "maximum time of a request, from its header to its translation; 0: no limit", OPTION_REAL,
      AT(deadline), 0, 1e6, NULL },
    { "max-lines", "N", "lines of a request, of all its texts together", OPTION_INTEGER, AT(max_lines), 1, 1e6, NULL },
    { "max-characters", "N", "characters of a request; 0: no limit", OPTION_INTEGER, AT(max_characters), 0, 1e9, NULL },
    { "max-weights", "N",
      "attention weights of a request, estimated from the lengths of its lines; requests beyond it get status 413",
      OPTION_INTEGER, AT(max_weights), 1, 1e12, NULL },
    { "max-answers", "SIZE",
      "memory of all answers until they were sent; requests beyond it get status 503 (default: 256M, or that of an "
      "answer of --max-weights)",
      OPTION_SIZE, AT(max_answers), 1, 1e13, NULL },
    { "max-explorations", "N", "beams that are shown while they grow (/explore) at a time; 0: none", OPTION_INTEGER,
      AT(max_explorations), 0, 1e6, NULL },
    { "max-body", "SIZE", "size of a request body (default: 1M)", OPTION_SIZE, AT(max_body), 1, 1e9, NULL },
    { "max-bodies", "SIZE", "memory of all request bodies together (default: 64M)", OPTION_SIZE, AT(max_bodies), 1,
      1e12, NULL },
    { "max-header", "SIZE", "size of a request header (default: 16k)", OPTION_SIZE, AT(max_header), 512, 1e6, NULL },
    { "header-timeout", "SECONDS",
      "close a connection that has not sent a complete header this long after it was opened, or after its last answer",
      OPTION_REAL, AT(header_timeout), 0.1, 1e6, NULL },
    { "send-timeout", "SECONDS", "close a connection whose client takes longer to receive an answer", OPTION_REAL,
      AT(send_timeout), 0.1, 1e6, NULL },
    { "max-connections", "N",
      "open connections; beyond it, the one that has been without a complete request for the longest time is closed",
      OPTION_INTEGER, AT(max_connections), 1, 1e6, NULL },
    { "max-per-address", "N",
      "open connections from one address (default: 64, and no limit for addresses of this machine; 0: no limit)",
      OPTION_INTEGER, AT(max_per_address), 0, 1e6, NULL },
    { "rate", "N",
      "requests a second for each API key or address, with bursts of twice as many (default: 50, and no limit for "
      "addresses of this machine; 0: no limit)",
      OPTION_REAL, AT(rate), 0, 1e6, NULL },
    { "api-keys", "FILE", "accept requests with one of these keys only; a key on each line", OPTION_INPUT, AT(api_keys),
      0, 0, NULL },
    { "behind-proxy", NULL,
      "take the address of a client from the last entry of X-Forwarded-For, if a proxy on this machine sends it",
      OPTION_FLAG, AT(behind_proxy), 0, 0, NULL },
    { "allow-origin", "URL", "let pages of this origin use the API in a browser; *: all (default: none)", OPTION_TEXT,
      AT(allow_origin), 0, 0, NULL },
    { "log", NULL, "the format of the log on standard error; none: only events of the server itself", OPTION_CHOICE,
      AT(log), 0, 0, log_names },
    { "precision", NULL, "precision of the weights; lower is faster (default: that of the file)", OPTION_CHOICE,
      AT(precision), 0, 0, attend_precision_names },
    { "shortlist", NULL, "restrict the output to the models' shortlists (attend convert --shortlist)", OPTION_FLAG,
      AT(shortlist), 0, 0, NULL },
    PLUGIN_OPTION(AT(plugins)),
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* ---- starting ---- */

/* The signals are blocked, and taken by serve. */
static bool is_ending(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
}

static int open_listeners(const settings *s, listeners *l, bool *from_systemd)
{
    int status = listeners_from_systemd(l, from_systemd);
    for (int i = 0; status == ATTEND_OK && i < s->listen.count; i++) status = listeners_add(l, s->listen.items[i]);
    if (status == ATTEND_OK && l->count == 0) status = listeners_add(l, "127.0.0.1:5000");
    return status;
}

static http_limits limits_of(const settings *s, bool per_address_given)
{
    http_limits l = { .max_body = (size_t)s->max_body,
                      .max_header = (size_t)s->max_header,
                      .max_bodies = (size_t)s->max_bodies };
    l.connections = (connection_limits){ .max_connections = (int)s->max_connections,
                                         .max_per_address = (int)s->max_per_address,
                                         .limit_local = per_address_given };
    l.connections.seconds[PHASE_HEADER] = s->header_timeout;
    l.connections.seconds[PHASE_BODY] = s->deadline;
    l.connections.seconds[PHASE_SEND] = s->send_timeout;
    return l;
}

/* A connection is an open file. Without room for all of them, the limit on connections would never be reached, and
 * models could not be loaded again. */
static int reserve_files(int max_connections, int needed)
{
    enum { OTHERS = 64 }; /* the standard streams, models that are loaded, libraries */
    const rlim_t files = (rlim_t)needed + OTHERS;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= files) return ATTEND_OK;
    const rlim_t old = limit.rlim_cur;
    limit.rlim_cur = files;
    if (files <= limit.rlim_max && setrlimit(RLIMIT_NOFILE, &limit) == 0) return ATTEND_OK;
    return attend_fail(
        ATTEND_BAD_USAGE,
        "%d connections need %llu open files, and the limit is %llu: raise it (ulimit -n, LimitNOFILE of "
        "systemd) or lower --max-connections",
        max_connections, (unsigned long long)files, (unsigned long long)old);
}

static int set_up(server *v, const settings *s, const parsed *p)
{
    v->models.options = search_settings_options(&s->search);
    v->models.options.search.shortlist = s->shortlist;
    v->models.precision = s->precision;
    v->deadline = s->deadline, v->max_lines = (int)s->max_lines, v->max_characters = (int)s->max_characters;
    v->max_explorations = (int)s->max_explorations;
    v->max_weights = s->max_weights, v->max_answers = (size_t)s->max_answers, v->models.is_ending = is_ending;
    v->allow_origin = s->allow_origin, v->behind_proxy = s->behind_proxy, v->log = (log_format)s->log;
    v->limit_local_rate = options_given(&verb_serve, p, "rate");
    pthread_rwlock_init(&v->models.lock, NULL);
    int status = rate_limit_new(&v->rate, s->rate);
    for (int i = 0; status == ATTEND_OK && i < s->models.count; i++)
        status = served_models_add(&v->models, s->models.items[i]);
    if (status == ATTEND_OK && s->api_keys) status = api_keys_read(&v->keys, s->api_keys);
    const attend_batcher_options b = { (int)s->search.threads, (int)s->queue };
    if (status == ATTEND_OK) status = attend_batcher_new(&v->batcher, &b);
    v->models.batcher = v->batcher;
    return status;
}

static int load(server *v)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < v->models.count; i++) status = served_models_load(&v->models, i);
    if (status == ATTEND_OK) atomic_store(&v->state, SERVER_READY);
    return status;
}

/* ---- signals ---- */

static void reload(server *v)
{
    notify_systemd("RELOADING=1");
    int failed = 0;
    for (int i = 0; i < v->models.count && !is_ending(); i++) {
        const served_pair *p = &v->models.pairs[i];
        if (served_models_load(&v->models, i) == ATTEND_OK) {
            log_event(v, "reload", "reloaded %s-%s from %s", p->source, p->target, p->paths[0]);
        } else {
            failed++;
            log_event(v, "reload", "%s-%s keeps its old model: %s", p->source, p->target, attend_message());
        }
    }
    atomic_fetch_add(failed ? &v->failed_reloads : &v->reloads, 1);
    notify_systemd("READY=1");
}

/* Waits until all requests have their answers, for at most some seconds. */
static void drain(server *v, listeners *l, double seconds)
{
    notify_systemd("STOPPING=1");
    atomic_store(&v->state, SERVER_DRAINING);
    listeners_remove(l); /* first: a successor may create its own soon */
    http_server_drain(v->http);
    for (int ticks = (int)(seconds / 0.005); http_server_get_counts(v->http).exchanges > 0 && ticks > 0; ticks--)
        nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
}

/* Until SIGTERM or SIGINT. */
static void serve(server *v, const sigset_t *signals)
{
    for (;;) {
        int signal = 0;
        if (sigwait(signals, &signal) != 0) continue;
        if (signal != SIGHUP) {
            log_event(v, "stop", "%s: answering the requests that were accepted, then ending",
                      signal == SIGTERM ? "SIGTERM" : "SIGINT");
            return;
        }
        reload(v);
    }
}

/* The threads that are created later do not get these signals. */
static void block_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGTERM), sigaddset(signals, SIGINT), sigaddset(signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int run_server(const settings *s, const parsed *p)
{
    enum { SLACK = 5 };
    static server v;
    listeners l = { .count = 0 };
    bool from_systemd = false;
    sigset_t signals;
    block_signals(&signals);
    int status = set_up(&v, s, p);
    if (status == ATTEND_OK) status = open_listeners(s, &l, &from_systemd);
    const http_limits limits = limits_of(s, options_given(&verb_serve, p, "max-per-address"));
    if (status == ATTEND_OK)
        status = reserve_files(limits.connections.max_connections, http_server_max_files(&limits, l.count));
    http_handler handler = server_handler;
    handler.user = &v;
    if (status == ATTEND_OK) status = helper_thread_new(&v.helper);
    /* The clients of systemd's sockets wait in their queues: the request with which the service starts is translated. Other
     * clients learn that models are being loaded. */
    if (status == ATTEND_OK && from_systemd) status = load(&v);
    if (status == ATTEND_OK) status = http_server_new(&v.http, l.sockets, l.count, &limits, &handler);
    if (status == ATTEND_OK && !from_systemd) status = load(&v);
    if (status == ATTEND_OK) {
        for (int i = 0; i < l.count; i++) log_event(&v, "ready", "listening to %s", l.names[i]);
        notify_systemd("READY=1");
        serve(&v, &signals);
        drain(&v, &l, s->deadline + s->send_timeout + SLACK);
    }
    const int code = status == ATTEND_OK ? 0 : cli_fail(&verb_serve, status);
    http_server_free(v.http);
    helper_thread_free(v.helper);
    listeners_remove(&l);
    served_models_free(&v.models);
    attend_batcher_free(v.batcher);
    api_keys_free(&v.keys);
    rate_limit_free(&v.rate);
    return code;
}

/* ---- the command line ---- */

static const void *defaults(void)
{
    static settings s;
    s = (settings){ .search = search_settings_defaults(),
                    .queue = 256,
                    .deadline = 10,
                    .max_lines = 128,
                    .max_characters = 50000,
                    .max_weights = 4000000,
                    .max_answers = 256 << 20,
                    .max_explorations = 16,
                    .max_body = 1 << 20,
                    .max_bodies = 64 << 20,
                    .max_header = 16 << 10,
                    .header_timeout = 10,
                    .send_timeout = 10,
                    .max_connections = 512,
                    .max_per_address = 64,
                    .rate = 50,
                    .precision = -1 };
    return &s;
}

static int check(const settings *s, const parsed *p)
{
    if (p->positional_count)
        return usage_error(&verb_serve, "unexpected argument '%s'; give models with --model SOURCE-TARGET=FILE",
                           p->positional[0]);
    if (s->models.count == 0) return usage_error(&verb_serve, "--model SOURCE-TARGET=FILE is required");
    if (s->max_lines > s->queue)
        return usage_error(&verb_serve, "--max-lines %lld is larger than --queue %lld", s->max_lines, s->queue);
    if (s->max_answers / WEIGHT_BYTES < s->max_weights)
        return usage_error(&verb_serve,
                           "--max-answers %lld is too small for --max-weights %lld; it must be at least %lld",
                           s->max_answers, s->max_weights, s->max_weights * WEIGHT_BYTES);
    if (s->max_bodies <= s->max_body)
        return usage_error(&verb_serve, "--max-bodies %lld is not larger than --max-body %lld", s->max_bodies,
                           s->max_body);
    return 0;
}

static int run(int argc, char **argv)
{
    settings s = *(const settings *)defaults();
    parsed p;
    int status = options_parse(&verb_serve, &s, argc, argv, &p);
    if (!options_given(&verb_serve, &p, "max-answers") && s.max_answers < s.max_weights * WEIGHT_BYTES)
        s.max_answers = s.max_weights * WEIGHT_BYTES;
    if (status == 0 && !p.help) status = check(&s, &p);
    if (status == 0 && !p.help) status = search_settings_use_device(&verb_serve, &s.search, &p, s.log != 0);
    if (status == 0 && !p.help && s.log == 0) compute_option_note(&verb_serve, s.search.compute);
    if (status == 0 && !p.help) status = run_server(&s, &p);
    options_free(&verb_serve, &s, &p);
    return status;
}

const verb verb_serve = {
    .name = "serve",
    .summary = "serve translations over HTTP, with LibreTranslate's API",
    .synopsis = "attend serve --model SOURCE-TARGET=FILE [--model SOURCE-TARGET=FILE]... [--listen ADDRESS] [options]",
    .details =
        "Translates the texts of HTTP requests. The API is LibreTranslate's, so that its clients work unchanged. A "
        "line\n"
        "has the translation that attend translate prints, whatever else is translated at the same time. Everything "
        "that\n"
        "a client chooses has a limit. SIGTERM ends the server after the requests that it accepted; SIGHUP loads the\n"
        "models again. TLS is the task of a reverse proxy. docs/serve.md describes the API and the operation.",
    .examples = "  attend serve --model en-de=model\n"
                "  curl -d q='a dog runs .' -d source=en -d target=de http://127.0.0.1:5000/translate\n"
                "  attend serve --model en-de=a --model en-fr=b --listen unix:/run/attend.sock --log json\n",
    .options = table,
    .shared = &search_option_group,
    .defaults = defaults,
    .run = run,
};
