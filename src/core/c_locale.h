/* c_locale.h: numbers as text with a decimal point, whatever the locale of the program.
 *
 * Threads    The locale is switched for the calling thread only. */
#ifndef ATTEND_CORE_C_LOCALE_H
#define ATTEND_CORE_C_LOCALE_H

#include <locale.h>

/* Switches this thread to the C locale for numbers; attend_c_locale_end switches back. Returns 0, and the program's
 * locale stays in use, if memory ran out. */
locale_t attend_c_locale_begin(locale_t *previous);
void attend_c_locale_end(locale_t c, locale_t previous);

/* Replaces the decimal separator in a number that printf wrote by a point. Cheaper than a switch of the locale. */
void attend_use_decimal_point(char *number);

#endif
