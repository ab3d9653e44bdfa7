/* status.h: the private part of attend/status.h. */
#ifndef ATTEND_CORE_STATUS_H
#define ATTEND_CORE_STATUS_H

#include <attend/status.h>
#include <stdarg.h>

enum { ATTEND_MESSAGE_SIZE = 512 };

/* attend_fail with a va_list. */
int attend_fail_v(int code, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* ---- the arguments of public functions ----
 *
 * A public function begins with one of these: if the condition does not hold, it sets a message that names the function
 * and the condition, and returns `result` (nothing). Operations on the tape use ATTEND_REQUIRE_IN (core/tape.h). */
#define ATTEND_REQUIRE(result, condition)                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            attend_refuse(__func__, #condition);                                                                       \
            return result;                                                                                             \
        }                                                                                                              \
    } while (0)
#define ATTEND_REQUIRE_VOID(condition)                                                                                 \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            attend_refuse(__func__, #condition);                                                                       \
            return;                                                                                                    \
        }                                                                                                              \
    } while (0)

/* Sets the message and returns ATTEND_BAD_USAGE. */
int attend_refuse(const char *function, const char *condition);
/* The format of the message, for the function and the condition. */
#define ATTEND_REFUSAL "%s: wrong argument: this must hold: %s"

#endif
