/* client_limits.h: whether a client may send a request: its key, and how many it sends. */
#ifndef ATTEND_CLI_SERVE_CLIENT_LIMITS_H
#define ATTEND_CLI_SERVE_CLIENT_LIMITS_H

#include "serve/server.h"

/* key: of the request; NULL: the header Authorization may have it. False after an answer. */
bool client_is_allowed(server *s, http_exchange *e, const char *key);

#endif
