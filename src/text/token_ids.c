#include "text/token_ids.h"

#include "core/memory.h"
#include "core/status.h"
#include <limits.h>
#include <string.h>

void attend_ids_free(attend_ids *ids)
{
    if (!ids) return;
    attend_memory_free(ids->ids);
    attend_memory_free(ids->spans);
    *ids = (attend_ids){ 0 };
}

int attend_ids_reserve(attend_ids *ids, size_t more)
{
    if (more <= (size_t)(ids->capacity - ids->count)) return ATTEND_OK;
    if (more > (size_t)(INT_MAX - ids->count))
        return attend_fail(ATTEND_BAD_DATA, "an array has at most %d tokens; encode fewer lines into one", INT_MAX);
    const size_t used = (size_t)ids->count;
    size_t capacity = (size_t)ids->capacity + (size_t)ids->capacity / 2 + 16;
    if (capacity < used + more) capacity = used + more;
    if (capacity > INT_MAX) capacity = INT_MAX;
    int *values = attend_memory_aligned(capacity * sizeof *values);
    attend_span *spans = attend_memory_aligned(capacity * sizeof *spans);
    if (!values || !spans) {
        attend_memory_free(values);
        attend_memory_free(spans);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %zu tokens", capacity);
    }
    if (used) {
        memcpy(values, ids->ids, used * sizeof *values);
        memcpy(spans, ids->spans, used * sizeof *spans);
    }
    const int count = ids->count;
    attend_ids_free(ids);
    *ids = (attend_ids){ values, spans, count, (int)capacity };
    return ATTEND_OK;
}

int attend_ids_add(attend_ids *ids, int id, size_t begin, size_t end)
{
    if (ids->count == ids->capacity) {
        const int status = attend_ids_reserve(ids, 1);
        if (status != ATTEND_OK) return status;
    }
    ids->ids[ids->count] = id;
    ids->spans[ids->count++] = (attend_span){ (int)begin, (int)end };
    return ATTEND_OK;
}
