/* json.h: the little JSON that a safetensors header is made of: objects, strings and whole numbers.
 *
 * Not a JSON library, on purpose. A header is read from files nobody vouches for: here nothing nests, all memory is the
 * caller's and known beforehand, and a string's place in the text is known, which the checksum needs. (jansson 2.14 writes
 * past a buffer when memory runs out in a string, and takes 16 to 73 times a header's size.)
 * Functions that read return false at the first thing that is wrong, and say in `error` what. */
#ifndef ATTEND_FORMAT_JSON_H
#define ATTEND_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct attend_json {
    const char *start, *at, *end;
    char *pool;        /* where decoded strings go; as many bytes as the text has suffice for all of them */
    const char *error; /* NULL so far */
} attend_json;

bool attend_json_fail(attend_json *j, const char *error); /* false, always */
/* After white space: is it `c`? Then takes it. */
bool attend_json_next_is(attend_json *j, char c);
bool attend_json_expect(attend_json *j, char c);
/* A string, decoded into the pool, ended by '\0' and without another: *at is the place of its first byte in the text. */
bool attend_json_string(attend_json *j, const char **string, const char **at);
/* A whole number from 0 to INT64_MAX. */
bool attend_json_integer(attend_json *j, int64_t *number);
/* Nothing but white space is left. */
bool attend_json_end(attend_json *j);

/* Writes `string` with quotes and escapes to `out` and returns how many bytes that are; NULL only counts. */
size_t attend_json_quote(char *out, const char *string);

#endif
