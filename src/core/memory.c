#include "core/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static atomic_long requests;
static atomic_long refuse_at; /* 0: never */

void attend_memory_refuse(long n)
{
    atomic_store(&requests, 0);
    atomic_store(&refuse_at, n);
}

long attend_memory_requests(void)
{
    return atomic_load(&requests);
}

int attend_memory_refused(void)
{
    /* Outside tests this is one relaxed load: threads must not fight over the counter. */
    long at = atomic_load_explicit(&refuse_at, memory_order_relaxed);
    if (at == 0) return 0;
    return atomic_fetch_add(&requests, 1) + 1 == at;
}

void *attend_memory_zeroed(size_t count, size_t size)
{
    if (attend_memory_refused()) return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void *attend_memory_aligned(size_t bytes)
{
    if (bytes > SIZE_MAX - 64 || attend_memory_refused()) return NULL;
    return aligned_alloc(64, (bytes + 64) / 64 * 64);
}

void attend_memory_free(void *p)
{
    free(p);
}
