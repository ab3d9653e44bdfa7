/* terminal.h: properties of the terminal on standard output. */
#ifndef ATTEND_CLI_TERMINAL_H
#define ATTEND_CLI_TERMINAL_H

#include <stdbool.h>

/* Columns of the terminal; else the value of COLUMNS; else 80. */
int terminal_width(void);
/* 0, 256 or 1 << 24, by COLORTERM and TERM. 0 without a terminal, on a dumb one, or if NO_COLOR is set. */
int terminal_colours(void);

#endif
