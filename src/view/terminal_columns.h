/* terminal_columns.h: how much room a text takes on a terminal: wide characters two columns, combining marks none. */
#ifndef ATTEND_VIEW_TERMINAL_COLUMNS_H
#define ATTEND_VIEW_TERMINAL_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

int attend_columns(const char *text);
/* Bytes of the longest beginning that has at most so many columns and tears no character from its marks; *columns is what it has. */
size_t attend_columns_cut(const char *text, int most, int *columns);
/* Whether there are letters in it that are read from right to left. */
bool attend_columns_leftward(const char *text);

#endif
