/* lines.h: reads a text file line by line.
 *
 * Purpose    Reads a file, or standard input if the path is "-". gzip data is detected by its first bytes, whatever
 *            the file's name, and decompressed; concatenated gzip members are one text. A byte order mark at the
 *            beginning and the CR of a CR LF are removed; the last line needs no line feed. All other bytes are
 *            returned unchanged: attend_line_check checks that they are valid text.
 * Limits     A line has at most ATTEND_MAX_LINE_BYTES bytes. A longer one is skipped, but a file with more than
 *            ATTEND_MAX_SKIPPED_BYTES in such a line is not read further, nor is a device other than a terminal: they
 *            may have no end.
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

enum { ATTEND_MAX_LINE_BYTES = 16 << 20, ATTEND_MAX_SKIPPED_BYTES = 256 << 20 };

typedef struct attend_lines attend_lines;

/* Opens a file and inspects its first bytes. ATTEND_IO, with the system's error text, if it cannot be read or is a
 * device; ATTEND_BAD_DATA if it is not a text file (UTF-16, xz, zstd, bzip2, zip, NUL bytes, or a name ending in .gz
 * without gzip data); ATTEND_NO_MEMORY. *out is NULL after a failure. */
int attend_lines_open(attend_lines **out, const char *path);
/* Closes the file and frees the reader. NULL is allowed. */
void attend_lines_close(attend_lines *l);

/* Reads the next line: *text is followed by a '\0' and *size does not count it; *text is NULL after the last line.
 * ATTEND_BAD_DATA if the line is too long; the next call then returns the line after it. After any other failure
 * (ATTEND_IO, ATTEND_BAD_DATA for damaged gzip data or a limit, ATTEND_NO_MEMORY) attend_lines_failed is true and
 * nothing more can be read. Messages name the file and the line. */
int attend_lines_next(attend_lines *l, const char **text, size_t *size);
bool attend_lines_failed(const attend_lines *l);

/* Makes reading fail (ATTEND_BAD_DATA) after `bytes` of text, decompressed: for a caller that keeps all lines. */
void attend_lines_set_limit(attend_lines *l, uint64_t bytes);

/* Whether attend_lines_next would return without waiting: a complete line, the end or an error is available. Reads
 * what there is, and waits up to `milliseconds` for more; 0: not at all. False only for a pipe, a socket or a terminal
 * whose next line is not complete. */
bool attend_lines_wait(attend_lines *l, int milliseconds);

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
