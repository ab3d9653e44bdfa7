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

typedef enum body_state { BODY_READ, BODY_INVALID, BODY_OTHER_TYPE } body_state;

static body_state read_body(const server *s, const http_exchange *e, translate_request *r)
{
    size_t size;
    const char *body = http_body(e, &size), *type = http_header(e, "Content-Type");
    bool ok = false;
    if (has_type(type, "application/x-www-form-urlencoded"))
        ok = translate_request_read_form(r, body, size, s->max_lines);
    else if (!type || has_type(type, "application/json"))
        ok = translate_request_read_json(r, body, size, s->max_lines);
    else
        return BODY_OTHER_TYPE;
    return ok ? BODY_READ : BODY_INVALID;
}

static void refuse_body(server *s, http_exchange *e, const translate_request *r)
{
    const char *field = r->field ? r->field : "";
    if (r->has_too_many_texts)
        server_refuse(s, e, 413, REFUSED_TEXTS, "invalid request: %s", r->error);
    else
        server_refuse(s, e, 400, r->is_too_deep ? REFUSED_DEPTH : REFUSED_INVALID, "invalid request: %s%s%s", field,
                      *field ? ": " : "", r->error);
}

/* The rate counts requests whose body is invalid too, and is checked before the body is read if its key is not in it. */
static bool read_request(server *s, http_exchange *e, translate_request *r)
{
    const bool is_known = client_is_known(s, e);
    if (is_known && !client_is_allowed(s, e, NULL)) return false;
    const body_state state = read_body(s, e, r);
    if (r->is_no_memory)
        server_refuse(s, e, 503, REFUSED_STATE, "%s", r->error);
    else if (!is_known && !client_is_allowed(s, e, r->api_key))
        return false;
    else if (state == BODY_OTHER_TYPE)
        server_refuse(s, e, 415, REFUSED_INVALID,
                      "send the request as application/json or application/x-www-form-urlencoded");
    else if (state == BODY_INVALID)
        refuse_body(s, e, r);
    else
        return true;
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
    if (!read_request(s, e, r) || !has_fields(s, e, r)) return -1;
    const int pair = find_pair(s, e, r);
    return pair >= 0 && check_characters(s, e, r, r->text_count) ? pair : -1;
}
