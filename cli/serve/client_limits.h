/* client_limits.h: whether a client may send a request: its key, and how many it sends. */
#ifndef ATTEND_CLI_SERVE_CLIENT_LIMITS_H
#define ATTEND_CLI_SERVE_CLIENT_LIMITS_H

#include "serve/server.h"

/* Whether its key, if any is needed, is in its header. */
bool client_is_known(const server *s, const http_exchange *e);
/* key: of the request; NULL: the header Authorization may have it. False after an answer. */
bool client_is_allowed(server *s, http_exchange *e, const char *key);
/* The address of the client, or the one that a proxy on this machine reports: the last entry of the last
 * X-Forwarded-For, which the proxy itself added. */
client_address client_get_address(const server *s, const http_exchange *e);

#endif
