/* folder.h: a temporary directory for a test, and its files. */
#ifndef ATTEND_TEST_FOLDER_H
#define ATTEND_TEST_FOLDER_H

#include "unit/unit.h"
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int folder_make(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/attend-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* The path of a name in the directory. The four most recent results are valid. */
static const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* The number of files in the directory. Those that end in ".tmp" are counted separately, or removed. */
static inline int folder_count(int *temporaries, int remove_them)
{
    int count = 0, found = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        count++;
        size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 4, ".tmp") != 0) continue;
        found++;
        if (remove_them) assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
    }
    closedir(d);
    if (temporaries) *temporaries = found;
    return count;
}

/* Removes the directory with its files and the files of its subdirectories. */
static int folder_remove(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    if (!d) return -1;
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlink(in_folder(e->d_name)) != 0)
            rmdir(in_folder(e->d_name));
    closedir(d);
    return rmdir(folder);
}

/* Writes a file, not atomically. */
static inline void put_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* Reads a whole file and appends a '\0'; the caller frees it. NULL if there is no such file. */
static inline char *get_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (size) *size = 0;
    if (!f) return NULL;
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long length = ftell(f);
    rewind(f);
    char *bytes = malloc((size_t)length + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)length, f), (size_t)length);
    fclose(f);
    bytes[length] = '\0';
    if (size) *size = (size_t)length;
    return bytes;
}

#endif
