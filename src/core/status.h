/* status.h: how library code reports a failure (the public half is attend/status.h). */
#ifndef ATTEND_CORE_STATUS_H
#define ATTEND_CORE_STATUS_H

#include <attend/status.h>
#include <stdarg.h>

enum { ATTEND_MESSAGE_SIZE = 512 };

/* Sets this thread's message and returns `code`, so that `return attend_fail(...)` reads well. */
int attend_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
int attend_fail_v(int code, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* The system's words for an errno, such as "No space left on device": this thread's, until its next call. */
const char *attend_errno_text(int error);

#endif
