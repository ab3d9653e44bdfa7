/* result_text.h: how the command writes results.
 *
 * A file or a pipe gets every byte unchanged. A terminal obeys the control characters in a text, so a person there sees
 * them escaped (attend/print.h). Only result_text.c may call fwrite: the build refuses it elsewhere (no_printf.h). */
#ifndef ATTEND_CLI_RESULT_TEXT_H
#define ATTEND_CLI_RESULT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes a part of a result: a translation, a token, lines of them. On a terminal, all but newlines and tabs is escaped
 * that a terminal would obey; a character must not be split between two calls. False: writing failed, and errno says
 * why. */
bool result_write(FILE *to, const char *text, size_t size);
/* From now on a terminal gets every byte unchanged, too: mpirun puts a terminal of its own in front of a file. */
void result_write_exactly(void);

/* Writes bytes that are fit for a terminal as they are: texts of the program itself, and attention maps, whose colours
 * are control characters and whose labels are escaped. */
bool write_unchanged_bytes(FILE *to, const char *bytes, size_t size);
void write_unchanged(FILE *to, const char *text);

#endif
