/* guard_memory.h: memory that is accessible only while the process computes on the device. */
#ifndef ATTEND_DEVICE_GUARD_MEMORY_H
#define ATTEND_DEVICE_GUARD_MEMORY_H

#include <stddef.h>

/* Calls nest, and several threads may be inside at once: the memory is accessible until the last one leaves. */
void attend_guard_enter(void);
void attend_guard_leave(void);

void *attend_guard_take(size_t bytes); /* zeroed; NULL: memory ran out */
void attend_guard_give(void *p);

#endif
