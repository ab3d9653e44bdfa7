#include "core/status.h"

#include <stdio.h>
#include <string.h>

static _Thread_local char message[ATTEND_MESSAGE_SIZE];

const char *attend_message(void)
{
    return message;
}

/* Messages quote files and arguments and are shown on terminals, which interpret control characters: these (U+0000 to
 * U+001F and U+007F to U+009F in UTF-8) become question marks. */
static void replace_control(char *text)
{
    for (unsigned char *s = (unsigned char *)text; *s; s++) {
        if (*s < 0x20 || *s == 0x7f) *s = '?';
        if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0) s[0] = s[1] = '?';
    }
}

int attend_fail_v(int code, const char *format, va_list arguments)
{
    /* The arguments may point into the message itself, so the new one is built in a buffer. */
    char text[ATTEND_MESSAGE_SIZE];
    if (vsnprintf(text, sizeof text, format, arguments) < 0) text[0] = '\0';
    replace_control(text);
    snprintf(message, sizeof message, "%s", text);
    return code;
}

int attend_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    attend_fail_v(code, format, arguments);
    va_end(arguments);
    return code;
}

const char *attend_errno_text(int error)
{
    static _Thread_local char text[128];
    if (strerror_r(error, text, sizeof text) != 0) snprintf(text, sizeof text, "system error %d", error);
    return text;
}
