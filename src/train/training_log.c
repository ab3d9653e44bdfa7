#include "train/training_log.h"

#include "core/status.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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

/* The id in the first line; 0: an earlier version wrote the log. *has_more: other lines follow. */
static uint64_t id_of(int file, bool *has_more)
{
    char first[256];
    const ssize_t got = pread(file, first, sizeof first - 1, 0);
    first[got > 0 ? got : 0] = '\0';
    const size_t length = strcspn(first, "\n");
    *has_more = first[length] && first[length + 1];
    first[length] = '\0';
    const char *at = strstr(first, "\"" LOG_ID "\": \"");
    return at ? strtoull(at + sizeof "\"" LOG_ID "\": \"" - 1, NULL, 16) : 0;
}

/* Whether an existing log may be truncated: it is a log, no other process writes it, and it is this training's. An
 * earlier version wrote no id; its log is accepted if training resumes. A new training accepts only the first line, after
 * which it may have been killed, before its first checkpoint: the same training of another model has the same id. */
static int check_owner(const training_log *log, int file, const struct stat *s, const training_log_owner *owner)
{
    if (!is_log(file))
        return attend_fail(ATTEND_BAD_USAGE, "%s exists and is not a training log; choose another log path", log->path);
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s is the log of another process that is training; choose another log path", log->path);
    bool has_more;
    const uint64_t id = id_of(file, &has_more);
    const bool is_own = owner->resumed ? id == 0 || id == owner->id : id == owner->id && !has_more;
    if (s->st_size == 0 || owner->fresh || is_own) return ATTEND_OK;
    return attend_fail(
        ATTEND_BAD_USAGE,
        "%s exists and is the log of another training, which would be lost: choose another log path, move "
        "the file%s",
        log->path, owner->resumed ? "" : ", or start over (option 'fresh')");
}

/* Closes the file and returns the status of a failure. */
static int give_up(int file, int status)
{
    const int error = errno;
    close(file);
    errno = error;
    return status;
}

int attend_training_log_open(training_log *log, const char *path, uint64_t bytes, const training_log_owner *owner)
{
    *log = (training_log){ .bytes = bytes };
    snprintf(log->path, sizeof log->path, "%s", path);
    struct stat s;
    log->is_stream = stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
    /* A process that also opens a pipe for reading waits for itself. */
    const int file = open(path, (log->is_stream ? O_WRONLY : O_RDWR | O_CREAT) | O_CLOEXEC, 0666);
    if (file < 0) return failed(log, "open");
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode)) {
        const int status = check_owner(log, file, &s, owner);
        if (status != ATTEND_OK) return give_up(file, status);
        if ((uint64_t)s.st_size < bytes) log->bytes = (uint64_t)s.st_size;
        if (ftruncate(file, (off_t)log->bytes) != 0) return give_up(file, failed(log, "truncate"));
    }
    log->file = fdopen(file, "a");
    return log->file ? ATTEND_OK : give_up(file, failed(log, "open"));
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
