/* server_log.c: one line on standard error for each request and each event, as text or JSON. Texts of users are never
 * logged. */
#include "result_text.h"
#include "serve/client_limits.h"
#include "serve/server.h"

#include <attend/json.h>
#include <attend/print.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void put_time(char *text, size_t size)
{
    struct timespec now;
    struct tm utc;
    char seconds[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, size, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

/* In one write, so that lines of several threads do not mix. */
static void end_line(attend_json_writer *w, attend_string *line)
{
    attend_json_end_object(w);
    attend_json_put_space(w, "\n");
    if (line->size) write_unchanged_bytes(stderr, line->text, line->size);
    attend_string_free(line);
}

static void begin_line(attend_json_writer *w, const char *event)
{
    char now[48];
    put_time(now, sizeof now);
    attend_json_begin_object(w);
    attend_json_put_key(w, "time"), attend_json_put_text(w, now);
    attend_json_put_key(w, "event"), attend_json_put_text(w, event);
}

void log_request(const server *s, const http_exchange *e, int status, double seconds)
{
    if (s->log == LOG_NONE) return;
    const client_address client = client_get_address(s, e);
    size_t size;
    http_body(e, &size);
    if (s->log == LOG_TEXT) {
        char now[48];
        put_time(now, sizeof now);
        attend_print(stderr, "%s %s %.10s %.100s %d %zu bytes %.1f ms\n", now, client.text, http_method(e),
                     http_path(e), status, size, seconds * 1e3);
    }
    if (s->log != LOG_JSON) return;
    attend_string line = { 0 };
    attend_json_writer w = attend_json_to_string(&line);
    begin_line(&w, "request");
    attend_json_put_key(&w, "client"), attend_json_put_text(&w, client.text);
    attend_json_put_key(&w, "method"), attend_json_put_bytes(&w, http_method(e), strnlen(http_method(e), 10));
    attend_json_put_key(&w, "path"), attend_json_put_bytes(&w, http_path(e), strnlen(http_path(e), 100));
    attend_json_put_key(&w, "status"), attend_json_put_integer(&w, status);
    attend_json_put_key(&w, "bytes"), attend_json_put_unsigned(&w, size);
    attend_json_put_key(&w, "ms"), attend_json_put_number(&w, 3, seconds * 1e3);
    end_line(&w, &line);
}

void log_event(const server *s, const char *event, const char *format, ...)
{
    char text[800];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (s->log == LOG_JSON) {
        attend_string line = { 0 };
        attend_json_writer w = attend_json_to_string(&line);
        begin_line(&w, event);
        attend_json_put_key(&w, "message"), attend_json_put_text(&w, text);
        end_line(&w, &line);
    } else {
        attend_print(stderr, "attend serve: %s\n", text);
    }
}
