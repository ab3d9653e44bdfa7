#include "demo_files.h"

#include "output_file.h"

#include <attend/status.h>
#include <attend/print.h>
#include <attend/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const demo_file_names[] = { "train.tsv",      "valid.tsv", "test.tsv", "test.links",
                                        "attention.html", "model+",    NULL };

enum { VALID = 300, TEST = 500 }; /* pairs */
enum { LINE = 2 * DEMO_TEXT };    /* bytes of a pair, or of its links */

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

/* "0-0 1?2" */
static void format_links(char text[LINE], const demo_pair *p)
{
    size_t size = 0;
    text[0] = '\0';
    for (int i = 0; i < p->link_count && size < LINE; i++)
        size += (size_t)snprintf(text + size, LINE - size, "%s%d%c%d", i ? " " : "", p->links[i].source,
                                 p->links[i].sure ? '-' : '?', p->links[i].target);
}

static int write_links(output_file *to, const demo_pair *p)
{
    char text[LINE];
    format_links(text, p);
    return output_text(to, text);
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

/* ---- files of an earlier demo ---- */

/* Whether the first line of a file is a pair of demo words. Most of them suffice: the words are those of this seed's first
 * pairs, and the file may be of another seed. */
static bool is_demo_pair(const char *line, const char *words)
{
    int known = 0, count = 0;
    const char *end = line + strcspn(line, "\t\n");
    for (const char *w = line; w < end; w += strspn(w, " ")) {
        char word[64];
        const size_t length = strcspn(w, " \t\n");
        snprintf(word, sizeof word, " %.*s ", (int)length, w);
        known += strstr(words, word) != NULL;
        count++, w += length;
    }
    return *end == '\t' && count > 0 && 4 * known >= 3 * count;
}

/* Reads the first line of a regular file. False: there is none, and nothing that could be lost. */
static bool read_line(const char *path, char line[LINE])
{
    struct stat s;
    FILE *from = stat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0 ? fopen(path, "rb") : NULL;
    const bool is_read = from && fgets(line, LINE, from);
    if (from) fclose(from);
    return is_read;
}

/* Whether these are the first links of this seed. */
static bool is_own_links(char line[LINE], uint64_t seed)
{
    char own[LINE];
    demo_pair pair;
    demo_test_pair(seed, 0, &pair);
    format_links(own, &pair);
    line[strcspn(line, "\n")] = '\0';
    return strcmp(line, own) == 0;
}

/* The words of many sources, each between spaces. */
static int list_words(uint64_t seed, attend_string *words)
{
    enum { PAIRS = 2000 };
    demo_pair pair;
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < PAIRS; i++) {
        demo_pairs_at(seed, false, (uint64_t)i, &pair);
        status = attend_string_add(words, " ", 1);
        if (status == ATTEND_OK) status = attend_string_add(words, pair.source, strlen(pair.source));
    }
    return status == ATTEND_OK ? attend_string_add(words, " ", 1) : status;
}

/* Refuses to overwrite files that are not from a demo. A demo directory contains the links, which are written first, and
 * pairs of demo words. */
static int check_directory(const demo_files *f, const char *directory, uint64_t seed)
{
    const char *const pairs[] = { f->train, f->valid, f->test }, *const others[] = { f->model, f->page };
    char line[LINE];
    attend_string words = { 0 };
    const char *found = NULL, *strange = NULL;
    int status = list_words(seed, &words);
    for (int i = 0; status == ATTEND_OK && i < 3; i++) {
        if (access(pairs[i], F_OK) == 0) found = pairs[i];
        if (read_line(pairs[i], line) && !is_demo_pair(line, words.text)) strange = pairs[i];
    }
    attend_string_free(&words);
    for (int i = 0; i < 2; i++)
        if (access(others[i], F_OK) == 0) found = others[i];
    if (status == ATTEND_OK && found && access(f->links, F_OK) != 0)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "%s is not from a demo (%s has no test.links) and would be overwritten; choose another directory", found,
            directory);
    if (status == ATTEND_OK && !found && read_line(f->links, line) && !is_own_links(line, seed)) strange = f->links;
    if (status == ATTEND_OK && strange)
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s is not from a demo and would be overwritten; choose another directory, or move the file",
                           strange);
    return status;
}

/* ---- all files ---- */

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
    int status = check_directory(f, directory, seed);
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
