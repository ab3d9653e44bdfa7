#include "demo_files.h"

#include <attend/status.h>
#include <attend/print.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VALID = 300, TEST = 500 }; /* pairs */

void demo_test_pair(uint64_t seed, int i, demo_pair *pair)
{
    demo_pairs_at(seed, true, VALID + (uint64_t)i, pair);
}

static char *path_of(const char *directory, const char *name)
{
    const size_t size = strlen(directory) + strlen(name) + 2;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s/%s", directory, name);
    return path;
}

static void write_links(FILE *to, const demo_pair *p)
{
    for (int i = 0; i < p->link_count; i++)
        attend_print(to, "%s%d%c%d", i ? " " : "", p->links[i].source, p->links[i].sure ? '-' : '?',
                     p->links[i].target);
    attend_print(to, "\n");
}

static int failed(const char *path)
{
    return attend_fail(ATTEND_IO, "cannot write %s: %s", path, strerror(errno));
}

/* Pairs, or their links. */
static int write_file(const char *path, uint64_t seed, bool held_out, long long first, long long count, bool links)
{
    demo_pair pair;
    FILE *to = fopen(path, "w");
    if (!to) return failed(path);
    for (long long i = 0; i < count && !ferror(to); i++) {
        demo_pairs_at(seed, held_out, (uint64_t)(first + i), &pair);
        if (links)
            write_links(to, &pair);
        else
            attend_print(to, "%s\t%s\n", pair.source, pair.target);
    }
    const bool written = !ferror(to);
    return fclose(to) == 0 && written ? ATTEND_OK : failed(path);
}

/* Refuses to overwrite files that are not from a demo. A demo directory contains the links, which are written first. */
static int check_directory(const demo_files *f, const char *directory)
{
    const char *const others[] = { f->train, f->valid, f->test, f->model, f->page };
    if (access(f->links, F_OK) == 0) return ATTEND_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (access(others[i], F_OK) == 0)
            return attend_fail(
                ATTEND_BAD_USAGE,
                "%s is not from a demo (%s has no test.links) and would be overwritten; choose another directory",
                others[i], directory);
    return ATTEND_OK;
}

int demo_files_write(demo_files *f, const char *directory, uint64_t seed, long long pairs)
{
    *f = (demo_files){ path_of(directory, "train.tsv"), path_of(directory, "valid.tsv"),
                       path_of(directory, "test.tsv"),  path_of(directory, "test.links"),
                       path_of(directory, "model"),     path_of(directory, "attention.html") };
    if (!f->train || !f->valid || !f->test || !f->links || !f->model || !f->page)
        return attend_fail(ATTEND_NO_MEMORY, "out of memory for file names");
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return attend_fail(ATTEND_IO, "cannot create directory %s: %s; choose another with --output", directory,
                           strerror(errno));
    int status = check_directory(f, directory);
    if (status == ATTEND_OK) status = write_file(f->links, seed, true, VALID, TEST, true);
    if (status == ATTEND_OK) status = write_file(f->test, seed, true, VALID, TEST, false);
    if (status == ATTEND_OK) status = write_file(f->valid, seed, true, 0, VALID, false);
    if (status == ATTEND_OK) status = write_file(f->train, seed, false, 0, pairs, false);
    return status;
}

void demo_files_free(demo_files *f)
{
    free(f->train), free(f->valid), free(f->test), free(f->links), free(f->model), free(f->page);
}
