#include "core/string.h"

#include "core/memory.h"
#include "core/status.h"
#include <stdint.h>
#include <string.h>

void *attend_grow_array(void *old, size_t used, size_t min_count, size_t element_size, size_t *capacity)
{
    enum { MIN_CAPACITY = 16 };
    size_t more = *capacity + *capacity / 2;
    if (more < MIN_CAPACITY) more = MIN_CAPACITY;
    if (more < min_count) more = min_count;
    if (more > SIZE_MAX / element_size) return NULL;
    void *grown = attend_memory_aligned(more * element_size);
    if (!grown) return NULL;
    if (used) memcpy(grown, old, used * element_size);
    attend_memory_free(old);
    *capacity = more;
    return grown;
}

void attend_string_free(attend_string *s)
{
    if (!s) return;
    attend_memory_free(s->text);
    *s = (attend_string){ 0 };
}

int attend_string_reserve(attend_string *s, size_t more)
{
    if (s->capacity - s->size > more) return ATTEND_OK;
    char *text =
        more < SIZE_MAX - s->size ? attend_grow_array(s->text, s->size, s->size + more + 1, 1, &s->capacity) : NULL;
    if (!text) return attend_fail(ATTEND_NO_MEMORY, "no memory for %zu bytes of text", more);
    s->text = text;
    return ATTEND_OK;
}

int attend_string_add(attend_string *s, const char *bytes, size_t size)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s && (bytes || size == 0));
    const int status = attend_string_reserve(s, size);
    if (status != ATTEND_OK) return status;
    if (size) memcpy(s->text + s->size, bytes, size);
    s->size += size;
    s->text[s->size] = '\0';
    return ATTEND_OK;
}
