/* unit_option.h: --unit, the same option for every verb that counts words, letters or tokens. */
#ifndef ATTEND_CLI_UNIT_OPTION_H
#define ATTEND_CLI_UNIT_OPTION_H

#include "options.h"
#include <attend/words.h>

/* The entry of an option table. The member is an int, an attend_unit. `what` is a string literal. */
#define UNIT_OPTION(offset, what)                                                                                      \
    {                                                                                                                  \
        "unit", NULL, what "; auto: characters on a side of single words, else words", OPTION_CHOICE, offset, 0, 0,    \
            attend_unit_names                                                                                          \
    }

#endif
