/* tensor_checksum.h: XXH3-64 over pieces of memory in turn, and how it is written in a tensor file. */
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

void attend_checksum(char digits[ATTEND_CHECKSUM_DIGITS], const attend_chunk *spans, size_t count);

/* Is this a prefix and digits? */
bool attend_is_checksum(const char *value);

#endif
