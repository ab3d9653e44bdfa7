/* file_reader.h: reads a file once, from its first byte to its last, and notices if it changes meanwhile.
 *
 * Purpose    Everything that is used of a file is a private copy that was checked after it was copied. Another process
 *            may overwrite, truncate or replace the file at any time: the copy does not change. The file is opened
 *            once; its size and its time of modification must be the same at the end as at the beginning.
 * Ownership  A reader owns its descriptor and its buffer until it is closed. The name, and bytes in memory, are the
 *            caller's.
 * Threads    One thread uses a reader at a time.
 * Codes      ATTEND_IO: the file cannot be read, is not a regular file, or changed; ATTEND_NO_MEMORY. */
#ifndef ATTEND_FORMAT_FILE_READER_H
#define ATTEND_FORMAT_FILE_READER_H

#include <attend/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { ATTEND_READ_CHUNK = 256 << 10 }; /* bytes of a read: they stay in the second-level cache */

typedef struct attend_file_reader {
    const char *name;           /* for messages */
    int descriptor;             /* -1: the bytes are in memory, or the reader is closed */
    size_t size;                /* of the file */
    size_t at;                  /* offset of the next byte */
    struct stat stat;           /* when the file was opened */
    const unsigned char *bytes; /* the bytes [at, at + available) of the file */
    size_t available;
    unsigned char *buffer; /* (ATTEND_READ_CHUNK); NULL: the bytes are in memory */
} attend_file_reader;

/* Opens a regular file. On failure the reader is closed. */
int attend_file_reader_open(attend_file_reader *r, const char *path);
/* Reads from memory instead, which must not change. */
void attend_file_reader_use(attend_file_reader *r, const void *bytes, size_t size, const char *name);
void attend_file_reader_close(attend_file_reader *r); /* {0} with descriptor -1, or a closed reader, is valid */

/* The next bytes, up to *size and at most ATTEND_READ_CHUNK, without advancing: *size is reduced to what the file has
 * left. The pointer is valid until the next call. */
int attend_file_reader_peek(attend_file_reader *r, const unsigned char **bytes, size_t *size);
/* Copies the next bytes. The file must have so many left when it was opened. */
int attend_file_reader_read(attend_file_reader *r, void *to, size_t size);
/* Advances by at most the number of bytes that attend_file_reader_peek returned last. */
void attend_file_reader_skip(attend_file_reader *r, size_t size);
/* Frees the buffer: only the functions below may follow. */
void attend_file_reader_end(attend_file_reader *r);

/* Copies bytes at any offset of an open file, without advancing. */
int attend_file_reader_read_at(const attend_file_reader *r, size_t at, void *to, size_t size);
/* Fails if the file has changed since it was opened. */
int attend_file_reader_check(const attend_file_reader *r);

#endif
