/* printable.h: text in a form that is safe to print.
 *
 * File names, lines of text, tokens and metadata come from anywhere, and a terminal obeys the control characters in
 * them. Messages, reports, excerpts and JSON all use this file to decide which characters those are. */
#ifndef ATTEND_CORE_PRINTABLE_H
#define ATTEND_CORE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Control characters (C0, DEL and C1) and the line separators U+2028 and U+2029. */
static inline bool attend_is_control(int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

/* Embeddings, overrides and isolates of the Unicode bidirectional algorithm: they show text in another order than it
 * has. Marks (U+200E, U+200F) are part of ordinary text and are not among them. */
static inline bool attend_overrides_direction(int32_t c)
{
    return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

typedef enum attend_printable_set {
    ATTEND_PRINT_ALL,    /* everything but control characters and direction overrides */
    ATTEND_PRINT_VISIBLE /* nor invisible characters: soft hyphen, zero-width characters, byte order mark */
} attend_printable_set;

enum { ATTEND_PRINTABLE_BYTES = 12 };

/* Writes the character at `text` (left > 0 bytes can be read), unchanged if it belongs to `set`, otherwise escaped:
 * "\t", "\n", "\r", "\u{1b}", or "\xff" for a NUL or a byte that is not UTF-8. A backslash is not escaped, so escaping
 * twice changes nothing. Stores the number of bytes written, without a '\0'; returns the number of bytes read. */
size_t attend_printable_next(const char *text, size_t left, attend_printable_set set, char out[ATTEND_PRINTABLE_BYTES],
                             size_t *written);

#endif
