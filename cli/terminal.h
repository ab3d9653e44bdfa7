/* terminal.h: what the terminal on standard output can show. */
#ifndef ATTEND_CLI_TERMINAL_H
#define ATTEND_CLI_TERMINAL_H

#include <stdbool.h>

/* Columns: of the terminal, else what COLUMNS says, else 80. */
int terminal_width(void);
/* 0, 256 or 1 << 24. None without a terminal, on a dumb one, or where NO_COLOR is set; COLORTERM and TERM say how many. */
int terminal_colours(void);

#endif
