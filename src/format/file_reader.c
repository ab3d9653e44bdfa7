#include "format/file_reader.h"

#include "core/memory.h"
#include "core/status.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int cannot_read(const attend_file_reader *r)
{
    return attend_fail(ATTEND_IO, "cannot read %s: %s", r->name, attend_errno_text(errno));
}

static int changed(const attend_file_reader *r, const char *how)
{
    return attend_fail(ATTEND_IO, "%s changed while it was read: %s; read it again when no other program writes to it",
                       r->name, how);
}

static int check_kind(attend_file_reader *r)
{
    if (fstat(r->descriptor, &r->stat) != 0) return cannot_read(r);
    if (S_ISDIR(r->stat.st_mode)) return attend_fail(ATTEND_IO, "%s is a directory; give the path of a file", r->name);
    if (!S_ISREG(r->stat.st_mode))
        return attend_fail(ATTEND_IO, "%s is a device, pipe or socket; a model must be a file on disk", r->name);
    r->size = (size_t)r->stat.st_size;
    r->buffer = attend_memory_aligned(ATTEND_READ_CHUNK);
    return r->buffer ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to read %s", r->name);
}

int attend_file_reader_open(attend_file_reader *r, const char *path)
{
    *r = (attend_file_reader){ .name = path };
    do r->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not block on a pipe */
    while (r->descriptor < 0 && errno == EINTR);
    const int status = r->descriptor < 0 ? cannot_read(r) : check_kind(r);
    if (status != ATTEND_OK) attend_file_reader_close(r);
    return status;
}

void attend_file_reader_use(attend_file_reader *r, const void *bytes, size_t size, const char *name)
{
    *r = (attend_file_reader){ .name = name, .descriptor = -1, .size = size, .bytes = bytes, .available = size };
}

void attend_file_reader_end(attend_file_reader *r)
{
    attend_memory_free(r->buffer);
    r->buffer = NULL, r->bytes = NULL, r->available = 0;
}

void attend_file_reader_close(attend_file_reader *r)
{
    attend_file_reader_end(r);
    if (r->descriptor >= 0) close(r->descriptor);
    r->descriptor = -1;
}

/* Reads 1 to `size` bytes. The end of the file is an error: it had more bytes when it was opened. */
static int read_some(const attend_file_reader *r, void *to, size_t size, size_t *count)
{
    ssize_t got;
    do got = read(r->descriptor, to, size);
    while (got < 0 && errno == EINTR);
    *count = got > 0 ? (size_t)got : 0;
    if (got < 0) return cannot_read(r);
    return got > 0 ? ATTEND_OK : changed(r, "it became shorter");
}

/* Fills the buffer, of which everything has been used: completely, unless the file ends. */
static int refill(attend_file_reader *r)
{
    const size_t left = r->size - r->at, size = left < ATTEND_READ_CHUNK ? left : ATTEND_READ_CHUNK;
    int status = ATTEND_OK;
    r->bytes = r->buffer;
    while (status == ATTEND_OK && r->available < size) {
        size_t count;
        status = read_some(r, r->buffer + r->available, size - r->available, &count);
        r->available += count;
    }
    return status;
}

int attend_file_reader_peek(attend_file_reader *r, const unsigned char **bytes, size_t *size)
{
    int status = ATTEND_OK;
    if (r->available == 0 && r->at < r->size) status = refill(r);
    *bytes = r->bytes;
    if (*size > r->available) *size = r->available;
    return status;
}

void attend_file_reader_skip(attend_file_reader *r, size_t size)
{
    r->bytes += size, r->available -= size, r->at += size;
}

int attend_file_reader_read(attend_file_reader *r, void *to, size_t size)
{
    enum { DIRECT = 32 << 10 }; /* at least so many bytes are read to their destination, not through the buffer */
    unsigned char *next = to;
    while (size > 0) {
        size_t count = size;
        if (r->available > 0) {
            if (count > r->available) count = r->available;
            memcpy(next, r->bytes, count);
            attend_file_reader_skip(r, count);
        } else {
            const int status = size >= DIRECT ? read_some(r, next, size, &count) : refill(r);
            if (status != ATTEND_OK) return status;
            if (size < DIRECT) continue;
            r->at += count;
        }
        next += count, size -= count;
    }
    return ATTEND_OK;
}

int attend_file_reader_read_at(const attend_file_reader *r, size_t at, void *to, size_t size)
{
    unsigned char *next = to;
    while (size > 0) {
        const ssize_t got = pread(r->descriptor, next, size, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return cannot_read(r);
        if (got == 0) return changed(r, "it became shorter");
        next += got, at += (size_t)got, size -= (size_t)got;
    }
    return ATTEND_OK;
}

int attend_file_reader_check(const attend_file_reader *r)
{
    struct stat now;
    if (r->descriptor < 0) return ATTEND_OK; /* in memory */
    if (fstat(r->descriptor, &now) != 0) return cannot_read(r);
    if (now.st_size != r->stat.st_size) return changed(r, "its size is another");
    if (now.st_mtim.tv_sec != r->stat.st_mtim.tv_sec || now.st_mtim.tv_nsec != r->stat.st_mtim.tv_nsec)
        return changed(r, "it was written to");
    return ATTEND_OK;
}
