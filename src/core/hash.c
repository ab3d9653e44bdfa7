#include "core/hash.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/random.h>
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

static _Atomic uint64_t process_seed; /* 0: not drawn yet */

static uint64_t draw_seed(void)
{
    uint64_t seed = 0;
#ifdef __linux__
    const unsigned no_wait = 1; /* GRND_NONBLOCK: early in the boot of the machine there may be no random bytes */
    if (getrandom(&seed, sizeof seed, no_wait) == (ssize_t)sizeof seed && seed) return seed;
#endif
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t parts[] = { (uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid(),
                               (uint64_t)(uintptr_t)&now }; /* addresses are random on most systems */
    seed = XXH3_64bits(parts, sizeof parts);
    return seed ? seed : 1;
}

uint64_t attend_hash_seed(void)
{
    uint64_t seed = atomic_load(&process_seed);
    if (seed) return seed;
    const uint64_t drawn = draw_seed();
    return atomic_compare_exchange_strong(&process_seed, &seed, drawn) ? drawn : seed; /* another thread was first */
}

void attend_hash_use_seed(uint64_t seed)
{
    atomic_store(&process_seed, seed);
}

uint64_t attend_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}
