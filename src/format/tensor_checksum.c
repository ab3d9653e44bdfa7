#include "format/tensor_checksum.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

void attend_checksum(char digits[ATTEND_CHECKSUM_DIGITS], const attend_chunk *spans, size_t count)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (size_t i = 0; i < count; i++)
        if (spans[i].size > 0) XXH3_64bits_update(&state, spans[i].bytes, spans[i].size);
    XXH64_hash_t sum = XXH3_64bits_digest(&state);
    for (int i = ATTEND_CHECKSUM_DIGITS; i-- > 0; sum >>= 4) digits[i] = "0123456789abcdef"[sum & 15];
}

bool attend_is_checksum(const char *value)
{
    const size_t prefix = sizeof ATTEND_CHECKSUM_PREFIX - 1;
    return strncmp(value, ATTEND_CHECKSUM_PREFIX, prefix) == 0 &&
           strspn(value + prefix, "0123456789abcdef") == ATTEND_CHECKSUM_DIGITS &&
           value[prefix + ATTEND_CHECKSUM_DIGITS] == '\0';
}
