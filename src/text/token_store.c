#include "text/token_store.h"

#include "core/memory.h"
#include "core/status.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 256 << 10 };

int attend_token_store_open(attend_token_store *s, const char *directory)
{
    char path[PATH_MAX];
    s->directory = directory;
    s->buffer = attend_memory_aligned(BUFFER);
    if (!s->buffer) return attend_fail(ATTEND_NO_MEMORY, "no memory to write a temporary file");
    if (snprintf(path, sizeof path, "%s/attend-XXXXXX", directory) >= (int)sizeof path)
        return attend_fail(ATTEND_IO, "cannot create a temporary file in %.200s...: its path is too long", directory);
    s->file = mkstemp(path);
    if (s->file < 0)
        return attend_fail(ATTEND_IO, "cannot create a temporary file in %s: %s; set TMPDIR to another directory",
                           directory, attend_errno_text(errno));
    unlink(path);
    return ATTEND_OK;
}

static int flush(attend_token_store *s)
{
    const char *next = s->buffer;
    while (s->buffered > 0) {
        const ssize_t done = write(s->file, next, s->buffered);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0)
            return attend_fail(
                ATTEND_IO,
                "cannot write a temporary file in %s: %s after %zu bytes; set TMPDIR to a directory with more "
                "space",
                s->directory, attend_errno_text(done < 0 ? errno : EIO), s->size - s->buffered);
        next += done;
        s->buffered -= (size_t)done;
    }
    return ATTEND_OK;
}

int attend_token_store_append(attend_token_store *s, const void *bytes, size_t count)
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

int attend_token_store_end(attend_token_store *s)
{
    const int status = flush(s);
    attend_memory_free(s->buffer);
    s->buffer = NULL;
    if (status == ATTEND_OK)
        posix_fadvise(s->file, 0, 0, POSIX_FADV_RANDOM); /* reading ahead would evict pages that are still needed */
    return status;
}

int attend_token_store_read(const attend_token_store *s, size_t at, void *to, size_t count)
{
    char *next = to;
    while (count > 0) {
        const ssize_t got = pread(s->file, next, count, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return attend_fail(ATTEND_IO, "cannot read a temporary file in %s at byte %zu of %zu: %s", s->directory, at,
                               s->size, got < 0 ? attend_errno_text(errno) : "it is truncated");
        next += got;
        at += (size_t)got;
        count -= (size_t)got;
    }
    return ATTEND_OK;
}

void attend_token_store_free(attend_token_store *s)
{
    if (s->file >= 0) close(s->file);
    attend_memory_free(s->buffer);
    *s = (attend_token_store)ATTEND_TOKEN_STORE_INIT;
}
