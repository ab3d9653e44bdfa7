/* jumping_clock.c: linked into a copy of the command in place of clock_gettime (hostile.cmake). With HOSTILE_CLOCK=SEED the
 * time of day jumps back and forth by up to a century, and the monotonic clock jumps forward, as it may when a machine
 * is suspended or moved. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

static uint32_t next(void)
{
    static uint64_t state;
    static int is_seeded;
    if (!is_seeded) {
        const char *seed = getenv("HOSTILE_CLOCK");
        is_seeded = 1;
        state = seed ? strtoull(seed, NULL, 10) : 0;
    }
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    static const time_t steps[] = { 0, 0, 1, 60, 3600, 86400, 31536000, 3153600000 };
    static time_t forward;
    const int status = __real_clock_gettime(clock, t);
    if (status != 0 || !getenv("HOSTILE_CLOCK")) return status;
    const time_t step = steps[next() % (sizeof steps / sizeof *steps)];
    if (clock == CLOCK_REALTIME) {
        t->tv_sec += next() % 2 ? step : -step;
    } else {
        if (forward < (time_t)1 << 36) forward += step;
        t->tv_sec += forward;
    }
    return status;
}
