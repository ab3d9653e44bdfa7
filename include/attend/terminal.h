/* terminal.h: the width of text on a terminal, in columns: wide characters take two, combining marks none.
 *
 * Threads    Every function may be called from any thread. */
#ifndef ATTEND_TERMINAL_H
#define ATTEND_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of a UTF-8 text; it is counted up to the first byte that is not valid. */
int attend_columns(const char *text);
/* The size in bytes of the longest prefix of at most `max_columns` columns that does not split a grapheme; *columns
 * receives its width. */
size_t attend_columns_cut(const char *text, int max_columns, int *columns);
/* Whether the text contains letters of a script written from right to left. */
bool attend_has_right_to_left(const char *text);

#ifdef __cplusplus
}
#endif
#endif
