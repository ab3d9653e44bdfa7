/* letters.h: a minimal encoder: one token for each byte. */
#ifndef ATTEND_TEST_LETTERS_H
#define ATTEND_TEST_LETTERS_H

#include "core/memory.h"
#include "core/status.h"
#include "text/batches.h"
#include <string.h>

/* Fails on a '!'. Does not set spans. */
static inline int encode_letters(void *user, attend_side side, const char *text, size_t size, attend_ids *out)
{
    (void)user;
    (void)side;
    if (memchr(text, '!', size)) return attend_fail(ATTEND_BAD_DATA, "an exclamation mark");
    if (out->count + (int)size > out->capacity) {
        const int capacity = 2 * (out->count + (int)size);
        int *ids = attend_memory_zeroed((size_t)capacity, sizeof *ids);
        if (!ids) return attend_fail(ATTEND_NO_MEMORY, "no memory for letters");
        if (out->count > 0) memcpy(ids, out->ids, (size_t)out->count * sizeof *ids);
        attend_memory_free(out->ids);
        out->ids = ids;
        out->capacity = capacity;
    }
    for (size_t i = 0; i < size; i++) out->ids[out->count++] = (unsigned char)text[i];
    return ATTEND_OK;
}

#endif
