/* run_lock.c: a model is trained by one process at a time. MODEL.lock is locked while it is, by the system (flock), so that the claim ends with
 * the process, however that ends. */
#include "train/trainer.h"

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

enum { LONGEST_SUFFIX = 64 };

/* A file that training is going to replace must be a model; its content need not be whole. */
static int check_old(const char *path)
{
    attend_tensor_file *file = NULL;
    const int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_SKIP_CHECKSUM);
    attend_tensor_file_close(file);
    if (status != ATTEND_BAD_MODEL) return status;
    return attend_fail(ATTEND_BAD_USAGE,
                       "%s is there already, and is not a model: name another --model, or take it away", path);
}

/* Is this a place where a model can lie? Before anything is read or made. */
static int check_path(const char *model)
{
    struct stat s;
    const size_t n = strlen(model);
    if (n == 0 || model[n - 1] == '/')
        return attend_fail(ATTEND_BAD_USAGE, "the model '%s' has no name; name a file", model);
    if (n + LONGEST_SUFFIX >= PATH_MAX)
        return attend_fail(ATTEND_BAD_USAGE, "the model's path has %zu bytes; %d are too many", n,
                           PATH_MAX - LONGEST_SUFFIX);
    if (stat(model, &s) != 0) return ATTEND_OK; /* a folder that is missing shows in a moment */
    if (S_ISREG(s.st_mode)) return s.st_size == 0 ? ATTEND_OK : check_old(model);
    return attend_fail(ATTEND_IO, "cannot write a model to %s: it is a %s; name a file", model,
                       S_ISDIR(s.st_mode) ? "folder" : "device, pipe or socket");
}

/* Whether the locked file is still the one that has the name: whoever ended just now may have removed it. */
static bool is_current(int file, const char *path)
{
    struct stat held, named;
    return fstat(file, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

static int lock(trainer *t)
{
    for (;;) {
        const char *path = attend_trainer_path(t, ".lock");
        t->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        const int refused = t->lock < 0 ? errno : 0;
        if (refused)
            return attend_fail(ATTEND_IO, "cannot write %s: %s%s", path, attend_errno_text(refused),
                               refused == ENOENT ? "; make its folder first" : "");
        if (flock(t->lock, LOCK_EX | LOCK_NB) != 0) {
            const int error = errno;
            if (error == EINTR) {
                close(t->lock);
                continue;
            }
            if (error != EWOULDBLOCK)
                return ATTEND_OK; /* a file system without locks: better unguarded than not at all */
            close(t->lock);
            t->lock = -1;
            return attend_fail(ATTEND_BAD_USAGE,
                               "%s is being trained by another process (%s is locked): wait for it, stop it, or name "
                               "another --model",
                               t->o.model, path);
        }
        if (is_current(t->lock, path)) return ATTEND_OK;
        close(t->lock);
    }
}

/* What a save left that was killed. Nobody else writes these files now. */
static void sweep(trainer *t)
{
    static const char *const suffixes[] = { "", ".checkpoint", ".single", ".svg" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        attend_atomic_file_remove_stale(attend_trainer_path(t, suffixes[i]), false);
    attend_atomic_file_remove_stale(attend_trainer_path(t, ".update-"), true);
}

int attend_trainer_lock(trainer *t)
{
    int status = check_path(t->o.model);
    if (status == ATTEND_OK) status = lock(t);
    if (status == ATTEND_OK) sweep(t);
    return status;
}

void attend_trainer_unlock(trainer *t)
{
    if (t->lock < 0) return;
    unlink(attend_trainer_path(t, ".lock")); /* while it is still ours */
    close(t->lock);
    t->lock = -1;
}
