/* tensor_checksum.h: the checksum of a tensor file: XXH3-64, written as a prefix and 16 hex digits. */
#ifndef ATTEND_FORMAT_TENSOR_CHECKSUM_H
#define ATTEND_FORMAT_TENSOR_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>

#define ATTEND_CHECKSUM_PREFIX "xxh3-"
#define ATTEND_CHECKSUM_ZEROS  "0000000000000000"
enum { ATTEND_CHECKSUM_DIGITS = 16 };

/* A checksum that is being computed: the state of XXH3. */
typedef struct attend_checksum {
    _Alignas(64) unsigned char state[640];
} attend_checksum;

void attend_checksum_begin(attend_checksum *c);
void attend_checksum_add(attend_checksum *c, const void *bytes, size_t size);
void attend_checksum_add_avx2(attend_checksum *c, const void *bytes, size_t size); /* size > 0; needs AVX2 */
/* Writes the hex digits of XXH3-64 over everything that was added. */
void attend_checksum_end(const attend_checksum *c, char digits[ATTEND_CHECKSUM_DIGITS]);

/* Whether `value` is the prefix followed by the digits. */
bool attend_is_checksum(const char *value);

#endif
