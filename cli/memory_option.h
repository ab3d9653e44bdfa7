/* memory_option.h: --memory, the same option for every verb that takes much memory (docs/translate.md). */
#ifndef ATTEND_CLI_MEMORY_OPTION_H
#define ATTEND_CLI_MEMORY_OPTION_H

#include "options.h"

/* The entry of an option table. The member is a long long: bytes, or MEMORY_DEFAULT; 0: no limit. `more` is the rest of
 * the help text, a string literal. */
#define MEMORY_OPTION(offset, more)                                                                                    \
    {                                                                                                                  \
        "memory", "SIZE", "memory limit of the command, such as 2G" more, OPTION_SIZE, offset, 0, 1e18, NULL           \
    }
#define MEMORY_OF_LINES                                                                                                \
    "; a line that would take more is left out with a warning (default: half of the machine's memory; 0: no limit)"

enum { MEMORY_DEFAULT = -1 };

/* The limit in bytes: as given, or half of the machine's memory. 0: none. */
size_t memory_limit(long long given);

/* Makes the C library return large freed blocks to the system, whichever thread frees them. glibc would otherwise keep
 * those of each thread for that thread, several times as much as the limit. */
void memory_return_freed(void);

#endif
