/* spool.h: a temporary file without a name, first written, then read in pieces.
 *
 * Memory     a buffer while it is written, nothing while it is read: the system keeps as much of the file at hand as it has room for.
 * Ownership  attend_spool_free gives everything back; {0} with file -1 (ATTEND_SPOOL_INIT) is fine there.
 * Threads    One while it is written; then any number. */
#ifndef ATTEND_TEXT_SPOOL_H
#define ATTEND_TEXT_SPOOL_H

#include <stddef.h>

typedef struct attend_spool {
    const char *folder; /* borrowed, for messages */
    int file;
    size_t size; /* bytes appended so far */
    char *buffer;
    size_t buffered;
} attend_spool;
#define ATTEND_SPOOL_INIT                                                                                              \
    {                                                                                                                  \
        .file = -1                                                                                                     \
    }

int attend_spool_open(attend_spool *s, const char *folder);
int attend_spool_append(attend_spool *s, const void *bytes, size_t count);
int attend_spool_end(attend_spool *s); /* of the writing */
/* The `count` bytes from `at` on, which must have been appended; after the end. ATTEND_IO. */
int attend_spool_read(const attend_spool *s, size_t at, void *to, size_t count);
void attend_spool_free(attend_spool *s);

#endif
