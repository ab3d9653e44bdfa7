#include "text/string_order.h"

#include "core/memory.h"
#include "core/status.h"
#include <stdlib.h>
#include <string.h>

int attend_bytes_compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
    const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

typedef struct ranked {
    const char *bytes;
    size_t size;
    int64_t count;
    int number;
} ranked;

static int compare(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    return attend_bytes_compare(a->bytes, a->size, b->bytes, b->size);
}

int *attend_string_table_by_count(const attend_string_table *s)
{
    const size_t n = (size_t)s->count;
    ranked *all = attend_memory_aligned(n * sizeof *all);
    int *order = attend_memory_aligned(n * sizeof *order);
    if (!all || !order) {
        attend_fail(ATTEND_NO_MEMORY, "no memory to sort %d words", s->count);
        attend_memory_free(order);
        order = NULL;
    } else {
        for (int i = 0; i < s->count; i++)
            all[i] = (ranked){ attend_string_table_at(s, i), attend_string_table_size(s, i), s->entries[i].count, i };
        qsort(all, n, sizeof *all, compare);
        for (size_t i = 0; i < n; i++) order[i] = all[i].number;
    }
    attend_memory_free(all);
    return order;
}
