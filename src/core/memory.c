#define _DEFAULT_SOURCE /* madvise */
#include "core/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined __has_include
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif

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

/* Large blocks use huge pages if the system has them: otherwise address translation costs weights that stream from the
 * third-level cache up to a quarter of their speed. */
enum { HUGE_PAGE = 2 << 20, LARGE = 4 << 20 };

/* Large blocks are whole huge pages. */
static size_t unit_of(size_t bytes)
{
    return bytes < LARGE ? 64 : HUGE_PAGE;
}

static size_t block_size(size_t bytes)
{
    return (bytes + unit_of(bytes)) / unit_of(bytes) * unit_of(bytes);
}

static void *aligned(size_t bytes)
{
    if (bytes > SIZE_MAX - HUGE_PAGE || attend_memory_refused()) return NULL;
    return aligned_alloc(unit_of(bytes), block_size(bytes));
}

void attend_memory_expect_use(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (p && bytes >= LARGE) madvise(p, block_size(bytes), MADV_HUGEPAGE);
#else
    (void)p, (void)bytes;
#endif
}

void *attend_memory_aligned(size_t bytes)
{
    void *p = aligned(bytes);
    attend_memory_expect_use(p, bytes);
    return p;
}

/* Zeroes a large block without touching it: the system maps new pages when it is used. Valgrind does not know that. */
static bool discard_pages(void *p, size_t bytes)
{
#ifdef __linux__
    if (bytes < LARGE || madvise(p, block_size(bytes), MADV_DONTNEED) != 0) return false;
#ifdef VALGRIND_MAKE_MEM_DEFINED
    (void)VALGRIND_MAKE_MEM_DEFINED(p, bytes);
#endif
    return true;
#else
    (void)p, (void)bytes;
    return false;
#endif
}

void *attend_memory_aligned_zeroed(size_t bytes)
{
    void *p = aligned(bytes);
    if (p && !discard_pages(p, bytes)) memset(p, 0, bytes);
    return p;
}

void attend_memory_free(void *p)
{
    free(p);
}
