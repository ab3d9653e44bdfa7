/* status.h: the private part of attend/status.h. */
#ifndef ATTEND_CORE_STATUS_H
#define ATTEND_CORE_STATUS_H

#include <attend/status.h>
#include <stdarg.h>

enum { ATTEND_MESSAGE_SIZE = 512 };

/* attend_fail with a va_list. */
int attend_fail_v(int code, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

#endif
