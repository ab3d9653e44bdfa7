/* json.h: writes JSON (RFC 8259) value by value.
 *
 * Purpose    The writer places commas and colons and escapes text; the caller gives keys and values in order:
 *
 *                attend_json_writer w = attend_json_to_file(stdout);
 *                attend_json_begin_object(&w);
 *                attend_json_put_key(&w, "line"), attend_json_put_integer(&w, 3);
 *                attend_json_put_key(&w, "text"), attend_json_put_text(&w, "a \"quoted\" word");
 *                attend_json_end_object(&w);       writes {"line": 3, "text": "a \"quoted\" word"}
 *
 * Text       Quotes, backslashes, control characters, line separators and characters that override the writing direction
 *            are escaped, so that JSON is safe to print on a terminal; a byte that is not part of valid UTF-8 becomes
 *            U+FFFD. With `in_html`, the characters < > & ' are escaped too, so that the text cannot end a <script>
 *            element.
 * Numbers    Numbers have a decimal point whatever the locale. Non-finite numbers are written as null.
 * Ownership  A writer is a plain value that needs no freeing; it borrows the string, stream or sink it writes to.
 * Errors     The first failure is kept in `status`, with its message; later calls write nothing. Check it once, at the
 *            end.
 * Threads    One thread at a time for each writer. */
#ifndef ATTEND_JSON_H
#define ATTEND_JSON_H

#include <attend/string.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the next bytes of the output. Returns a status code; a code other than ATTEND_OK ends the writing. */
typedef int (*attend_json_sink)(void *user, const char *bytes, size_t size);

typedef struct attend_json_writer {
    attend_json_sink sink;
    void *user;
    bool compact;       /* no spaces after commas and colons */
    bool in_html;       /* escape what HTML or JavaScript could interpret */
    bool minimal;       /* escape only what JSON requires: quotes, backslashes and characters below U+0020 */
    bool follows_value; /* internal: the next value needs a comma before it */
    int status;
    size_t bytes; /* written so far */
} attend_json_writer;

/* A writer with default settings (spaces after commas and colons) that appends to a string, writes to a stream, or
 * calls `sink`. Set `compact`, `in_html` and `minimal` before the first value. A stream fails with ATTEND_IO. */
attend_json_writer attend_json_to_string(attend_string *out);
attend_json_writer attend_json_to_file(FILE *out);
attend_json_writer attend_json_to_sink(attend_json_sink sink, void *user);

/* Objects and arrays, which may be nested. */
void attend_json_begin_object(attend_json_writer *w);
void attend_json_end_object(attend_json_writer *w);
void attend_json_begin_array(attend_json_writer *w);
void attend_json_end_array(attend_json_writer *w);
/* The name of the next value of an object. */
void attend_json_put_key(attend_json_writer *w, const char *name);

/* A string: up to its zero byte, or of `size` bytes. */
void attend_json_put_text(attend_json_writer *w, const char *text);
void attend_json_put_bytes(attend_json_writer *w, const char *text, size_t size);
/* An integer. */
void attend_json_put_integer(attend_json_writer *w, int64_t x);
void attend_json_put_unsigned(attend_json_writer *w, uint64_t x);
/* A number with `digits` decimals: %.*f below 1e15 in magnitude, %.*e above. */
void attend_json_put_number(attend_json_writer *w, int digits, double x);
/* A number with `digits` significant digits: %.*g. */
void attend_json_put_short(attend_json_writer *w, int digits, double x);
void attend_json_put_bool(attend_json_writer *w, bool x);
void attend_json_put_null(attend_json_writer *w);

/* A value that is already JSON, copied unchanged. */
void attend_json_put_value(attend_json_writer *w, const char *json);
/* Begins a new line for the next value of an array, after the comma if there is one. */
void attend_json_begin_line(attend_json_writer *w);
/* White space, such as the line end after an object, copied unchanged; it does not count as a value. */
void attend_json_put_space(attend_json_writer *w, const char *space);

#ifdef __cplusplus
}
#endif
#endif
