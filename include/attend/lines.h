/* lines.h: reads a text file line by line.
 *
 * Purpose    Reads a file, or standard input if the path is "-". gzip data is detected by its first bytes, whatever
 *            the file's name, and decompressed; concatenated gzip members are one text. A byte order mark at the
 *            beginning and the CR of a CR LF are removed; the last line needs no line feed. All other bytes are
 *            returned unchanged: attend_line_check checks that they are valid text.
 * Limits     A line has at most ATTEND_MAX_LINE_BYTES bytes, so that a binary file is rejected early.
 * Ownership  A reader is the caller's, closed by attend_lines_close. A line belongs to its reader and is valid until
 *            the next attend_lines_next or attend_lines_close.
 * Threads    A reader is used by one thread at a time. Different readers are independent. */
#ifndef ATTEND_LINES_H
#define ATTEND_LINES_H

#include <attend/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTEND_MAX_LINE_BYTES = 16 << 20 }; /* 16 MiB */

typedef struct attend_lines attend_lines;

/* Opens a file and inspects its first bytes. ATTEND_IO, with the system's error text, if it cannot be read;
 * ATTEND_BAD_DATA if it is not a text file (UTF-16, xz, zstd, bzip2, zip, or a name ending in .gz without gzip data);
 * ATTEND_NO_MEMORY. *out is NULL after a failure. */
int attend_lines_open(attend_lines **out, const char *path);
/* Closes the file and frees the reader. NULL is allowed. */
void attend_lines_close(attend_lines *l);

/* Reads the next line: *text is followed by a '\0' and *size does not count it; *text is NULL after the last line.
 * ATTEND_BAD_DATA if the line is too long; the next call then returns the line after it. After any other failure
 * (ATTEND_IO, ATTEND_BAD_DATA for damaged gzip data, ATTEND_NO_MEMORY) attend_lines_failed is true and nothing more
 * can be read. Messages name the file and the line. */
int attend_lines_next(attend_lines *l, const char **text, size_t *size);
bool attend_lines_failed(const attend_lines *l);

/* Waits up to `milliseconds` until reading would not block: a line, a part of one, the end or an error is available.
 * False only if reading would still block, as with a pipe or a terminal without input. */
bool attend_lines_wait(const attend_lines *l, int milliseconds);

/* The path, or "standard input"; for messages. Belongs to the reader. */
const char *attend_lines_name(const attend_lines *l);
/* The number of the line last returned or rejected; the first line is 1, before it 0. */
uint64_t attend_lines_number(const attend_lines *l);

typedef enum attend_line_fault { ATTEND_LINE_OK, ATTEND_LINE_NUL, ATTEND_LINE_NOT_UTF8 } attend_line_fault;
/* Checks that bytes are UTF-8 without a NUL. Otherwise *at is the offset, from 0, of the first invalid byte. */
attend_line_fault attend_line_check(const char *text, size_t size, size_t *at);

#ifdef __cplusplus
}
#endif
#endif
