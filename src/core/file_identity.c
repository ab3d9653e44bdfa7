/* file_identity.c: device and inode of a file, or of the directory in which it would be created. */
#include "core/status.h"
#include "core/file_identity.h"

#include <attend/file.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int attend_follow_links(char path[PATH_MAX])
{
    enum { HOPS = 40 };
    for (int hops = 0; hops < HOPS; hops++) {
        struct stat s;
        if (lstat(path, &s) != 0)
            return errno == ENOENT || errno == ENOTDIR ? 0 : errno; /* opening the directory gives a better message */
        if (!S_ISLNK(s.st_mode)) return 0;
        char target[PATH_MAX];
        ssize_t got = readlink(path, target, sizeof target);
        if (got < 0) return errno;
        const char *slash = strrchr(path, '/');
        size_t length = (size_t)got, directory = slash && target[0] != '/' ? (size_t)(slash - path) + 1 : 0;
        if (directory + length >= PATH_MAX) return ENAMETOOLONG;
        memcpy(path + directory, target, length);
        path[directory + length] = '\0';
    }
    return ELOOP;
}

static attend_file_identity of_existing(const struct stat *s)
{
    attend_file_identity id = { 0 };
    if (S_ISREG(s->st_mode)) id = (attend_file_identity){ (uint64_t)s->st_dev, (uint64_t)s->st_ino, true, "" };
    return id;
}

attend_file_identity attend_file_identify(const char *path)
{
    attend_file_identity id = { 0 };
    struct stat s;
    char real[PATH_MAX];
    const size_t length = path ? strlen(path) : 0;
    if (length == 0 || length >= sizeof real) return id;
    if (stat(path, &s) == 0) return of_existing(&s);
    memcpy(real, path, length + 1);
    if (attend_follow_links(real) != 0) return id;
    char *const slash = strrchr(real, '/');
    const char *const name = slash ? slash + 1 : real;
    const size_t size = strlen(name);
    if (size == 0 || size >= sizeof id.name) return id;
    memcpy(id.name, name, size + 1);
    if (slash) slash[slash == real] = '\0'; /* "/" stays */
    if (stat(slash ? real : ".", &s) == 0)
        id.device = (uint64_t)s.st_dev, id.inode = (uint64_t)s.st_ino;
    else
        id.name[0] = '\0';
    return id;
}

attend_file_identity attend_file_identify_descriptor(int descriptor)
{
    struct stat s;
    return fstat(descriptor, &s) == 0 ? of_existing(&s) : (attend_file_identity){ 0 };
}

bool attend_file_is_same(const attend_file_identity *a, const attend_file_identity *b)
{
    ATTEND_REQUIRE(false, a && b);
    if (!(a->exists || a->name[0]) || !(b->exists || b->name[0])) return false;
    return a->exists == b->exists && a->device == b->device && a->inode == b->inode && strcmp(a->name, b->name) == 0;
}
