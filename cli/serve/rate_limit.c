#include "serve/rate_limit.h"

#include <attend/status.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SETS = 1024, WAYS = 8 };

struct rate_bucket {
    uint64_t client; /* hash; 0: unused */
    double tokens;
    int64_t filled; /* when */
};

int rate_limit_new(rate_limit *r, double rate)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *r = (rate_limit){ .rate = rate, .burst = rate < 1 ? 1 : 2 * rate };
    r->seed = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)now.tv_sec << 32 ^ (uint64_t)(uintptr_t)r;
    pthread_mutex_init(&r->lock, NULL);
    if (rate == 0) return ATTEND_OK;
    r->buckets = calloc((size_t)SETS * WAYS, sizeof *r->buckets);
    return r->buckets ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "out of memory for a rate limit");
}

void rate_limit_free(rate_limit *r)
{
    free(r->buckets);
    r->buckets = NULL;
}

static uint64_t hash_of(uint64_t seed, const void *client, size_t size)
{
    const unsigned char *bytes = client;
    uint64_t h = seed;
    for (size_t i = 0; i < size; i++) {
        h = (h ^ bytes[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h ? h : 1;
}

/* The bucket of a client: its own, an unused one, or the one of its set that was used the longest time ago. */
static struct rate_bucket *bucket_of(rate_limit *r, uint64_t client, int64_t now)
{
    struct rate_bucket *set = r->buckets + client % SETS * WAYS, *oldest = set;
    for (int i = 0; i < WAYS; i++) {
        if (set[i].client == client) return &set[i];
        if (set[i].filled < oldest->filled) oldest = &set[i];
    }
    *oldest = (struct rate_bucket){ .client = client, .tokens = r->burst, .filled = now };
    return oldest;
}

bool rate_limit_take(rate_limit *r, const void *client, size_t size, int64_t now, double *seconds)
{
    if (r->rate == 0) return true;
    pthread_mutex_lock(&r->lock);
    struct rate_bucket *b = bucket_of(r, hash_of(r->seed, client, size), now);
    b->tokens += (double)(now - b->filled) * 1e-9 * r->rate;
    if (b->tokens > r->burst) b->tokens = r->burst;
    b->filled = now;
    const bool has_room = b->tokens >= 1;
    if (has_room)
        b->tokens -= 1;
    else
        *seconds = (1 - b->tokens) / r->rate;
    pthread_mutex_unlock(&r->lock);
    return has_room;
}
