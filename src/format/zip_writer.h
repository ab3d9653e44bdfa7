/* zip_writer.h: a ZIP archive of uncompressed files (PKWARE APPNOTE 6.3), appended to a string.
 *
 * The archive depends on its contents alone: every file has the date 1980-01-01, the first that the format has. */
#ifndef ATTEND_FORMAT_ZIP_WRITER_H
#define ATTEND_FORMAT_ZIP_WRITER_H

#include <attend/string.h>
#include <stdint.h>

typedef struct attend_zip_writer {
    attend_string *to;       /* local headers and files */
    attend_string directory; /* entries of the central directory, written at the end */
    size_t file;             /* where the current file begins in `to` */
    unsigned count;
    int status; /* the first failure is kept, and later calls write nothing */
} attend_zip_writer;

/* Replaces what is in `to`. */
attend_zip_writer attend_zip_begin(attend_string *to);
/* Begins a file; what is appended to `to` until attend_zip_end_file is its content. */
void attend_zip_begin_file(attend_zip_writer *w, const char *name);
void attend_zip_end_file(attend_zip_writer *w, const char *name);
/* Writes the directory, frees the writer and returns its status. ATTEND_BAD_DATA: more than 4 GiB. */
int attend_zip_end(attend_zip_writer *w);

/* Appends the lowest `bytes` bytes of a number, lowest first, to the current file. */
void attend_zip_put_number(attend_zip_writer *w, uint64_t number, int bytes);
void attend_zip_put_bytes(attend_zip_writer *w, const char *bytes, size_t size);

#endif
