/* text_lines.h: a growing list of lines. */
#ifndef ATTEND_CLI_TEXT_LINES_H
#define ATTEND_CLI_TEXT_LINES_H

#include <stddef.h>

enum { TEXT_LINES_MAX_BYTES = 1 << 30 };

/* Where a line comes from. */
typedef struct text_origin {
    int file; /* index into `files` */
    unsigned long long line;
} text_origin;

/* Zero-initialised: empty. */
typedef struct text_lines {
    char **items;
    int count, capacity;
    text_origin *origins; /* (origin_count): of the first lines, or of none */
    char **files;         /* (file_count) their names */
    int origin_count, origin_capacity, file_count, file_capacity;
    size_t bytes, max_bytes; /* of memory; max_bytes 0: TEXT_LINES_MAX_BYTES, for a pipe may have no end */
} text_lines;

/* Appends the lines of a file. The message of a failure gives the file and the line. */
int text_lines_read(text_lines *l, const char *path);
/* ATTEND_BAD_DATA if the lines would take more than max_bytes; ATTEND_NO_MEMORY. */
int text_lines_add(text_lines *l, const char *text, size_t size);
/* The same with its origin; not after lines without one. */
int text_lines_add_from(text_lines *l, const char *text, size_t size, const char *file, unsigned long long line);
enum { TEXT_PLACE = 300 };
/* "FILE:LINE", or "line N" if the origin is unknown. Returns `text`. */
const char *text_lines_place(const text_lines *l, int i, char text[TEXT_PLACE]);
/* Writes the lines to a file (output_file.h). */
int text_lines_write(const text_lines *l, const char *path);
void text_lines_free(text_lines *l);

#endif
