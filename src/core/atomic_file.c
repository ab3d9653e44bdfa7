#include "core/atomic_file.h"

#include "core/file_identity.h"
#include "core/memory.h"
#include "core/status.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* All calls use the directory's descriptor, so they are not affected if the directory is renamed or the working
 * directory changes. */
struct attend_atomic_file {
    int directory, file;          /* descriptors; -1: not open */
    bool replaces;                /* the path exists */
    size_t size, written;         /* bytes announced and written */
    char path[PATH_MAX];          /* as given, for messages */
    char name[NAME_MAX + 1];      /* in the directory, after following links */
    char temporary[NAME_MAX + 1]; /* in the directory; "": none exists */
};

/* --- system calls, with fault injection --- */

static atomic_long calls;
static atomic_long fault_at; /* 0: never */
static int fault_error;
static void (*fault_action)(void);

void attend_atomic_file_inject_fault(long n, int error, void (*action)(void))
{
    fault_error = error;
    fault_action = action;
    atomic_store(&calls, 0);
    atomic_store(&fault_at, n);
}

long attend_atomic_file_calls(void)
{
    return atomic_load(&calls);
}

/* The errno with which the current call must fail; 0: none. */
static int next_fault(void)
{
    long at = atomic_load_explicit(&fault_at, memory_order_relaxed);
    if (at == 0 || atomic_fetch_add(&calls, 1) + 1 != at) return 0;
    if (fault_action) fault_action();
    return fault_error;
}

static bool must_fail(void)
{
    int error = next_fault();
    if (error > 0) errno = error;
    return error > 0;
}

static int system_create(int directory, const char *name, mode_t mode)
{
    if (must_fail()) return -1;
    return openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
}

static int system_chmod(int file, mode_t mode)
{
    return must_fail() ? -1 : fchmod(file, mode);
}

static ssize_t system_write(int file, const void *bytes, size_t count)
{
    int error = next_fault();
    if (error > 0) {
        errno = error;
        return -1;
    }
    return write(file, bytes, error == ATTEND_SHORT_WRITE ? (count + 1) / 2 : count);
}

static int system_flush(int file)
{
    int done;
    do done = must_fail() ? -1 : fsync(file);
    while (done != 0 && errno == EINTR);
    return done;
}

static int system_close(int file)
{
    if (!must_fail()) return close(file);
    int error = errno;
    close(file); /* on Linux, a close that fails has still closed the file */
    errno = error;
    return -1;
}

static int system_rename(int directory, const char *from, const char *to)
{
    return must_fail() ? -1 : renameat(directory, from, directory, to);
}

/* --- begin --- */

static int refuse(const char *path, const char *why)
{
    return attend_fail(ATTEND_IO, "cannot write %s: %s", path, why);
}

/* Opens the directory of `path`, which contains no links at its end, and stores the name in it. */
static int open_directory(attend_atomic_file *r, char *path)
{
    char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path, *directory = slash == path ? "/" : slash ? path : ".";
    if (strlen(name) > NAME_MAX) return refuse(r->path, attend_errno_text(ENAMETOOLONG));
    memcpy(r->name, name, strlen(name) + 1);
    if (slash && slash != path) *slash = '\0';
    r->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->directory >= 0) return ATTEND_OK;
    if (errno == ENOENT)
        return attend_fail(ATTEND_IO, "cannot write %s: directory %s does not exist; create it first", r->path,
                           directory);
    if (errno == ENOTDIR) return attend_fail(ATTEND_IO, "cannot write %s: %s is not a directory", r->path, directory);
    return attend_fail(ATTEND_IO, "cannot write %s: directory %s: %s", r->path, directory, attend_errno_text(errno));
}

/* A temporary file's name has UNIQUE random letters and digits and at most MAX_NAME bytes of the file's name. */
enum { UNIQUE = 6, MAX_NAME = NAME_MAX - UNIQUE - 6 };
static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

/* ".NAME.XXXXXX.tmp". O_EXCL guarantees that it is new; a random name makes a second attempt unlikely. */
static void name_temporary(attend_atomic_file *r)
{
    static atomic_ulong uses;
    struct timespec now = { 0 };
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t x =
        ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec) + ((uint64_t)getpid() << 40) + atomic_fetch_add(&uses, 1);
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    char unique[UNIQUE + 1] = { 0 };
    for (int i = 0; i < UNIQUE; i++, x /= 36) unique[i] = digits[(x >> 20) % 36];
    snprintf(r->temporary, sizeof r->temporary, ".%.*s.%s.tmp", MAX_NAME, r->name, unique);
}

/* Creates the temporary file, readable by its owner only until it has the permissions of the file it replaces. */
static int create_temporary(attend_atomic_file *r, const struct stat *old)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES && r->file < 0; i++) {
        name_temporary(r);
        r->file = system_create(r->directory, r->temporary, old ? 0600 : 0666);
        if (r->file < 0 && errno != EEXIST && errno != EINTR) break;
    }
    if (r->file < 0) {
        r->temporary[0] = '\0';
        return attend_fail(ATTEND_IO, "cannot write %s: cannot create a file in its directory: %s", r->path,
                           attend_errno_text(errno));
    }
    if (!old) return ATTEND_OK;
    mode_t mode = old->st_mode & 0777;
    if (fchown(r->file, (uid_t)-1, old->st_gid) != 0) mode &= ~(mode_t)070; /* the new file has another group */
    const int ignored = fchown(r->file, old->st_uid, (gid_t)-1);            /* only root can change the owner */
    (void)ignored;
    if (system_chmod(r->file, mode) != 0)
        return attend_fail(ATTEND_IO,
                           "cannot give the new %s the permissions of the old file: %s; the old file is unchanged",
                           r->path, attend_errno_text(errno));
    return ATTEND_OK;
}

static int begin(attend_atomic_file *r, const char *path)
{
    char real[PATH_MAX];
    if (!*path) return refuse("a file", "its path is empty");
    if (strlen(path) >= PATH_MAX)
        return attend_fail(ATTEND_IO, "cannot write %.60s...: %s (%zu bytes)", path, attend_errno_text(ENAMETOOLONG),
                           strlen(path));
    memcpy(real, path, strlen(path) + 1);
    memcpy(r->path, path, strlen(path) + 1);
    int error = attend_follow_links(real);
    if (error) return refuse(path, attend_errno_text(error));
    int status = open_directory(r, real);
    if (status != ATTEND_OK) return status;
    if (!*r->name) return refuse(path, "it is a directory; name a file in it");
    struct stat old;
    if (fstatat(r->directory, r->name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISDIR(old.st_mode)) return refuse(path, "it is a directory; name a file in it");
        if (!S_ISREG(old.st_mode)) return refuse(path, "it is a device, pipe or socket; name a regular file");
        r->replaces = true;
    } else if (errno != ENOENT) {
        return refuse(path, attend_errno_text(errno));
    }
    return create_temporary(r, r->replaces ? &old : NULL);
}

int attend_atomic_file_begin(attend_atomic_file **out, const char *path, size_t size)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && path);
    *out = NULL;
    attend_atomic_file *r = attend_memory_zeroed(1, sizeof *r);
    if (!r) return attend_fail(ATTEND_NO_MEMORY, "no memory to write %s", path);
    r->directory = r->file = -1;
    r->size = size;
    int status = begin(r, path);
    if (status == ATTEND_OK)
        *out = r;
    else
        attend_atomic_file_abandon(r);
    return status;
}

/* --- write and commit --- */

/* A failure before the path was replaced. */
static int write_failed(const attend_atomic_file *r, const char *doing, int error, size_t needed)
{
    const char *advice = error == ENOSPC || error == EDQUOT ? "; free some space and try again" : "";
    return attend_fail(ATTEND_IO, "cannot write %s: %s while %s (%zu of %zu bytes written); %s%s", r->path,
                       attend_errno_text(error), doing, r->written, needed,
                       r->replaces ? "the old file is unchanged" : "no file was created", advice);
}

int attend_atomic_file_write(attend_atomic_file *r, const void *bytes, size_t count)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, r && (bytes || count == 0));
    const size_t max_write = (size_t)1 << 30; /* some systems reject writes of 2 GiB */
    const size_t needed = r->size > r->written + count ? r->size : r->written + count;
    const char *next = bytes;
    while (count > 0) {
        ssize_t done = system_write(r->file, next, count < max_write ? count : max_write);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return write_failed(r, "writing", done < 0 ? errno : EIO, needed);
        next += done;
        count -= (size_t)done;
        r->written += (size_t)done;
    }
    return ATTEND_OK;
}

void attend_atomic_file_printf(attend_atomic_file *r, int *status, const char *format, ...)
{
    ATTEND_REQUIRE_VOID(status);
    if (*status != ATTEND_OK) return; /* there may be no file */
    if (!r || !format) *status = attend_refuse(__func__, "file && format");
    if (!r || !format) return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < sizeof text) *status = attend_atomic_file_write(r, text, (size_t)n);
}

static int commit(attend_atomic_file *r)
{
    /* The content must reach the disk before the new name: otherwise a power failure may leave an empty file. */
    if (system_flush(r->file) != 0) return write_failed(r, "flushing it to the disk", errno, r->written);
    int closed = system_close(r->file);
    r->file = -1;
    if (closed != 0 && errno != EINTR) return write_failed(r, "closing it", errno, r->written);
    if (system_rename(r->directory, r->temporary, r->name) != 0)
        return write_failed(r, "renaming it", errno, r->written);
    r->temporary[0] = '\0';
    /* EINVAL: the file system cannot flush directories. */
    if (system_flush(r->directory) != 0 && errno != EINVAL)
        return attend_fail(ATTEND_IO,
                           "%s is written, but might be lost in a power failure: %s while flushing its directory",
                           r->path, attend_errno_text(errno));
    return ATTEND_OK;
}

int attend_atomic_file_commit(attend_atomic_file *r)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, r);
    int status = commit(r);
    attend_atomic_file_abandon(r);
    return status;
}

void attend_atomic_file_abandon(attend_atomic_file *r)
{
    if (!r) return;
    if (r->file >= 0) close(r->file);
    if (r->temporary[0]) unlinkat(r->directory, r->temporary, 0);
    if (r->directory >= 0) close(r->directory);
    attend_memory_free(r);
}

void attend_atomic_file_unlink(const attend_atomic_file *r)
{
    if (r && r->temporary[0]) unlinkat(r->directory, r->temporary, 0);
}

/* --- stale temporary files --- */

/* Whether `entry` is ".NAME.XXXXXX.tmp", with a number after NAME if `numbered`. */
static bool is_temporary(const char *entry, const char *name, bool numbered)
{
    const size_t length = strlen(name) < MAX_NAME ? strlen(name) : MAX_NAME;
    if (entry[0] != '.' || strncmp(entry + 1, name, length) != 0) return false;
    const char *at = entry + 1 + length;
    const size_t number = numbered ? strspn(at, "0123456789") : 0;
    if (numbered && number == 0) return false;
    at += number;
    return *at == '.' && strspn(at + 1, digits) == UNIQUE && strcmp(at + 1 + UNIQUE, ".tmp") == 0;
}

static void remove_stale(const attend_atomic_file *r, bool numbered)
{
    struct stat s;
    const int directory = dup(r->directory);
    DIR *d = directory >= 0 ? fdopendir(directory) : NULL;
    if (!d) {
        if (directory >= 0) close(directory);
        return;
    }
    for (struct dirent *e; (e = readdir(d));)
        if (is_temporary(e->d_name, r->name, numbered) &&
            fstatat(r->directory, e->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode))
            unlinkat(r->directory, e->d_name, 0);
    closedir(d);
}

void attend_atomic_file_remove_stale(const char *path, bool numbered)
{
    ATTEND_REQUIRE_VOID(path);
    char real[PATH_MAX];
    attend_atomic_file *r = strlen(path) < PATH_MAX ? attend_memory_zeroed(1, sizeof *r) : NULL;
    if (!r) return;
    r->directory = r->file = -1;
    memcpy(real, path, strlen(path) + 1);
    memcpy(r->path, path, strlen(path) + 1);
    if (attend_follow_links(real) == 0 && open_directory(r, real) == ATTEND_OK && *r->name) remove_stale(r, numbered);
    attend_atomic_file_abandon(r);
}
