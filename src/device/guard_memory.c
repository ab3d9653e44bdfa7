/* guard_memory.c: two ranges of addresses of the same size, one after the other. The first, which the host sees, is never
 * accessible; the second holds the numbers. A function of the device adds the distance to its arguments, which costs
 * nothing: changing the protection of the memory for each call would cost up to milliseconds. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include "device/guard_memory.h"

#include "core/fork_lock.h"
#include "core/memory.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t RANGE = (size_t)1 << 36;

/* A block in use. Blocks are in the order of their addresses. */
typedef struct block {
    size_t first, size; /* bytes from the base */
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(char *) base; /* of the host's addresses; set once */
static block *blocks;
static size_t count, capacity;

/* The distance of p from the base; larger than both ranges if p is not memory of the device. */
static size_t distance(const void *p)
{
    const char *from = atomic_load(&base);
    return from ? (size_t)((uintptr_t)p - (uintptr_t)from) : SIZE_MAX;
}

void *attend_guard_numbers(const void *p)
{
    const size_t at = distance(p);
    if (!p || (at >= RANGE && at < 2 * RANGE)) return (void *)(uintptr_t)p;
    if (at >= RANGE) raise(SIGSEGV);
    return (char *)(uintptr_t)p + RANGE;
}

void *attend_guard_address(const void *numbers)
{
    const size_t at = distance(numbers);
    return at >= RANGE && at < 2 * RANGE ? (char *)(uintptr_t)numbers - RANGE : (void *)(uintptr_t)numbers;
}

void attend_guard_expect_host(const void *p)
{
    if (p && distance(p) < 2 * RANGE) raise(SIGSEGV);
}

size_t attend_guard_blocks(void)
{
    attend_fork_lock(&lock);
    const size_t n = count;
    attend_fork_unlock(&lock);
    return n;
}

static bool reserve(void)
{
    if (atomic_load(&base)) return true;
    char *p = mmap(NULL, 2 * RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    if (mprotect(p + RANGE, RANGE, PROT_READ | PROT_WRITE) != 0) {
        munmap(p, 2 * RANGE);
        return false;
    }
    atomic_store(&base, p);
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
    if (bytes > RANGE / 2 || attend_memory_refused()) return NULL;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = bytes ? (bytes + page - 1) / page * page : page;
    size_t first = 0;
    bool ok = false;
    attend_fork_lock(&lock);
    if (reserve() && list_fits()) {
        const size_t at = place(size, &first);
        ok = first + size <= RANGE;
        if (ok) {
            memmove(blocks + at + 1, blocks + at, (count - at) * sizeof *blocks);
            blocks[at] = (block){ first, size };
            count++;
        }
    }
    attend_fork_unlock(&lock);
    return ok ? base + first : NULL;
}

void attend_guard_give(void *p)
{
    if (!p) return;
    const size_t first = distance(p);
    attend_fork_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        if (blocks[i].first != first) continue;
        /* frees the pages; the next block there begins with zeros */
        madvise(attend_guard_numbers(p), blocks[i].size, MADV_DONTNEED);
        memmove(blocks + i, blocks + i + 1, (--count - i) * sizeof *blocks);
        break;
    }
    if (count == 0) attend_memory_free(blocks), blocks = NULL, capacity = 0;
    attend_fork_unlock(&lock);
}
