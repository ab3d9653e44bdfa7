#include "memory_option.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

void memory_return_freed(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* also keeps it from growing */
#endif
}

size_t memory_limit(long long given)
{
    return given >= 0 ? (size_t)given : attend_memory_total() / 2;
}
