/* rate_limit.h: a limit on the requests of each client: a token bucket for each key or address.
 *
 * A client may send `burst` requests at once and `rate` a second. The table has a fixed size: if it is full, a client
 * that was seen long ago makes room, as if it were new. */
#ifndef ATTEND_CLI_SERVE_RATE_LIMIT_H
#define ATTEND_CLI_SERVE_RATE_LIMIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rate_limit {
    double rate, burst; /* rate 0: no limit */
    pthread_mutex_t lock;
    struct rate_bucket *buckets;
    uint64_t seed;
} rate_limit;

int rate_limit_new(rate_limit *r, double rate);
void rate_limit_free(rate_limit *r);
/* Takes a request of a client, who is identified by some bytes, at a time of the clock. False: there are too many, and
 * *seconds is the time until there is room for one. */
bool rate_limit_take(rate_limit *r, const void *client, size_t size, int64_t now, double *seconds);

#endif
