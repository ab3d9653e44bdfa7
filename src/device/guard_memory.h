/* guard_memory.h: the memory of the guard device. A block has two addresses: the one that the host sees, which is never
 * accessible, and that of the numbers, a constant distance away, which only device functions know. */
#ifndef ATTEND_DEVICE_GUARD_MEMORY_H
#define ATTEND_DEVICE_GUARD_MEMORY_H

#include <stddef.h>

/* The host's address of zeroed memory; NULL if memory ran out. p may be NULL. */
void *attend_guard_take(size_t bytes);
void attend_guard_give(void *p);

/* The numbers at an address of the host; NULL stays NULL, and an address of numbers stays as it is. Any other address
 * ends the process with SIGSEGV. */
void *attend_guard_numbers(const void *p);
/* The host's address of numbers. */
void *attend_guard_address(const void *numbers);
/* Ends the process with SIGSEGV if p is memory of the device. */
void attend_guard_expect_host(const void *p);
/* The blocks that were taken and not given back. */
size_t attend_guard_blocks(void);

#endif
