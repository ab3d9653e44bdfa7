/* output_file.h: the output of a verb: standard output, a file that is replaced atomically, or a device or pipe. */
#ifndef ATTEND_CLI_OUTPUT_FILE_H
#define ATTEND_CLI_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct output_file output_file;

/* path NULL or "-": standard output. */
int output_open(output_file **out, const char *path);
int output_write(output_file *f, const void *bytes, size_t size);
/* Completes the output, or, unless `keep`, leaves an existing file unchanged. Frees it; NULL is allowed. */
int output_close(output_file *f, bool keep);

#endif
