/* translate_request.h: the fields of a request, read from JSON or from a form (application/x-www-form-urlencoded).
 *
 * Memory     As large as the body, and an array of max_texts texts; it is allocated before anything is read.
 * Errors     Functions return false and set `error`, which names the field and the problem. */
#ifndef ATTEND_CLI_SERVE_TRANSLATE_REQUEST_H
#define ATTEND_CLI_SERVE_TRANSLATE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum { MAX_JSON_DEPTH = 8 };

typedef struct translate_request {
    const char **texts; /* (text_count) of the field q, in UTF-8 without '\0' */
    int text_count, max_texts;
    bool is_array;
    const char *source, *target, *format, *api_key, *prefix; /* NULL: not given */
    int alternatives;
    bool attention;
    char *pool;                /* the memory of all strings */
    const char *error, *field; /* field: in which it is; NULL: in none that is known */
    bool is_no_memory, has_too_many_texts, is_too_deep;
} translate_request;

/* The caller frees the request in any case. */
bool translate_request_read_json(translate_request *r, const char *body, size_t size, int max_texts);
bool translate_request_read_form(translate_request *r, const char *body, size_t size, int max_texts);
void translate_request_free(translate_request *r);

#endif
