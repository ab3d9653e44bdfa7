/* token_store.h: an unlinked temporary file that is first written, then read at any offset.
 *
 * Memory     Writing uses a buffer, reading none: the page cache holds as much of the file as fits.
 * Ownership  attend_token_store_free releases everything, also a store that was never opened (ATTEND_TOKEN_STORE_INIT).
 * Threads    One while it is written, then any number. */
#ifndef ATTEND_TEXT_TOKEN_STORE_H
#define ATTEND_TEXT_TOKEN_STORE_H

#include <stddef.h>

typedef struct attend_token_store {
    const char *directory; /* borrowed, for messages */
    int file;
    size_t size; /* bytes appended so far */
    char *buffer;
    size_t buffered;
} attend_token_store;
#define ATTEND_TOKEN_STORE_INIT                                                                                        \
    {                                                                                                                  \
        .file = -1                                                                                                     \
    }

/* Creates the file in a directory, which is borrowed. ATTEND_IO, ATTEND_NO_MEMORY. */
int attend_token_store_open(attend_token_store *s, const char *directory);
/* ATTEND_IO, such as a full disk. */
int attend_token_store_append(attend_token_store *s, const void *bytes, size_t count);
/* Ends writing and enables reading. */
int attend_token_store_end(attend_token_store *s);
/* Reads the `count` bytes at offset `at`, which must have been appended. ATTEND_IO. */
int attend_token_store_read(const attend_token_store *s, size_t at, void *to, size_t count);
void attend_token_store_free(attend_token_store *s);

#endif
