/* translate_request.c: the fields, and the reader of JSON. */
#include "serve/translate_request.h"

#include "serve/request_fields.h"
#include <attend/json_reader.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- fields ---- */

bool request_fail(translate_request *r, const char *error)
{
    if (!r->error) r->error = error;
    return false;
}

bool request_begin(translate_request *r, size_t size, int max_texts)
{
    *r = (translate_request){ .max_texts = max_texts };
    r->pool = malloc(size + 1);
    r->texts = malloc((size_t)max_texts * sizeof *r->texts);
    r->is_no_memory = !r->pool || !r->texts;
    return !r->is_no_memory || request_fail(r, "the server has no memory for this request now");
}

void translate_request_free(translate_request *r)
{
    free(r->pool);
    free(r->texts);
    *r = (translate_request){ 0 };
}

bool request_add_text(translate_request *r, const char *text)
{
    r->has_too_many_texts = r->text_count == r->max_texts;
    if (r->has_too_many_texts) return request_fail(r, "q has too many texts");
    r->texts[r->text_count++] = text;
    return true;
}

bool request_set_alternatives(translate_request *r, const char *digits)
{
    int number = 0;
    for (const char *c = digits; *c; c++) {
        if (*c < '0' || *c > '9') return request_fail(r, "alternatives is not a number of 0 or more");
        if (number < 100000) number = 10 * number + (*c - '0');
    }
    r->alternatives = number;
    return *digits || request_fail(r, "alternatives is not a number of 0 or more");
}

const char **request_text_field(translate_request *r, const char *name)
{
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {
        { "source", offsetof(translate_request, source) }, { "target", offsetof(translate_request, target) },
        { "format", offsetof(translate_request, format) }, { "api_key", offsetof(translate_request, api_key) },
        { "prefix", offsetof(translate_request, prefix) },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(name, fields[i].name) == 0) return (const char **)(void *)((char *)r + fields[i].offset);
    return NULL;
}

/* ---- JSON ---- */

/* Skips a value of a field that is not known. The depth counts the object around it. */
static bool skip_value(attend_json_reader *j, translate_request *r)
{
    const char *string, *at;
    bool is_object[MAX_JSON_DEPTH];
    int depth = 1;
    for (;;) {
        const bool object = attend_json_accept(j, '{');
        if (object || attend_json_accept(j, '[')) {
            r->is_too_deep = depth == MAX_JSON_DEPTH;
            if (r->is_too_deep) return attend_json_reader_fail(j, "the JSON is nested too deeply");
            is_object[depth++] = object;
            if (attend_json_accept(j, object ? '}' : ']')) {
                depth--;
            } else {
                if (object && !(attend_json_read_string(j, &string, &at) && attend_json_expect(j, ':'))) return false;
                continue; /* its first value */
            }
        } else if (!attend_json_skip_scalar(j)) {
            return false;
        }
        while (depth > 1 && !attend_json_accept(j, ',')) /* after a value: the end of what contains it */
            if (!attend_json_expect(j, is_object[--depth] ? '}' : ']')) return false;
        if (depth == 1) return true;
        if (is_object[depth - 1] && !(attend_json_read_string(j, &string, &at) && attend_json_expect(j, ':')))
            return false;
    }
}

static bool read_texts(attend_json_reader *j, translate_request *r)
{
    const char *text, *at;
    r->is_array = attend_json_accept(j, '[');
    if (r->is_array && attend_json_accept(j, ']')) return true;
    do {
        if (!attend_json_read_string(j, &text, &at) || !request_add_text(r, text)) return false;
    } while (r->is_array && attend_json_accept(j, ','));
    return !r->is_array || attend_json_expect(j, ']');
}

/* The next character after white space; '\0': the end. */
static char peek(attend_json_reader *j)
{
    attend_json_accept(j, ' '); /* skips it */
    return j->at < j->end ? *j->at : '\0';
}

/* A number, or a string of digits, which clients of LibreTranslate send. */
static bool read_alternatives(attend_json_reader *j, translate_request *r)
{
    const char *digits, *at;
    int64_t number;
    if (peek(j) == '"') return attend_json_read_string(j, &digits, &at) && request_set_alternatives(r, digits);
    if (!attend_json_read_integer(j, &number)) return false;
    r->alternatives = number < 1000000 ? (int)number : 1000000;
    return true;
}

static const char *known_name(const char *name)
{
    static const char *const names[] = { "q",       "source", "target",       "format",
                                         "api_key", "prefix", "alternatives", "attention" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return names[i];
    return NULL;
}

/* null: the field is not given. */
static bool read_field(attend_json_reader *j, translate_request *r, const char *name)
{
    const char *at, *value, **text = request_text_field(r, name);
    if (peek(j) == 'n') return attend_json_skip_scalar(j);
    if (strcmp(name, "q") == 0) return read_texts(j, r);
    if (text) { /* a string that is read in part has no end */
        if (!attend_json_read_string(j, &value, &at)) return false;
        *text = value;
        return true;
    }
    if (strcmp(name, "alternatives") == 0) return read_alternatives(j, r);
    if (strcmp(name, "attention") == 0) return attend_json_read_bool(j, &r->attention);
    return skip_value(j, r);
}

static bool read_object(attend_json_reader *j, translate_request *r)
{
    enum { MAX_FIELDS = 32 };
    const char *names[MAX_FIELDS], *at;
    int count = 0;
    if (!attend_json_expect(j, '{')) return false;
    if (attend_json_accept(j, '}')) return true;
    do {
        if (count == MAX_FIELDS) return attend_json_reader_fail(j, "the object has too many members");
        if (!attend_json_read_string(j, &names[count], &at) || !attend_json_expect(j, ':')) return false;
        for (int i = 0; i < count; i++)
            if (strcmp(names[i], names[count]) == 0)
                return attend_json_reader_fail(j, "the object has two members of the same name");
        r->field = known_name(names[count]);
        if (!read_field(j, r, names[count++])) return false;
        r->field = NULL;
    } while (attend_json_accept(j, ','));
    return attend_json_expect(j, '}');
}

bool translate_request_read_json(translate_request *r, const char *body, size_t size, int max_texts)
{
    if (!request_begin(r, size, max_texts)) return false;
    attend_json_reader j = { .start = body, .at = body, .end = body + size, .pool = r->pool };
    if (read_object(&j, r) && attend_json_expect_end(&j)) return true;
    return request_fail(r, j.error ? j.error : "the body is not JSON");
}
