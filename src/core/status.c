#include "core/status.h"

#include "core/printable.h"
#include <stdio.h>
#include <string.h>

static _Thread_local char message[ATTEND_MESSAGE_SIZE];

const char *attend_message(void)
{
    return message;
}

/* Copies a message, which quotes files and arguments, in a form that is safe to print. What does not fit is cut. */
static void set_message(const char *text, size_t size)
{
    char escaped[ATTEND_PRINTABLE_BYTES];
    size_t used = 0, written;
    for (size_t i = 0; i < size;) {
        i += attend_printable_next(text + i, size - i, ATTEND_PRINT_ALL, escaped, &written);
        if (used + written >= sizeof message) break;
        memcpy(message + used, escaped, written);
        used += written;
    }
    message[used] = '\0';
}

int attend_fail_v(int code, const char *format, va_list arguments)
{
    /* The arguments may point into the message itself, so the new one is built in a buffer. It is larger, so that a
     * character is not split at the end of the message. */
    char text[ATTEND_MESSAGE_SIZE + 4];
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = '\0';
    set_message(text, strlen(text));
    return code;
}

int attend_fail(int code, const char *format, ...)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, format);
    va_list arguments;
    va_start(arguments, format);
    attend_fail_v(code, format, arguments);
    va_end(arguments);
    return code;
}

int attend_refuse(const char *function, const char *condition)
{
    return attend_fail(ATTEND_BAD_USAGE, ATTEND_REFUSAL, function, condition);
}

const char *attend_errno_text(int error)
{
    static _Thread_local char text[128];
    if (strerror_r(error, text, sizeof text) != 0) snprintf(text, sizeof text, "system error %d", error);
    return text;
}
