/* message.h: status codes of the conformance runner. A function that can fail returns a code and writes a message to
 * the caller's buffer of MESSAGE_SIZE bytes. */
#ifndef CONFORMANCE_MESSAGE_H
#define CONFORMANCE_MESSAGE_H

#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_SIZE = 1024 };

enum {
    CASE_OK = 0,
    CASE_FAILED = 1, /* the file is malformed, or a result is wrong */
    CASE_SKIPPED = 2 /* valid, but not supported by this runner */
};

/* Writes the message and returns `code`. */
__attribute__((format(printf, 3, 4))) static inline int message_set(char *message, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    return code;
}

#endif
