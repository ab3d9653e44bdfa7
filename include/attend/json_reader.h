/* json_reader.h: reads JSON (RFC 8259) value by value.
 *
 * Purpose    For untrusted text: the header of a model file, lines of a training log, requests to a server. The reader
 *            does not recurse, uses memory of a known size that the caller provides, and reports the position of a
 *            string in the text, which the checksum of a model file needs. The caller calls a function for each value
 *            that it expects.
 * Ownership  A reader is a plain value that needs no freeing. It borrows the text and the pool.
 * Failure    Functions return false at the first error and store its description in `error`.
 * Threads    One thread at a time for each reader. */
#ifndef ATTEND_JSON_READER_H
#define ATTEND_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_json_reader {
    const char *start, *at, *end;
    char *pool;        /* receives decoded strings; the size of the text is enough for all of them */
    const char *error; /* the first error; NULL: none */
} attend_json_reader;

/* Stores the first error; returns false. `error` must stay valid. */
bool attend_json_reader_fail(attend_json_reader *j, const char *error);
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

#ifdef __cplusplus
}
#endif
#endif
