/* spool.h: a temporary file without a name, first written, then mapped.
 *
 * Ownership  attend_spool_free gives everything back; {0} with file -1 (ATTEND_SPOOL_INIT) is fine there.
 * Threads    One while it is written; mapped, any number. */
#ifndef ATTEND_TEXT_SPOOL_H
#define ATTEND_TEXT_SPOOL_H

#include <stddef.h>

typedef struct attend_spool {
    const char *folder; /* borrowed, for messages */
    int file;
    size_t size; /* bytes appended so far */
    char *buffer;
    size_t buffered;
    char *bytes; /* once mapped, for reading; NULL if there are none */
} attend_spool;
#define ATTEND_SPOOL_INIT                                                                                              \
    {                                                                                                                  \
        .file = -1                                                                                                     \
    }

int attend_spool_open(attend_spool *s, const char *folder);
int attend_spool_append(attend_spool *s, const void *bytes, size_t count);
int attend_spool_map(attend_spool *s); /* ends the writing */
void attend_spool_free(attend_spool *s);

#endif
