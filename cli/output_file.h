/* output_file.h: the output of a verb: standard output, a file that is replaced atomically, or a device or pipe. Every
 * file of a verb is written through it, except the --output of attend translate: its lines appear as they are
 * translated, so that another program can follow the file, and those written before a failure are kept. */
#ifndef ATTEND_CLI_OUTPUT_FILE_H
#define ATTEND_CLI_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct output_file output_file;

/* Whether a path names standard output: "-", /dev/stdout and the like. These are written as the open stream and not
 * opened again, so that a redirection with >> still appends. */
bool output_is_standard(const char *path);
/* The same of standard input. */
bool input_is_standard(const char *path);

/* Whether a file can be written: an attempt before what takes long. The directory of a file that does not exist must
 * exist and be writable; `replaced`: a file that exists is replaced, and must be a regular one. */
int output_check_place(const char *path, bool replaced);

/* path NULL, or one that names standard output: standard output. */
int output_open(output_file **out, const char *path);
/* What a terminal would obey is escaped if the output is one (result_text.h). */
int output_write(output_file *f, const void *bytes, size_t size);
/* The same for bytes that are fit for a terminal: nothing is escaped. */
int output_write_fit(output_file *f, const void *bytes, size_t size);
/* Writes a text without its '\0'. */
int output_text(output_file *f, const char *text);
/* Completes the output, or, unless `keep`, leaves an existing file unchanged. Frees it; NULL is allowed. */
int output_close(output_file *f, bool keep);

#endif
