/* refuse_memory.c: preloaded into a server, refuses one allocation. The file in ATTEND_TEST_REFUSE, 8 bytes, is mapped: a
 * positive number is how many allocations are still granted before the one that is refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* of glibc */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static _Atomic(int64_t) *left;

__attribute__((constructor)) static void map(void)
{
    const char *path = getenv("ATTEND_TEST_REFUSE");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *p = mmap(NULL, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED) left = p;
    close(fd);
}

static int is_refused(void)
{
    if (!left || atomic_load(left) <= 0 || atomic_fetch_sub(left, 1) != 1) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return is_refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    return is_refused() ? NULL : __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return is_refused() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = is_refused() ? NULL : __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
