/* output_file.h: where a verb writes: standard output, or a file that is replaced whole or not at all, or a device or pipe as it is. */
#ifndef ATTEND_CLI_OUTPUT_FILE_H
#define ATTEND_CLI_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct output_file output_file;

/* path NULL or "-": standard output. */
int output_open(output_file **out, const char *path);
int output_write(output_file *f, const void *bytes, size_t size);
/* What was written is there, or, unless `keep`, the file is as it was. Frees it; NULL is fine. */
int output_close(output_file *f, bool keep);

#endif
