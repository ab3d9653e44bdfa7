#include "train/training_log.h"

#include "core/status.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const journal *j, const char *what)
{
    return attend_fail(ATTEND_IO, "%s: cannot %s the log: %s", j->path, what, attend_errno_text(errno));
}

/* Whatever is there must be a log: it is going to be cut. */
static bool is_log(int file)
{
    static const char begin[] = "{\"update\": ";
    char first[sizeof begin - 1];
    const ssize_t got = pread(file, first, sizeof first, 0);
    return got == 0 || (got == (ssize_t)sizeof first && memcmp(first, begin, sizeof first) == 0);
}

int attend_training_log_open(journal *j, const char *path, uint64_t bytes)
{
    *j = (journal){ .bytes = bytes };
    snprintf(j->path, sizeof j->path, "%s", path);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct stat s;
    if (file < 0) return failed(j, "open");
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode)) {
        if (!is_log(file)) {
            close(file);
            return attend_fail(ATTEND_BAD_USAGE,
                               "%s is not the log of a training, and would be lost: name another --log", path);
        }
        if ((uint64_t)s.st_size < bytes) j->bytes = (uint64_t)s.st_size;
        if (ftruncate(file, (off_t)j->bytes) != 0) {
            const int error = errno;
            close(file);
            errno = error;
            return failed(j, "cut back");
        }
    }
    j->file = fdopen(file, "a");
    if (j->file) return ATTEND_OK;
    close(file);
    return failed(j, "open");
}

void attend_training_log_close(journal *j)
{
    if (j->file) fclose(j->file);
    j->file = NULL;
}

attend_json_writer attend_training_log_begin(journal *j, uint64_t update)
{
    attend_json_writer w = attend_json_to_file(j->file);
    attend_json_begin_object(&w);
    attend_json_put_key(&w, "update"), attend_json_put_unsigned(&w, update);
    return w;
}

int attend_training_log_end(journal *j, attend_json_writer *w)
{
    attend_json_end_object(w);
    attend_json_put_space(w, "\n");
    if (w->status != ATTEND_OK || fflush(j->file) != 0) {
        const int error = errno;
        return attend_fail(
            ATTEND_IO,
            "%s: cannot write after byte %llu of the log: %s; free disk space and run the same command to "
            "resume from the last checkpoint",
            j->path, (unsigned long long)j->bytes, attend_errno_text(error));
    }
    j->bytes += w->bytes;
    return ATTEND_OK;
}

int attend_training_log_flush(journal *j)
{
    if (fflush(j->file) != 0) return failed(j, "write");
    if (fsync(fileno(j->file)) != 0 && errno != EINVAL && errno != EROFS) return failed(j, "flush");
    return ATTEND_OK;
}
