#include "train/journal.h"

#include "core/status.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const journal *j, const char *what)
{
    return attend_fail(ATTEND_IO, "%s: cannot %s the log: %s", j->path, what, attend_system_words(errno));
}

int attend_journal_open(journal *j, const char *path, uint64_t bytes)
{
    *j = (journal){ .bytes = bytes };
    snprintf(j->path, sizeof j->path, "%s", path);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct stat s;
    if (file < 0) return failed(j, "open");
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode)) {
        if ((uint64_t)s.st_size < bytes) {
            close(file);
            return attend_fail(
                ATTEND_IO,
                "%s: the log has %lld bytes, and had %llu when the checkpoint was made; put it back, or begin anew "
                "with --fresh",
                path, (long long)s.st_size, (unsigned long long)bytes);
        }
        if (ftruncate(file, (off_t)bytes) != 0 || lseek(file, 0, SEEK_END) < 0) {
            close(file);
            return failed(j, "cut back");
        }
    }
    j->file = fdopen(file, "a");
    if (j->file) return ATTEND_OK;
    close(file);
    return failed(j, "open");
}

void attend_journal_close(journal *j)
{
    if (j->file) fclose(j->file);
    j->file = NULL;
}

int attend_journal_add(journal *j, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vfprintf(j->file, format, arguments);
    va_end(arguments);
    if (n < 0 || fputc('\n', j->file) == EOF || fflush(j->file) != 0) return failed(j, "write");
    j->bytes += (uint64_t)n + 1;
    return ATTEND_OK;
}

int attend_journal_flush(journal *j)
{
    if (fflush(j->file) != 0) return failed(j, "write");
    if (fsync(fileno(j->file)) != 0 && errno != EINVAL && errno != EROFS) return failed(j, "flush");
    return ATTEND_OK;
}
