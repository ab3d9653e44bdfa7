#include <attend/parse.h>

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* Switches this thread to the C locale for numbers. Returns 0, and the program's locale stays in use, if memory ran
 * out. */
static locale_t c_locale_begin(locale_t *previous)
{
    const locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (c) *previous = uselocale(c);
    return c;
}

static void c_locale_end(locale_t c, locale_t previous)
{
    if (!c) return;
    uselocale(previous);
    freelocale(c);
}

/* Whether a number was found, in range, that ends where it must. `stop` is the end that strtod, strtoll or strtoull
 * reported. */
static bool accept(const char *text, char *stop, const char **end)
{
    if (end) *end = stop;
    return stop != text && errno != ERANGE && (end || *stop == '\0');
}

bool attend_parse_real(const char *text, const char **end, double *x)
{
    char *stop;
    locale_t previous = (locale_t)0;
    const locale_t c = c_locale_begin(&previous);
    errno = 0;
    *x = strtod(text, &stop);
    const bool accepted = accept(text, stop, end);
    c_locale_end(c, previous);
    return accepted;
}

bool attend_parse_integer(const char *text, const char **end, long long *x)
{
    char *stop;
    errno = 0;
    *x = strtoll(text, &stop, 10);
    return accept(text, stop, end);
}

bool attend_parse_unsigned(const char *text, const char **end, uint64_t *x)
{
    char *stop;
    errno = 0;
    *x = strtoull(text, &stop, 10);
    return accept(text, stop, end);
}

int attend_format_real(char *text, size_t size, double x, int min_digits)
{
    locale_t previous = (locale_t)0;
    const locale_t c = c_locale_begin(&previous);
    int length = -1;
    for (int digits = min_digits; digits <= 17; digits++) { /* 17 digits are enough for every double */
        length = snprintf(text, size, "%.*g", digits, x);
        if (length < 0 || (size_t)length >= size || strtod(text, NULL) == x) break;
    }
    c_locale_end(c, previous);
    return length;
}
