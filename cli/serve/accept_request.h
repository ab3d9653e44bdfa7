/* accept_request.h: what /translate and /explore check before they translate. */
#ifndef ATTEND_CLI_SERVE_ACCEPT_REQUEST_H
#define ATTEND_CLI_SERVE_ACCEPT_REQUEST_H

#include "serve/server.h"
#include "serve/translate_request.h"

/* Reads the body by its type, checks the API key, the rate and the fields, and finds the pair of models; -1 after an
 * answer. The caller frees the request in any case. */
int accept_request(server *s, http_exchange *e, translate_request *r);
/* Checks the characters of the texts, and of the prefix as often as there are lines; false after an answer. */
bool check_characters(server *s, http_exchange *e, const translate_request *r, int lines);
/* Answers that there is no memory; returns false. */
bool refuse_memory(server *s, http_exchange *e);

#endif
