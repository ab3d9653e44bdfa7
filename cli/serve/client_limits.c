#include "serve/client_limits.h"

#include "serve/clock.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* "Authorization: Bearer KEY" */
static const char *bearer(const http_exchange *e)
{
    const char *value = http_header(e, "Authorization");
    return value && strncasecmp(value, "Bearer ", 7) == 0 ? value + 7 : NULL;
}

client_address client_get_address(const server *s, const http_exchange *e)
{
    const client_address *direct = http_client(e);
    const char *list = s->behind_proxy && direct->is_local ? http_last_header(e, "X-Forwarded-For") : NULL;
    if (!list) return *direct;
    const char *last = strrchr(list, ',');
    last = last ? last + 1 : list;
    last += strspn(last, " \t");
    char text[INET6_ADDRSTRLEN] = "";
    size_t size = strlen(last);
    while (size > 0 && (last[size - 1] == ' ' || last[size - 1] == '\t')) size--;
    if (size < sizeof text) snprintf(text, sizeof text, "%.*s", (int)size, last);
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) return client_address_of((struct sockaddr *)&v4);
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) return client_address_of((struct sockaddr *)&v6);
    return (client_address){ .is_local = false, .text = "unknown" }; /* all of them share one limit */
}

static bool take_from_address(server *s, const http_exchange *e, double *seconds)
{
    const client_address a = client_get_address(s, e);
    if (a.is_local && !s->limit_local_rate) return true;
    return rate_limit_take(&s->rate, a.bytes, sizeof a.bytes, clock_now(), seconds);
}

bool client_is_known(const server *s, const http_exchange *e)
{
    const char *key = bearer(e);
    return s->keys.count == 0 || (key && api_keys_find(&s->keys, key) >= 0);
}

bool client_is_allowed(server *s, http_exchange *e, const char *key)
{
    const char *given = key ? key : bearer(e);
    const int number = given && s->keys.count ? api_keys_find(&s->keys, given) : -1;
    double seconds = 0;
    /* Requests without a valid key count against the address, so that keys cannot be guessed quickly. */
    const bool has_room = number >= 0 ? rate_limit_take(&s->rate, &number, sizeof number, clock_now(), &seconds)
                                      : take_from_address(s, e, &seconds);
    if (has_room && s->keys.count && number < 0) {
        server_refuse(s, e, 403, REFUSED_KEY, given ? "invalid API key" : "an API key is needed (api_key)");
        return false;
    }
    if (has_room) return true;
    char text[32];
    snprintf(text, sizeof text, "%d", (int)seconds + 1);
    http_add_header(e, "Retry-After", text);
    server_refuse(s, e, 429, REFUSED_RATE, "too many requests: at most %g a second", s->rate.rate);
    return false;
}
