#include "demo_files.h"

#include "output_file.h"

#include <attend/status.h>
#include <attend/print.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const demo_file_names[] = { "train.tsv",      "valid.tsv", "test.tsv", "test.links",
                                        "attention.html", "model+",    NULL };

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

static int write_links(output_file *to, const demo_pair *p)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < p->link_count; i++) {
        char link[32];
        snprintf(link, sizeof link, "%s%d%c%d", i ? " " : "", p->links[i].source, p->links[i].sure ? '-' : '?',
                 p->links[i].target);
        status = output_text(to, link);
    }
    return status;
}

static int write_pair(output_file *to, const demo_pair *p)
{
    int status = output_text(to, p->source);
    if (status == ATTEND_OK) status = output_text(to, "\t");
    return status == ATTEND_OK ? output_text(to, p->target) : status;
}

/* Pairs, or their links. */
static int write_file(const char *path, uint64_t seed, bool held_out, long long first, long long count, bool links)
{
    demo_pair pair;
    output_file *to = NULL;
    int status = output_open(&to, path);
    for (long long i = 0; status == ATTEND_OK && i < count; i++) {
        demo_pairs_at(seed, held_out, (uint64_t)(first + i), &pair);
        status = links ? write_links(to, &pair) : write_pair(to, &pair);
        if (status == ATTEND_OK) status = output_text(to, "\n");
    }
    const int closed = output_close(to, status == ATTEND_OK);
    return status == ATTEND_OK ? closed : status;
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
                           attend_errno_text(errno));
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
