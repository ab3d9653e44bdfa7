/* memory.h: the only place where the library allocates memory from the system, so that tests can make any allocation
 * fail. */
#ifndef ATTEND_CORE_MEMORY_H
#define ATTEND_CORE_MEMORY_H

#include <stddef.h>

/* count * size bytes, zeroed; NULL if memory ran out or the product overflows. */
void *attend_memory_zeroed(size_t count, size_t size);
/* `bytes` rounded up to a multiple of 64, aligned to 64 bytes, not initialised; NULL if memory ran out. */
void *attend_memory_aligned(size_t bytes);
/* The same, zeroed. What is never touched of a large block takes no memory. */
void *attend_memory_aligned_zeroed(size_t bytes);
/* States that all of such a block will be used, so that it may have huge pages; p may be NULL. */
void attend_memory_expect_use(void *p, size_t bytes);
/* Frees any kind; p may be NULL. */
void attend_memory_free(void *p);

/* For tests: the n-th request from now (1 is the next) fails once; n = -1 only counts requests; n = 0 disables both.
 * Requests to an arena count too, although most of them allocate nothing from the system. */
void attend_memory_refuse(long n);
/* Requests counted since the last attend_memory_refuse. */
long attend_memory_requests(void);
/* Counts a request; nonzero if it must fail. Every allocator calls this. */
int attend_memory_refused(void);

#endif
