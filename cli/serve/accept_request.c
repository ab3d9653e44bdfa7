#include "serve/accept_request.h"

#include "serve/client_limits.h"
#include <string.h>
#include <strings.h>

bool refuse_memory(server *s, http_exchange *e)
{
    server_refuse(s, e, 503, REFUSED_STATE, "the server has no memory for this request now");
    return false;
}

/* ---- reading ---- */

static bool has_type(const char *type, const char *wanted)
{
    const size_t size = strlen(wanted);
    return type && strncasecmp(type, wanted, size) == 0 &&
           (type[size] == '\0' || type[size] == ';' || type[size] == ' ');
}

static bool read_request(server *s, http_exchange *e, translate_request *r)
{
    size_t size;
    const char *body = http_body(e, &size), *type = http_header(e, "Content-Type");
    bool ok = false;
    if (has_type(type, "application/x-www-form-urlencoded")) {
        ok = translate_request_read_form(r, body, size, s->max_lines);
    } else if (!type || has_type(type, "application/json")) {
        ok = translate_request_read_json(r, body, size, s->max_lines);
    } else {
        server_refuse(s, e, 415, REFUSED_INVALID,
                      "send the request as application/json or application/x-www-form-urlencoded");
        return false;
    }
    if (ok) return true;
    if (r->is_no_memory)
        server_refuse(s, e, 503, REFUSED_STATE, "%s", r->error);
    else
        server_refuse(s, e, r->has_too_many_texts ? 413 : 400, r->has_too_many_texts ? REFUSED_TEXTS : REFUSED_INVALID,
                      "invalid request: %s", r->error);
    return false;
}

/* ---- checking ---- */

static size_t count_characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static bool has_fields(server *s, http_exchange *e, const translate_request *r)
{
    const char *missing = r->text_count == 0 && !r->is_array ? "q"
                          : !r->source                       ? "source"
                          : !r->target                       ? "target"
                                                             : NULL;
    if (missing) server_refuse(s, e, 400, REFUSED_INVALID, "invalid request: the parameter %s is missing", missing);
    return !missing;
}

static int find_pair(server *s, http_exchange *e, const translate_request *r)
{
    const int pair = served_models_find(&s->models, r->source, r->target);
    if (pair == -1) {
        const bool is_auto = strcmp(r->source, "auto") == 0;
        server_refuse(s, e, 400, REFUSED_INVALID,
                      is_auto ? "%.20s is not supported" : "%.20s is not supported as a translation of %.20s",
                      r->target, r->source);
    } else if (pair == -2) {
        server_refuse(
            s, e, 400, REFUSED_INVALID,
            "several source languages can be translated to %.20s, and this server does not detect which one a "
            "text is in: name the source",
            r->target);
    }
    return pair;
}

bool check_characters(server *s, http_exchange *e, const translate_request *r, int lines)
{
    size_t characters = 0;
    for (int i = 0; i < r->text_count; i++) characters += count_characters(r->texts[i]);
    if (r->prefix) characters += count_characters(r->prefix) * (size_t)lines;
    if (s->max_characters == 0 || characters <= (size_t)s->max_characters) return true;
    server_refuse(s, e, 413, REFUSED_CHARACTERS, "the texts%s have %zu characters; the limit is %d",
                  r->prefix ? ", with the prefix of each line," : "", characters, s->max_characters);
    return false;
}

int accept_request(server *s, http_exchange *e, translate_request *r)
{
    if (!read_request(s, e, r) || !client_is_allowed(s, e, r->api_key) || !has_fields(s, e, r)) return -1;
    const int pair = find_pair(s, e, r);
    return pair >= 0 && check_characters(s, e, r, r->text_count) ? pair : -1;
}
