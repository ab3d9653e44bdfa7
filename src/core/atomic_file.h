/* atomic_file.h: the private part of attend/file.h: fault injection for tests. */
#ifndef ATTEND_CORE_ATOMIC_FILE_H
#define ATTEND_CORE_ATOMIC_FILE_H

#include <attend/file.h>

/* Injects a fault into the n-th system call from now (1 is the next) that creates, writes, flushes, closes or renames a
 * file: `action` is called first, unless it is NULL (it may end the process); then the call fails once with errno
 * `error`, unless that is 0. A write with ATTEND_SHORT_WRITE writes only half of its bytes. n = -1 only counts
 * calls; n = 0 disables both. */
enum { ATTEND_SHORT_WRITE = -1 };
void attend_atomic_file_inject_fault(long n, int error, void (*action)(void));
/* System calls counted since the last attend_atomic_file_inject_fault. */
long attend_atomic_file_calls(void);

#endif
