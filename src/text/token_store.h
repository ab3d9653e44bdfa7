/* token_store.h: a temporary file without a name, first written, then read in pieces.
 *
 * Memory     a buffer while it is written, nothing while it is read: the system keeps as much of the file at hand as it has room for.
 * Ownership  attend_token_store_free gives everything back; {0} with file -1 (ATTEND_TOKEN_STORE_INIT) is fine there.
 * Threads    One while it is written; then any number. */
#ifndef ATTEND_TEXT_TOKEN_STORE_H
#define ATTEND_TEXT_TOKEN_STORE_H

#include <stddef.h>

typedef struct attend_token_store {
    const char *folder; /* borrowed, for messages */
    int file;
    size_t size; /* bytes appended so far */
    char *buffer;
    size_t buffered;
} attend_token_store;
#define ATTEND_TOKEN_STORE_INIT                                                                                        \
    {                                                                                                                  \
        .file = -1                                                                                                     \
    }

int attend_token_store_open(attend_token_store *s, const char *folder);
int attend_token_store_append(attend_token_store *s, const void *bytes, size_t count);
int attend_token_store_end(attend_token_store *s); /* of the writing */
/* The `count` bytes from `at` on, which must have been appended; after the end. ATTEND_IO. */
int attend_token_store_read(const attend_token_store *s, size_t at, void *to, size_t count);
void attend_token_store_free(attend_token_store *s);

#endif
