#define _DEFAULT_SOURCE /* madvise */
#include "core/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

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
    /* Outside tests this is one relaxed load, so that threads do not contend for the counter. */
    long at = atomic_load_explicit(&refuse_at, memory_order_relaxed);
    if (at == 0) return 0;
    return atomic_fetch_add(&requests, 1) + 1 == at;
}

void *attend_memory_zeroed(size_t count, size_t size)
{
    if (attend_memory_refused()) return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

/* Large arrays use huge pages if the system has them: otherwise address translation costs weights that stream from the
 * third-level cache up to a quarter of their speed. */
void *attend_memory_aligned(size_t bytes)
{
    enum { HUGE_PAGE = 2 << 20, SMALL = 4 << 20 };
    if (bytes > SIZE_MAX - HUGE_PAGE || attend_memory_refused()) return NULL;
    size_t unit = bytes < SMALL ? 64 : HUGE_PAGE;
    size_t whole = (bytes + unit) / unit * unit;
    void *p = aligned_alloc(unit, whole);
#ifdef MADV_HUGEPAGE
    if (p && unit == HUGE_PAGE) madvise(p, whole, MADV_HUGEPAGE);
#endif
    return p;
}

void attend_memory_free(void *p)
{
    free(p);
}
