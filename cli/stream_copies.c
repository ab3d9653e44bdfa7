#include "stream_copies.h"

#include <attend/lines.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool is_stdin(const char *name)
{
    return strcmp(name, "-") == 0;
}

static bool is_stream(const char *name)
{
    struct stat s;
    return is_stdin(name) || (stat(name, &s) == 0 && (S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode)));
}

/* File name i of a list; NULL: this item is a single file. */
static const char **name_at(const pairs_list *list, int i)
{
    return i % 2 ? &list->items[i / 2].target : &list->items[i / 2].source;
}

/* Whether a stream is refused: a device other than a terminal, or one without lines; it may have no end. */
static const char *endless(int from, ssize_t count, unsigned long long line_bytes)
{
    struct stat s;
    if (count > 0 && fstat(from, &s) == 0 && S_ISCHR(s.st_mode) && !isatty(from)) return "it is a device";
    return line_bytes > ATTEND_MAX_SKIPPED_BYTES ? "it has no line feeds; it is no text" : NULL;
}

/* Half of the free space of the file system: a stream may have no end, and a full disk stops other programs. */
static unsigned long long max_bytes(int to)
{
    struct statvfs s;
    return fstatvfs(to, &s) == 0 ? (unsigned long long)s.f_bavail * s.f_frsize / 2 : ULLONG_MAX;
}

/* Copies a stream; NULL, or why it fails. errno is 0 if the stream is refused. */
static const char *copy(int from, int to, unsigned long long *bytes)
{
    static char block[1 << 16];
    const unsigned long long max = max_bytes(to);
    unsigned long long line_bytes = 0; /* since the last line feed */
    for (ssize_t n, done; (n = read(from, block, sizeof block)) != 0;) {
        if (n < 0) return attend_errno_text(errno);
        line_bytes = memchr(block, '\n', (size_t)n) ? 0 : line_bytes + (unsigned long long)n;
        const char *refused = endless(from, n, line_bytes);
        if (refused) {
            errno = 0;
            return refused;
        }
        if (*bytes + (unsigned long long)n > max) {
            errno = EFBIG;
            return "it takes more than half of the free space there, or has no end";
        }
        for (ssize_t at = 0; at < n; at += done, *bytes += (unsigned long long)done)
            if ((done = write(to, block + at, (size_t)(n - at))) <= 0) return attend_errno_text(errno);
    }
    return NULL;
}

static int make_copy(const verb *v, const char **name, stream_copy *made)
{
    char path[4096];
    const char *directory = getenv("TMPDIR");
    unsigned long long bytes = 0;
    snprintf(path, sizeof path, "%s/attend-input-XXXXXX", directory && *directory ? directory : "/tmp");
    const int from = is_stdin(*name) ? STDIN_FILENO : open(*name, O_RDONLY | O_CLOEXEC);
    const int to = from >= 0 ? mkstemp(path) : -1;
    if (to >= 0) unlink(path);
    const char *why = to >= 0 ? copy(from, to, &bytes) : attend_errno_text(errno);
    const bool refused = why && errno == 0;
    if (from > STDIN_FILENO) close(from);
    made->name = is_stdin(*name) ? "standard input" : *name;
    if (why && refused) {
        attend_print(stderr, "attend %s: cannot read %s: %s\n", v->name, made->name, why);
        return ATTEND_IO;
    }
    if (why) {
        attend_print(stderr,
                     "attend %s: cannot copy %s to %s (after %llu bytes): %s; set TMPDIR to another directory, or give "
                     "a file\n",
                     v->name, made->name, path, bytes, why);
        return ATTEND_IO;
    }
    snprintf(made->path, sizeof made->path, "/dev/fd/%d", to);
    *name = made->path;
    return 0;
}

int stream_copies_make(const verb *v, pairs_list *const *lists, int count, stream_copies *copies)
{
    int max_count = 0, status = 0;
    for (int l = 0; l < count; l++) max_count += 2 * lists[l]->count;
    *copies = (stream_copies){ .items = calloc((size_t)max_count + 1, sizeof *copies->items) };
    if (!copies->items) return usage_error(v, "out of memory");
    for (int l = 0; l < count; l++)
        for (int i = 0; status == 0 && i < 2 * lists[l]->count; i++) {
            const char **name = name_at(lists[l], i);
            if (*name && is_stream(*name)) status = make_copy(v, name, &copies->items[copies->count++]);
        }
    return status;
}

void stream_copies_explain(const stream_copies *copies)
{
    for (int i = 0; i < copies->count; i++)
        if (copies->items[i].path[0])
            attend_print(stderr, "(%s is a copy of %s)\n", copies->items[i].path, copies->items[i].name);
}

void stream_copies_free(stream_copies *copies)
{
    free(copies->items);
}
