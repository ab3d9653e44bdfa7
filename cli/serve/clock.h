/* clock.h: the monotonic clock, in nanoseconds. */
#ifndef ATTEND_CLI_SERVE_CLOCK_H
#define ATTEND_CLI_SERVE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
