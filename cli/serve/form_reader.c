/* form_reader.c: application/x-www-form-urlencoded: name=value&name=value, with + for a space and %XX for a byte. */
#include "serve/request_fields.h"

#include <string.h>

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes up to `end` into *pool, which moves past the '\0'; NULL: invalid. */
static const char *decode(const char *at, const char *end, char **pool)
{
    const char *text = *pool;
    while (at < end) {
        char c = *at++;
        if (c == '%') {
            const int high = end - at >= 2 ? hex(at[0]) : -1, low = high >= 0 ? hex(at[1]) : -1;
            if (low < 0) return NULL;
            c = (char)(high << 4 | low);
            at += 2;
        } else if (c == '+') {
            c = ' ';
        }
        if (c == '\0') return NULL;
        *(*pool)++ = c;
    }
    *(*pool)++ = '\0';
    return text;
}

static bool set_field(translate_request *r, const char *name, const char *value, unsigned *seen)
{
    const char **text = request_text_field(r, name);
    if (strcmp(name, "q") == 0) { /* several are an array */
        r->is_array = r->text_count > 0;
        return request_add_text(r, value);
    }
    if (text) {
        if (*text) return request_fail(r, "the form has two fields of the same name");
        *text = value;
        return true;
    }
    const unsigned bit = strcmp(name, "alternatives") == 0 ? 1 : strcmp(name, "attention") == 0 ? 2 : 0;
    if (*seen & bit) return request_fail(r, "the form has two fields of the same name");
    *seen |= bit;
    if (bit == 1) return request_set_alternatives(r, value);
    if (bit == 2) r->attention = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
    return true;
}

/* The first `c` in a range, or its end. */
static const char *find(const char *at, const char *end, char c)
{
    const char *found = at < end ? memchr(at, c, (size_t)(end - at)) : NULL;
    return found ? found : end;
}

/* Decoded text is never longer than its encoding, and '=' and '&' make room for the '\0' of name and value, except the
 * last one, for which request_begin allocates a byte. A name without '=' needs a second one: its value is "". */
bool translate_request_read_form(translate_request *r, const char *body, size_t size, int max_texts)
{
    enum { MAX_FIELDS = 4096 };
    if (!request_begin(r, size + 1, max_texts)) return false;
    const char *end = body + size;
    char *pool = r->pool;
    unsigned seen = 0;
    int fields = 0;
    for (const char *at = body; at < end;) {
        const char *next = find(at, end, '&'), *equals = find(at, next, '=');
        if (fields++ == MAX_FIELDS) return request_fail(r, "the form has too many fields");
        if (next > at) {
            const char *name = decode(at, equals, &pool);
            const char *value = !name ? NULL : equals < next ? decode(equals + 1, next, &pool) : "";
            if (!value) return request_fail(r, "the form has an invalid escape");
            if (!set_field(r, name, value, &seen)) return false;
        }
        at = next < end ? next + 1 : end;
    }
    return true;
}
