/* terminal.h: properties of a terminal. */
#ifndef ATTEND_CLI_TERMINAL_H
#define ATTEND_CLI_TERMINAL_H

#include <stdbool.h>

/* Columns of the terminal with this descriptor; 0: it is none, or its width is unknown. */
int terminal_columns(int descriptor);
/* Columns of the terminal on standard output; else the value of COLUMNS; else 80. */
int terminal_width(void);
/* Colours of the terminal on standard output: 0, 256 or 1 << 24, by COLORTERM and TERM. 0 without a terminal, on a
 * dumb one, or if NO_COLOR is set. */
int terminal_colours(void);

#endif
