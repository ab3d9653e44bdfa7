/* message.h: how every fallible function of the conformance runner answers: a code, and a sentence in the
 * caller's buffer of MESSAGE_SIZE bytes. */
#ifndef CONFORMANCE_MESSAGE_H
#define CONFORMANCE_MESSAGE_H

#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_SIZE = 1024 };

enum {
    CASE_OK = 0,
    CASE_FAILED = 1, /* the file is malformed, or a result is wrong */
    CASE_SKIPPED = 2 /* sound, but nothing this runner knows how to run */
};

/* Writes the sentence and returns `code`, so that a refusal is one statement. */
__attribute__((format(printf, 3, 4))) static inline int message_set(char *message, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    return code;
}

#endif
