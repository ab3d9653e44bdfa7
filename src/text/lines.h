/* lines.h: a text, a line at a time.
 *
 * Purpose    Reads a file, or standard input for "-". What begins as gzip does is unpacked, whatever it is called; several gzip
 *            members one after another are one text. A byte order mark at the beginning and the CR of a CR LF are not part of
 *            a line, and the last line needs no line feed. Bytes are otherwise given as they are: whoever wants text asks
 *            attend_line_check.
 * Limits     A line has at most ATTEND_LINE_MOST bytes, so that a binary file is refused and not swallowed.
 * Ownership  A line belongs to its reader and is valid until the next one is asked for.
 * Threads    A reader belongs to one thread at a time. */
#ifndef ATTEND_TEXT_LINES_H
#define ATTEND_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTEND_LINE_MOST = 16 << 20 };

typedef struct attend_lines attend_lines;

/* ATTEND_IO with the system's words if it cannot be read; ATTEND_BAD_DATA if it is a kind of file that holds no lines (UTF-16,
 * xz, a name in .gz that is no gzip). *out is the caller's, freed by attend_lines_close (NULL is fine there). */
int attend_lines_open(attend_lines **out, const char *path);
void attend_lines_close(attend_lines *l);

/* The next line, with a '\0' behind it; *text is NULL behind the last. A line that is too long is ATTEND_BAD_DATA, and the call after
 * that gives the one behind it; after any other failure attend_lines_failed is true, and nothing more can be read. */
int attend_lines_next(attend_lines *l, const char **text, size_t *size);
bool attend_lines_failed(const attend_lines *l);

/* Whether more can be had at once, or within some milliseconds: a line, or at least a part of one, or the end. What is false for is a
 * pipe or a terminal that waits for somebody. */
bool attend_lines_wait(const attend_lines *l, int milliseconds);

const char *attend_lines_name(const attend_lines *l); /* for messages: the path, or "standard input" */
uint64_t attend_lines_number(const attend_lines *l);  /* of the last line that was given or refused; the first is 1 */

typedef enum attend_line_fault { ATTEND_LINE_FINE, ATTEND_LINE_NUL, ATTEND_LINE_NOT_UTF8 } attend_line_fault;
/* Can these bytes be text? If not, *at is the place of the first that cannot, from 0. */
attend_line_fault attend_line_check(const char *text, size_t size, size_t *at);

#endif
