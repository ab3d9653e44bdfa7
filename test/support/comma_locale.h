/* comma_locale.h: a locale in which printf writes 0,5. Containers often have none installed, so it is compiled. */
#ifndef ATTEND_TEST_COMMA_LOCALE_H
#define ATTEND_TEST_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/skipped.h"

#define COMMA_LOCALE_MISSING "no locale with a decimal comma can be compiled (Debian: install locales)"

/* Switches to the locale. False, and nothing changed, if it cannot be made. */
static inline bool comma_locale_begin(void)
{
    char folder[] = "/tmp/attend-locale-XXXXXX", command[128], text[8];
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1", folder, folder);
    const bool made = system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, "de_DE.UTF-8");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0 || !made) return false;
    snprintf(text, sizeof text, "%.1f", 0.5);
    if (text[1] == ',') return true;
    setlocale(LC_ALL, "C");
    return false;
}

static inline void comma_locale_end(void)
{
    setlocale(LC_ALL, "C");
}

#endif
