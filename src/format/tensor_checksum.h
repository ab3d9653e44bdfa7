/* tensor_checksum.h: the checksum of a tensor file: XXH3-64, written as a prefix and 16 hex digits. */
#ifndef ATTEND_FORMAT_TENSOR_CHECKSUM_H
#define ATTEND_FORMAT_TENSOR_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>

#define ATTEND_CHECKSUM_PREFIX "xxh3-"
#define ATTEND_CHECKSUM_ZEROS  "0000000000000000"
enum { ATTEND_CHECKSUM_DIGITS = 16 };

typedef struct attend_chunk {
    const void *bytes;
    size_t size;
} attend_chunk;

/* Writes the hex digits of XXH3-64 over the concatenated spans. */
void attend_checksum(char digits[ATTEND_CHECKSUM_DIGITS], const attend_chunk *spans, size_t count);

/* Whether `value` is the prefix followed by the digits. */
bool attend_is_checksum(const char *value);

#endif
