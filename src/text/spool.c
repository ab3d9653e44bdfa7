#include "text/spool.h"

#include "core/memory.h"
#include "core/status.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BUFFER = 256 << 10 };

int attend_spool_open(attend_spool *s, const char *folder)
{
    char path[PATH_MAX];
    s->folder = folder;
    s->buffer = attend_memory_aligned(BUFFER);
    if (!s->buffer) return attend_fail(ATTEND_NO_MEMORY, "no memory to write a temporary file");
    if (snprintf(path, sizeof path, "%s/attend-XXXXXX", folder) >= (int)sizeof path)
        return attend_fail(ATTEND_IO, "cannot make a temporary file in %.200s...: its path is too long", folder);
    s->file = mkstemp(path);
    if (s->file < 0)
        return attend_fail(ATTEND_IO, "cannot make a temporary file in %s: %s; TMPDIR names another folder", folder,
                           attend_system_words(errno));
    unlink(path);
    return ATTEND_OK;
}

static int flush(attend_spool *s)
{
    const char *next = s->buffer;
    while (s->buffered > 0) {
        const ssize_t done = write(s->file, next, s->buffered);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            return attend_fail(
                ATTEND_IO,
                "cannot write a temporary file in %s: %s after %zu bytes; let TMPDIR name a folder with more "
                "room",
                s->folder, attend_system_words(done < 0 ? errno : EIO), s->size - s->buffered);
        next += done;
        s->buffered -= (size_t)done;
    }
    return ATTEND_OK;
}

int attend_spool_append(attend_spool *s, const void *bytes, size_t count)
{
    const char *next = bytes;
    while (count > 0) {
        const size_t left = BUFFER - s->buffered, now = count < left ? count : left;
        memcpy(s->buffer + s->buffered, next, now);
        s->buffered += now;
        s->size += now;
        next += now;
        count -= now;
        if (s->buffered < BUFFER) break;
        const int status = flush(s);
        if (status != ATTEND_OK) return status;
    }
    return ATTEND_OK;
}

int attend_spool_map(attend_spool *s)
{
    const int status = flush(s);
    attend_memory_free(s->buffer);
    s->buffer = NULL;
    if (status != ATTEND_OK || s->size == 0) return status;
    if (attend_memory_refused()) return attend_fail(ATTEND_NO_MEMORY, "no memory to map a temporary file");
    void *bytes = mmap(NULL, s->size, PROT_READ, MAP_SHARED, s->file, 0);
    if (bytes == MAP_FAILED)
        return attend_fail(errno == ENOMEM ? ATTEND_NO_MEMORY : ATTEND_IO,
                           "cannot map a temporary file of %zu bytes: %s", s->size, attend_system_words(errno));
    posix_madvise(bytes, s->size, POSIX_MADV_RANDOM); /* reading ahead would push out what is still needed */
    s->bytes = bytes;
    return ATTEND_OK;
}

void attend_spool_free(attend_spool *s)
{
    if (s->bytes) munmap(s->bytes, s->size);
    if (s->file >= 0) close(s->file);
    attend_memory_free(s->buffer);
    *s = (attend_spool)ATTEND_SPOOL_INIT;
}
