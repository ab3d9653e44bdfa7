/* request_fields.h: what the readers of JSON and of forms share. */
#ifndef ATTEND_CLI_SERVE_REQUEST_FIELDS_H
#define ATTEND_CLI_SERVE_REQUEST_FIELDS_H

#include "serve/translate_request.h"

/* Stores the first error; returns false. */
bool request_fail(translate_request *r, const char *error);
/* Allocates the memory of a request with a body of this size. */
bool request_begin(translate_request *r, size_t size, int max_texts);
/* Adds a text of the field q. */
bool request_add_text(translate_request *r, const char *text);
/* Sets the field `alternatives` from digits. */
bool request_set_alternatives(translate_request *r, const char *digits);
/* The field of text with this name; NULL: there is none. */
const char **request_text_field(translate_request *r, const char *name);

#endif
