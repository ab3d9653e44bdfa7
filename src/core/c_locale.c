#include "core/c_locale.h"

#include <string.h>

locale_t attend_c_locale_begin(locale_t *previous)
{
    const locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (c) *previous = uselocale(c);
    return c;
}

void attend_c_locale_end(locale_t c, locale_t previous)
{
    if (!c) return;
    uselocale(previous);
    freelocale(c);
}

void attend_use_decimal_point(char *number)
{
    char *separator = number + strspn(number, " +-0123456789"); /* of one or more bytes */
    const size_t size = strcspn(separator, "0123456789");
    if (size == 0 || separator == number || *separator == 'e') return; /* an integer, "inf" or "nan" */
    memmove(separator + 1, separator + size, strlen(separator + size) + 1);
    *separator = '.';
}
