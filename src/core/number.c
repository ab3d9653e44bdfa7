#include "core/number.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* This thread in the C locale, and back. If there is no memory for that, the program's own has to do. */
static locale_t plain_begin(locale_t *before)
{
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (plain) *before = uselocale(plain);
    return plain;
}

static void plain_end(locale_t plain, locale_t before)
{
    if (!plain) return;
    uselocale(before);
    freelocale(plain);
}

bool attend_number_read(const char *text, double *x)
{
    char *end;
    locale_t before = (locale_t)0;
    const locale_t plain = plain_begin(&before);
    errno = 0;
    *x = strtod(text, &end);
    const bool whole = end != text && *end == '\0' && errno != ERANGE;
    plain_end(plain, before);
    return whole;
}

int attend_number_write(char *text, size_t size, double x)
{
    locale_t before = (locale_t)0;
    const locale_t plain = plain_begin(&before);
    int length = -1;
    for (int digits = 15; digits <= 17; digits++) { /* 17 always come back as they were, and fewer read better */
        length = snprintf(text, size, "%.*g", digits, x);
        if (length < 0 || (size_t)length >= size || strtod(text, NULL) == x) break;
    }
    plain_end(plain, before);
    return length;
}
