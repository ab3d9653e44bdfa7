#include "model/attachments.h"

#include "core/memory.h"
#include "core/status.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_bytes(attachment *x)
{
    if (!x->borrowed) attend_memory_free((void *)(uintptr_t)x->bytes);
}

void attend_attachments_free(attachments *a)
{
    for (size_t i = 0; i < a->count; i++) {
        free_bytes(a->list[i]);
        attend_memory_free(a->list[i]);
    }
    attend_memory_free(a->list);
    attend_memory_free(a->by_name);
    *a = (attachments){ 0 };
}

/* The first entry of the index whose name is not before `name`. */
static size_t place_of(const attachments *a, const char *name)
{
    size_t first = 0, last = a->count;
    while (first < last) {
        const size_t middle = first + (last - first) / 2;
        if (strcmp(a->by_name[middle]->name, name) < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

attachment *attend_attachments_find(const attachments *a, const char *name)
{
    const size_t i = place_of(a, name);
    return i < a->count && strcmp(a->by_name[i]->name, name) == 0 ? a->by_name[i] : NULL;
}

bool attend_attachments_equal(const attachment *a, const attachment *b)
{
    return b && b->size == a->size && (a->size == 0 || memcmp(b->bytes, a->bytes, a->size) == 0);
}

void attend_attachments_remove(attachments *a, const char *name)
{
    attachment *x = attend_attachments_find(a, name);
    if (!x) return;
    attachment **const lists[] = { a->list, a->by_name };
    for (int k = 0; k < 2; k++) {
        size_t i = 0;
        while (lists[k][i] != x) i++;
        memmove(lists[k] + i, lists[k] + i + 1, (a->count - i - 1) * sizeof *lists[k]);
    }
    a->count--;
    free_bytes(x);
    attend_memory_free(x);
}

static int grow(attachments *a)
{
    if (a->count < a->capacity) return ATTEND_OK;
    const size_t capacity = a->capacity ? 2 * a->capacity : 8;
    attachment **list = attend_memory_zeroed(capacity, sizeof *list);
    attachment **by_name = attend_memory_zeroed(capacity, sizeof *by_name);
    if (!list || !by_name) {
        attend_memory_free(list);
        attend_memory_free(by_name);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %zu attachments", capacity);
    }
    if (a->count) {
        memcpy(list, a->list, a->count * sizeof *list);
        memcpy(by_name, a->by_name, a->count * sizeof *by_name);
    }
    attend_memory_free(a->list);
    attend_memory_free(a->by_name);
    a->list = list, a->by_name = by_name, a->capacity = capacity;
    return ATTEND_OK;
}

static int check_name(const char *name)
{
    if (*name && strlen(name) < ATTEND_ATTACHMENT_NAME) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "the name of an attachment must have 1 to %d bytes; '%.80s' does not",
                       ATTEND_ATTACHMENT_NAME - 1, name);
}

static int no_memory(const char *name, size_t size)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for the %zu bytes of '%s'", size, name);
}

/* The bytes, or a copy of them; NULL: no memory. */
static const void *own_bytes(const void *bytes, size_t size, bool borrow)
{
    if (borrow) return bytes;
    void *copy = attend_memory_aligned(size);
    if (copy && size) memcpy(copy, bytes, size);
    return copy;
}

int attend_attachments_append(attachments *a, const char *name, const void *bytes, size_t size, bool borrow)
{
    int status = check_name(name);
    if (status == ATTEND_OK) status = grow(a);
    if (status != ATTEND_OK) return status;
    attachment *x = attend_memory_zeroed(1, sizeof *x);
    if (x) x->bytes = own_bytes(bytes, size, borrow);
    if (!x || !x->bytes) {
        attend_memory_free(x);
        return no_memory(name, size);
    }
    snprintf(x->name, sizeof x->name, "%s", name);
    x->size = size, x->borrowed = borrow;
    a->list[a->count] = a->by_name[a->count] = x;
    a->count++;
    return ATTEND_OK;
}

static int compare(const void *a, const void *b)
{
    const attachment *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

void attend_attachments_index(attachments *a)
{
    if (a->count) qsort(a->by_name, a->count, sizeof *a->by_name, compare);
}

int attend_attachments_set(attachments *a, const char *name, const void *bytes, size_t size)
{
    attachment *old = attend_attachments_find(a, name);
    if (old) {
        const void *copy = own_bytes(bytes, size, false);
        if (!copy) return no_memory(name, size);
        free_bytes(old);
        old->bytes = copy, old->size = size, old->borrowed = false;
        return ATTEND_OK;
    }
    const size_t at = place_of(a, name);
    const int status = attend_attachments_append(a, name, bytes, size, false);
    if (status != ATTEND_OK) return status;
    attachment *added = a->by_name[a->count - 1];
    memmove(a->by_name + at + 1, a->by_name + at, (a->count - 1 - at) * sizeof *a->by_name);
    a->by_name[at] = added;
    return ATTEND_OK;
}
