/* tensor_checksum_avx2.c: attend_checksum_add compiled for AVX2, where XXH3 takes a third of the time (src/CMakeLists.txt
 * has the flag). The sums are the same. */
#include "format/tensor_checksum.h"

#ifdef __AVX2__
#define XXH_INLINE_ALL
#include <xxhash.h>

void attend_checksum_add_avx2(attend_checksum *c, const void *bytes, size_t size)
{
    XXH3_64bits_update((XXH3_state_t *)(void *)c->state, bytes, size);
}
#else
typedef int attend_checksum_avx2_is_not_compiled; /* a translation unit must not be empty */
#endif
