/* number.h: numbers as text, with a point whatever the locale: a program that embeds attend may have set one whose point is a comma. */
#ifndef ATTEND_CORE_NUMBER_H
#define ATTEND_CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* The whole text as a number; false: it is none, or too large for a double. */
bool attend_number_read(const char *text, double *x);
/* So that reading gives the same number again; returns what snprintf does. */
int attend_number_write(char *text, size_t size, double x);

#endif
