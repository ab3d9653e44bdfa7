#include "format/tensor_checksum.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) <= sizeof((attend_checksum *)0)->state, "the state of XXH3 does not fit");

void attend_checksum_begin(attend_checksum *c)
{
    XXH3_64bits_reset((XXH3_state_t *)(void *)c->state);
}

void attend_checksum_add(attend_checksum *c, const void *bytes, size_t size)
{
    if (size == 0) return;
#ifdef ATTEND_X86
    if (__builtin_cpu_supports("avx2")) {
        attend_checksum_add_avx2(c, bytes, size);
        return;
    }
#endif
    XXH3_64bits_update((XXH3_state_t *)(void *)c->state, bytes, size);
}

void attend_checksum_end(const attend_checksum *c, char digits[ATTEND_CHECKSUM_DIGITS])
{
    XXH64_hash_t sum = XXH3_64bits_digest((const XXH3_state_t *)(const void *)c->state);
    for (int i = ATTEND_CHECKSUM_DIGITS; i-- > 0; sum >>= 4) digits[i] = "0123456789abcdef"[sum & 15];
}

bool attend_is_checksum(const char *value)
{
    const size_t prefix = sizeof ATTEND_CHECKSUM_PREFIX - 1;
    return strncmp(value, ATTEND_CHECKSUM_PREFIX, prefix) == 0 &&
           strspn(value + prefix, "0123456789abcdef") == ATTEND_CHECKSUM_DIGITS &&
           value[prefix + ATTEND_CHECKSUM_DIGITS] == '\0';
}
