/* print.h: printing text that people read, on a terminal or in a report.
 *
 * Purpose    A terminal obeys the control characters in a text, wherever the text comes from: a file name, a line, a
 *            token of a model file. attend_print replaces them by visible escapes, as attend_fail does in messages.
 *            Results that another program reads are written unchanged, by other functions.
 * Escapes    "\u{1b}" for a control character, a line separator or a character that overrides the writing direction;
 *            "\t", "\n" and "\r"; "\xff" for a byte that is not UTF-8. A backslash stays as it is.
 * Ownership  Texts are the caller's; nothing is kept.
 * Threads    Every function may be called from any thread. */
#ifndef ATTEND_PRINT_H
#define ATTEND_PRINT_H

#include <attend/status.h>
#include <stdarg.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* fprintf with escapes in the arguments of %s and %c; the format is printed as it is. A precision limits the bytes of
 * an argument before, and a width applies after it is escaped. Without %n, %p, wide characters and long double; a
 * number of more than 511 characters is cut. Allocates nothing. Returns the number of bytes written, or -1 if writing
 * failed. */
int attend_print(FILE *to, const char *format, ...) ATTEND_PRINTF(2, 3);
/* attend_print with a va_list. */
int attend_print_v(FILE *to, const char *format, va_list arguments) ATTEND_PRINTF(2, 0);

#ifdef __cplusplus
}
#endif
#endif
