/* guard_memory.c: one range of addresses is reserved for all numbers. It is inaccessible except between enter and
 * leave, which need one mprotect each, however many blocks there are. The range is changed as a whole, so that the
 * kernel neither splits nor joins mappings. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include "device/guard_memory.h"

#include "core/memory.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
static const size_t RESERVED = (size_t)1 << 36;

/* A block in use, or the free space between two. Blocks are in the order of their addresses. */
typedef struct block {
    size_t first, size; /* bytes from the base */
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *base;
static int inside; /* calls between enter and leave */
static block *blocks;
static size_t count, capacity;

void attend_guard_enter(void)
{
    pthread_mutex_lock(&lock);
    if (inside++ == 0 && base) mprotect(base, RESERVED, PROT_READ | PROT_WRITE);
    pthread_mutex_unlock(&lock);
}

void attend_guard_leave(void)
{
    pthread_mutex_lock(&lock);
    if (--inside == 0 && base) mprotect(base, RESERVED, PROT_NONE);
    pthread_mutex_unlock(&lock);
}

static bool reserve(void)
{
    if (base) return true;
    void *p = mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    base = p;
    if (inside) mprotect(base, RESERVED, PROT_READ | PROT_WRITE);
    return true;
}

static bool list_fits(void)
{
    if (count < capacity) return true;
    const size_t larger = capacity ? 2 * capacity : 64;
    block *list = attend_memory_zeroed(larger, sizeof *list);
    if (!list) return false;
    if (count) memcpy(list, blocks, count * sizeof *list);
    attend_memory_free(blocks);
    blocks = list, capacity = larger;
    return true;
}

/* The index at which a block of this size fits, and its first byte. */
static size_t place(size_t size, size_t *first)
{
    *first = 0;
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].first - *first >= size) return i;
        *first = blocks[i].first + blocks[i].size;
    }
    return count;
}

void *attend_guard_take(size_t bytes)
{
    if (bytes > RESERVED / 2 || attend_memory_refused()) return NULL;
    const size_t size = bytes ? (bytes + PAGE - 1) / PAGE * PAGE : PAGE;
    size_t first = 0;
    bool ok = false;
    pthread_mutex_lock(&lock);
    if (reserve() && list_fits()) {
        const size_t at = place(size, &first);
        ok = first + size <= RESERVED;
        if (ok) {
            memmove(blocks + at + 1, blocks + at, (count - at) * sizeof *blocks);
            blocks[at] = (block){ first, size };
            count++;
        }
    }
    pthread_mutex_unlock(&lock);
    return ok ? base + first : NULL;
}

void attend_guard_give(void *p)
{
    if (!p) return;
    pthread_mutex_lock(&lock);
    const size_t first = (size_t)((char *)p - base);
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].first != first) continue;
        madvise(p, blocks[i].size, MADV_DONTNEED); /* frees the pages; the next block there begins with zeros */
        memmove(blocks + i, blocks + i + 1, (--count - i) * sizeof *blocks);
        break;
    }
    if (count == 0) attend_memory_free(blocks), blocks = NULL, capacity = 0;
    pthread_mutex_unlock(&lock);
}
