/* metrics.c: /metrics, in the text format of Prometheus. */
#include "serve/server.h"

#include <attend/print.h>
#include <attend/version.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double buckets[LATENCY_BUCKETS] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10 };

static const char *const refusal_names[REFUSAL_COUNT] = { "key",      "rate",         "queue",   "state",
                                                          "texts",    "characters",   "weights", "answers",
                                                          "deadline", "explorations", "depth",   "tokens",
                                                          "invalid" };

void metrics_count(server *s, const http_exchange *e, int status, double seconds)
{
    int i = 0;
    atomic_fetch_add(&s->answers[status >= 0 && status < STATUS_COUNT ? status : 0], 1);
    if (strcmp(http_path(e), "/translate") != 0 || status != 200) return;
    while (i < LATENCY_BUCKETS && seconds > buckets[i]) i++;
    atomic_fetch_add(&s->latency[i], 1);
    atomic_fetch_add(&s->latency_us, (uint64_t)(seconds * 1e6));
}

static void head(FILE *to, const char *name, const char *type, const char *help)
{
    attend_print(to, "# HELP attend_%s %s\n# TYPE attend_%s %s\n", name, help, name, type);
}

static void put(FILE *to, const char *name, const char *type, const char *help, double value)
{
    head(to, name, type, help);
    attend_print(to, "attend_%s %.17g\n", name, value);
}

static void put_answers(FILE *to, server *s)
{
    head(to, "answers_total", "counter",
         "Answers by status; 499: the client left before it; 0: the connection was closed before it.");
    for (int i = 0; i < STATUS_COUNT; i++) {
        const uint64_t n = atomic_load(&s->answers[i]);
        if (n) attend_print(to, "attend_answers_total{status=\"%d\"} %" PRIu64 "\n", i, n);
    }
    head(to, "refused_total", "counter", "Requests that were refused, by reason.");
    for (int i = 0; i < REFUSAL_COUNT; i++)
        attend_print(to, "attend_refused_total{reason=\"%s\"} %" PRIu64 "\n", refusal_names[i],
                     atomic_load(&s->refusals[i]));
    uint64_t total = 0;
    head(to, "translate_seconds", "histogram", "Seconds from the header of a request to the end of its answer.");
    for (int i = 0; i <= LATENCY_BUCKETS; i++) {
        total += atomic_load(&s->latency[i]);
        if (i < LATENCY_BUCKETS)
            attend_print(to, "attend_translate_seconds_bucket{le=\"%g\"} %" PRIu64 "\n", buckets[i], total);
    }
    attend_print(to, "attend_translate_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n", total);
    attend_print(to, "attend_translate_seconds_sum %.6f\nattend_translate_seconds_count %" PRIu64 "\n",
                 (double)atomic_load(&s->latency_us) * 1e-6, total);
}

static void put_batcher(FILE *to, server *s)
{
    attend_batcher_statistics b;
    attend_batcher_get_statistics(s->batcher, &b);
    put(to, "lines_waiting", "gauge", "Lines in the queue.", b.waiting);
    put(to, "lines_decoding", "gauge", "Lines that are being decoded.", b.running);
    head(to, "lines_total", "counter", "Lines that have ended, by how.");
    attend_print(to,
                 "attend_lines_total{end=\"done\"} %" PRIu64 "\nattend_lines_total{end=\"cancelled\"} %" PRIu64 "\n",
                 b.done, b.cancelled);
    attend_print(to,
                 "attend_lines_total{end=\"expired\"} %" PRIu64 "\nattend_lines_total{end=\"failed\"} %" PRIu64 "\n",
                 b.expired, b.failed);
    put(to, "lines_refused_total", "counter", "Lines for which the queue had no room.", (double)b.refused);
    put(to, "batches_total", "counter", "Batches.", (double)b.batches);
    put(to, "batch_lines_total", "counter", "Lines of all batches.", (double)b.batch_lines);
    put(to, "source_tokens_total", "counter", "Source tokens that were decoded.", (double)b.source_tokens);
    put(to, "target_tokens_total", "counter", "Target tokens of the best translations.", (double)b.target_tokens);
    put(to, "queue_seconds_total", "counter", "Seconds that lines waited.", b.waiting_seconds);
    put(to, "decoding_seconds_total", "counter", "Seconds of decoding, of all workers.", b.decoding_seconds);
    put(to, "cancelling_seconds_total", "counter", "Seconds from a cancellation to its effect.", b.cancelling_seconds);
    put(to, "cancelling_seconds_max", "gauge", "The longest time from a cancellation to its effect.",
        b.max_cancelling_seconds);
}

static void put_http(FILE *to, server *s)
{
    static const char *const phases[] = { "header", "body", "wait", "send" };
    const http_counts h = http_server_get_counts(s->http);
    const connection_counts *c = &h.connections;
    put(to, "connections", "gauge", "Open connections.", c->open);
    put(to, "connections_total", "counter", "Connections that were accepted.", (double)c->accepted);
    put(to, "connections_refused_total", "counter", "Connections beyond a limit that were refused.",
        (double)c->refused);
    put(to, "connections_evicted_total", "counter",
        "Connections without a complete request that were closed to make room.", (double)c->evicted);
    put(to, "clients_gone_total", "counter", "Clients that left while their request was translated.", (double)c->gone);
    head(to, "connections_late_total", "counter", "Connections that were closed because a phase took too long.");
    for (int i = 0; i < 4; i++)
        if (i != PHASE_WAIT)
            attend_print(to, "attend_connections_late_total{phase=\"%s\"} %" PRIu64 "\n", phases[i], c->late[i]);
    head(to, "malformed_total", "counter",
         "Requests that HTTP does not allow, or that could be understood in two ways.");
    attend_print(to, "attend_malformed_total %" PRIu64 "\n", h.malformed);
    head(to, "too_large_total", "counter", "Requests with a header or body that is too large.");
    attend_print(to, "attend_too_large_total{part=\"header\"} %" PRIu64 "\n", h.too_large_headers);
    attend_print(to, "attend_too_large_total{part=\"body\"} %" PRIu64 "\n", h.too_large_bodies);
    put(to, "bodies_refused_total", "counter", "Requests for whose body there was no memory.",
        (double)h.refused_bodies);
    put(to, "requests", "gauge", "Requests at present.", h.exchanges);
    put(to, "answer_bytes", "gauge",
        "Memory of answers; until there is one, that of its attention, estimated from its request.",
        (double)atomic_load(&s->answer_bytes));
    put(to, "body_bytes", "gauge", "Memory of request bodies.", (double)h.body_bytes);
}

void metrics_reply(server *s, http_exchange *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) {
        server_refuse(s, e, 503, REFUSED_STATE, "out of memory");
        return;
    }
    head(to, "info", "gauge", "The version.");
    attend_print(to, "attend_info{version=\"%s\"} 1\n", attend_version());
    put(to, "ready", "gauge", "1 if translations are served.", atomic_load(&s->state) == SERVER_READY);
    put_answers(to, s);
    put_batcher(to, s);
    put_http(to, s);
    put(to, "explorations", "gauge", "Explorations at present.", atomic_load(&s->explorations));
    head(to, "reloads_total", "counter", "Reloads of all models (SIGHUP).");
    attend_print(to, "attend_reloads_total{result=\"ok\"} %" PRIu64 "\n", atomic_load(&s->reloads));
    attend_print(to, "attend_reloads_total{result=\"failed\"} %" PRIu64 "\n", atomic_load(&s->failed_reloads));
    fclose(to);
    http_reply(e, 200, "text/plain; version=0.0.4", text, size);
    free(text);
}
