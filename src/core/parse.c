#include <attend/parse.h>

#include "core/status.h"
#include "core/c_locale.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a number was found that ends where it must. `stop` is the end that strtod, strtoll or strtoull reported. */
static bool accept(const char *text, char *stop, const char **end)
{
    if (end) *end = stop;
    return stop != text && (end || *stop == '\0');
}

bool attend_parse_real(const char *text, const char **end, double *x)
{
    ATTEND_REQUIRE(false, text && x);
    char *stop;
    locale_t previous = (locale_t)0;
    const locale_t c = attend_c_locale_begin(&previous);
    errno = 0;
    *x = strtod(text, &stop);
    const bool in_range = errno != ERANGE || (*x != 0 && isfinite(*x)); /* a subnormal number is in range */
    attend_c_locale_end(c, previous);
    return in_range && accept(text, stop, end);
}

bool attend_parse_integer(const char *text, const char **end, long long *x)
{
    ATTEND_REQUIRE(false, text && x);
    char *stop;
    errno = 0;
    *x = strtoll(text, &stop, 10);
    return errno != ERANGE && accept(text, stop, end);
}

bool attend_parse_unsigned(const char *text, const char **end, uint64_t *x)
{
    ATTEND_REQUIRE(false, text && x);
    char *stop;
    errno = 0;
    *x = strtoull(text, &stop, 10);
    /* strtoull takes a negative number, and returns it modulo 2^64 */
    return errno != ERANGE && !memchr(text, '-', (size_t)(stop - text)) && accept(text, stop, end);
}

int attend_format_real(char *text, size_t size, double x, int min_digits)
{
    ATTEND_REQUIRE(0, text || size == 0);
    locale_t previous = (locale_t)0;
    const locale_t c = attend_c_locale_begin(&previous);
    int length = -1;
    for (int digits = min_digits; digits <= 17; digits++) { /* 17 digits are enough for every double */
        length = snprintf(text, size, "%.*g", digits, x);
        if (length < 0 || (size_t)length >= size || strtod(text, NULL) == x) break;
    }
    attend_c_locale_end(c, previous);
    return length;
}
