/* json_reader.h: a reader of JSON for the header of a safetensors file (objects, arrays, strings and non-negative
 * integers) and for the lines of a training log (also other numbers, booleans and null).
 *
 * Purpose    The files are untrusted. The reader does not recurse, uses memory of a known size that the
 *            caller provides, and reports the position of a string in the text, which the checksum needs. (jansson
 *            2.14 writes past a buffer if memory runs out inside a string, and needs 16 to 73 times the size of the
 *            header.)
 * Failure    Functions return false at the first error and store its description in `error`.
 * Threads    One thread at a time for each reader. */
#ifndef ATTEND_FORMAT_JSON_READER_H
#define ATTEND_FORMAT_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct attend_json_reader {
    const char *start, *at, *end;
    char *pool;        /* receives decoded strings; the size of the text is enough for all of them */
    const char *error; /* the first error; NULL: none */
} attend_json_reader;

bool attend_json_reader_fail(attend_json_reader *j, const char *error); /* stores the first error; returns false */
/* Skips white space. If the next character is `c`, consumes it and returns true. */
bool attend_json_accept(attend_json_reader *j, char c);
/* As attend_json_accept; another character is an error. */
bool attend_json_expect(attend_json_reader *j, char c);
/* Reads a string into the pool, where it ends in '\0' and contains no other. *at is the position of its first byte in
 * the text. */
bool attend_json_read_string(attend_json_reader *j, const char **string, const char **at);
/* Reads an integer from 0 to INT64_MAX. */
bool attend_json_read_integer(attend_json_reader *j, int64_t *number);
/* Reads a number; null is NAN. */
bool attend_json_read_number(attend_json_reader *j, double *number);
/* Reads true or false. */
bool attend_json_read_bool(attend_json_reader *j, bool *value);
/* Reads a string, number, boolean or null, and ignores it. */
bool attend_json_skip_scalar(attend_json_reader *j);
/* Requires that only white space remains. */
bool attend_json_expect_end(attend_json_reader *j);

#endif
