#include "train/training_log.h"

#include "core/status.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const training_log *log, const char *what)
{
    return attend_fail(ATTEND_IO, "%s: cannot %s the log: %s", log->path, what, attend_errno_text(errno));
}

/* An existing file must be a training log, because it will be truncated. */
static bool is_log(int file)
{
    static const char begin[] = "{\"update\": ";
    char first[sizeof begin - 1];
    const ssize_t got = pread(file, first, sizeof first, 0);
    return got == 0 || (got == (ssize_t)sizeof first && memcmp(first, begin, sizeof first) == 0);
}

int attend_training_log_open(training_log *log, const char *path, uint64_t bytes)
{
    *log = (training_log){ .bytes = bytes };
    snprintf(log->path, sizeof log->path, "%s", path);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct stat s;
    if (file < 0) return failed(log, "open");
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode)) {
        if (!is_log(file)) {
            close(file);
            return attend_fail(ATTEND_BAD_USAGE, "%s exists and is not a training log; choose another log path", path);
        }
        if ((uint64_t)s.st_size < bytes) log->bytes = (uint64_t)s.st_size;
        if (ftruncate(file, (off_t)log->bytes) != 0) {
            const int error = errno;
            close(file);
            errno = error;
            return failed(log, "truncate");
        }
    }
    log->file = fdopen(file, "a");
    if (log->file) return ATTEND_OK;
    close(file);
    return failed(log, "open");
}

void attend_training_log_close(training_log *log)
{
    if (log->file) fclose(log->file);
    log->file = NULL;
}

attend_json_writer attend_training_log_begin(training_log *log, uint64_t update)
{
    attend_json_writer w = attend_json_to_file(log->file);
    attend_json_begin_object(&w);
    attend_json_put_key(&w, "update"), attend_json_put_unsigned(&w, update);
    return w;
}

int attend_training_log_end(training_log *log, attend_json_writer *w)
{
    attend_json_end_object(w);
    attend_json_put_space(w, "\n");
    if (w->status != ATTEND_OK || fflush(log->file) != 0) {
        const int error = errno;
        return attend_fail(
            ATTEND_IO,
            "%s: cannot write after byte %llu of the log: %s; free disk space and run the same command to "
            "resume from the last checkpoint",
            log->path, (unsigned long long)log->bytes, attend_errno_text(error));
    }
    log->bytes += w->bytes;
    return ATTEND_OK;
}

int attend_training_log_flush(training_log *log)
{
    if (fflush(log->file) != 0) return failed(log, "write");
    if (fsync(fileno(log->file)) != 0 && errno != EINVAL && errno != EROFS) return failed(log, "flush");
    return ATTEND_OK;
}
