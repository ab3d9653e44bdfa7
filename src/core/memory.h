/* memory.h: every byte the library takes from the system passes here, so that tests can refuse any of them. */
#ifndef ATTEND_CORE_MEMORY_H
#define ATTEND_CORE_MEMORY_H

#include <stddef.h>

/* count * size bytes, zeroed; NULL if there are none or the product overflows. */
void *attend_memory_zeroed(size_t count, size_t size);
/* `bytes` (a multiple of 64 is taken), 64-byte aligned, not initialised. */
void *attend_memory_aligned(size_t bytes);
void attend_memory_free(void *p); /* either kind; NULL is fine */

/* For tests: the n-th request from now (1 is the next) is refused, once; -1 refuses none and counts; 0 switches both off.
 * Requests to an arena count too, although most of them take nothing from the system. */
void attend_memory_refuse(long n);
/* Requests counted since the last attend_memory_refuse. */
long attend_memory_requests(void);
/* Called by whoever hands out memory: nonzero if this request is to be refused. */
int attend_memory_refused(void);

#endif
