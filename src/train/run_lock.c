/* run_lock.c: one process at a time trains a model. MODEL.lock is locked by flock, so that the lock ends with the
 * process, even if it is killed. */
#include "train/training_run.h"

#include "core/status.h"
#include "format/tensor_file.h"
#include <attend/file.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SUFFIX = 64 };

/* A file that training will overwrite must be a model; its tensors are not checked. */
static int check_old(const char *path)
{
    attend_tensor_file *file = NULL;
    const int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_HEADER_ONLY);
    attend_tensor_file_close(file);
    if (status != ATTEND_BAD_MODEL) return status;
    return attend_fail(ATTEND_BAD_USAGE, "%s exists and is not a model: choose another model path, or remove the file",
                       path);
}

/* Whether a model can be written to this path; checked before anything is read or written. */
static int check_path(const char *model)
{
    struct stat s;
    const size_t n = strlen(model);
    if (n == 0 || model[n - 1] == '/')
        return attend_fail(ATTEND_BAD_USAGE, "the model path '%s' has no file name; give one", model);
    if (n + MAX_SUFFIX >= PATH_MAX)
        return attend_fail(ATTEND_BAD_USAGE, "the model path has %zu bytes; it must have fewer than %d", n,
                           PATH_MAX - MAX_SUFFIX);
    if (stat(model, &s) != 0) return ATTEND_OK; /* a missing directory fails when the lock is created */
    if (S_ISREG(s.st_mode)) return s.st_size == 0 ? ATTEND_OK : check_old(model);
    return attend_fail(ATTEND_IO, "cannot write a model to %s: it is a %s; give the path of a file", model,
                       S_ISDIR(s.st_mode) ? "directory" : "device, pipe or socket");
}

/* Whether the locked file still has its name: the process that held the lock before may have removed it. */
static bool is_current(int file, const char *path)
{
    struct stat held, named;
    return fstat(file, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

static int lock(training_run *run)
{
    for (;;) {
        const char *path = attend_training_path(run, ".lock");
        run->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        const int refused = run->lock < 0 ? errno : 0;
        if (refused)
            return attend_fail(ATTEND_IO, "cannot write %s: %s%s", path, attend_errno_text(refused),
                               refused == ENOENT ? "; create its directory first" : "");
        if (flock(run->lock, LOCK_EX | LOCK_NB) != 0) {
            const int error = errno;
            if (error == EINTR) {
                close(run->lock);
                continue;
            }
            if (error != EWOULDBLOCK) return ATTEND_OK; /* a file system without locks: train without one */
            close(run->lock);
            run->lock = -1;
            return attend_fail(ATTEND_BAD_USAGE,
                               "%s is being trained by another process (%s is locked): wait for it, stop it, or choose "
                               "another model path",
                               run->options.model, path);
        }
        if (is_current(run->lock, path)) return ATTEND_OK;
        close(run->lock);
    }
}

/* Stale temporary files of killed processes: this process has the lock, so that no other one writes them. */
static void remove_stale_files(training_run *run)
{
    static const char *const suffixes[] = { "", ".checkpoint", ".single", ".svg" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        attend_atomic_file_remove_stale(attend_training_path(run, suffixes[i]), false);
    attend_atomic_file_remove_stale(attend_training_path(run, ".update-"), true);
}

int attend_training_lock(training_run *run)
{
    int status = check_path(run->options.model);
    if (status == ATTEND_OK) status = lock(run);
    if (status == ATTEND_OK) remove_stale_files(run);
    return status;
}

void attend_training_unlock(training_run *run)
{
    if (run->lock < 0) return;
    unlink(attend_training_path(run, ".lock")); /* before the lock is released */
    close(run->lock);
    run->lock = -1;
}
