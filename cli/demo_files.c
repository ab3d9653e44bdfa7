#include "demo_files.h"

#include "output_file.h"

#include <attend/file_content.h>
#include <attend/model.h>
#include <attend/print.h>
#include <attend/status.h>
#include <attend/string.h>
#include <attend/text.h>
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

/* Whether a word of `size` bytes is among the words, each between spaces. */
static bool is_demo_word(const char *words, const char *w, size_t size)
{
    char word[64];
    if (size + 3 > sizeof word) return false;
    snprintf(word, sizeof word, " %.*s ", (int)size, w);
    return strstr(words, word) != NULL;
}

/* Whether the first line of a file is a pair of demo words. Most of them suffice: the words are those of this seed's first
 * pairs, and the file may be of another seed. */
static bool is_demo_pair(const char *line, const char *words)
{
    int known = 0, count = 0;
    const char *end = line + strcspn(line, "\t\n");
    for (const char *w = line; w < end; w += strspn(w, " ")) {
        const size_t length = strcspn(w, " \t\n");
        known += is_demo_word(words, w, length);
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

/* Whether a model has the configuration of a demo, except for what follows from --attention and from the data, and for
 * sizes that are 0 because the library chooses them. */
static bool is_demo_config(const attend_config *a, const attend_config *demo)
{
    static const char *const varied[] = { "attention", "heads", "input-feeding", "source-vocab", "target-vocab" };
    const attend_config_field *f;
    for (int i = 0; (f = attend_config_field_at(i)); i++) {
        char x[64], y[64];
        bool is_varied = false;
        for (size_t k = 0; k < sizeof varied / sizeof *varied; k++)
            is_varied = is_varied || strcmp(f->name, varied[k]) == 0;
        if (!is_varied && attend_config_get(a, f->name, x, sizeof x) == ATTEND_OK &&
            attend_config_get(demo, f->name, y, sizeof y) == ATTEND_OK && strcmp(y, "0") != 0 && strcmp(x, y) != 0)
            return false;
    }
    return true;
}

/* Whether most source tokens are demo words. */
static bool has_demo_words(const attend_model *m, const char *words)
{
    int known = 0, count = 0;
    attend_tokenizer *t = NULL;
    if (attend_tokenizer_from_model(&t, m, "source") != ATTEND_OK) return false;
    const bool are_words = attend_tokenizer_kind(t) == ATTEND_TOKENS_WORD;
    for (int id = ATTEND_FIRST_TOKEN; are_words && id < attend_tokenizer_size(t); id++, count++) {
        const char *token = attend_tokenizer_token(t, id);
        known += is_demo_word(words, token, strlen(token));
    }
    attend_tokenizer_free(t);
    return count > 0 && 4 * known >= 3 * count;
}

/* Whether a file is the model or the checkpoint of a demo: the training of a demo has sizes and words of its own. */
static bool is_demo_model(const char *path, const attend_config *config, const char *words)
{
    attend_model *m = NULL;
    const bool is_own = attend_model_load(&m, path, NULL) == ATTEND_OK && attend_model_member_count(m) == 1 &&
                        is_demo_config(attend_model_config(m), config) && has_demo_words(m, words);
    attend_model_free(m);
    return is_own;
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

static bool has_bytes(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && s.st_size > 0;
}

static int not_from_a_demo(const char *path)
{
    return attend_fail(ATTEND_BAD_USAGE,
                       "%s is not from a demo and would be overwritten; choose another directory, or move the file",
                       path);
}

/* The model, and what training would replace or remove beside it. */
static int check_models(const demo_files *f, const attend_config *config, const char *words)
{
    static const char *const suffixes[] = { "", ".checkpoint", ".single" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const size_t size = strlen(f->model) + strlen(suffixes[i]) + 1;
        char *path = malloc(size);
        if (!path) return attend_fail(ATTEND_NO_MEMORY, "out of memory for file names");
        snprintf(path, size, "%s%s", f->model, suffixes[i]);
        const int status = has_bytes(path) && !is_demo_model(path, config, words) ? not_from_a_demo(path) : ATTEND_OK;
        free(path);
        if (status != ATTEND_OK) return status;
    }
    return ATTEND_OK;
}

/* Refuses to overwrite files that are not from a demo. A demo directory contains the links, which are written first, and
 * pairs of demo words. config: NULL if no model will be written. */
static int check_directory(const demo_files *f, const char *directory, const attend_config *config, uint64_t seed)
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
    if (status == ATTEND_OK && config) status = check_models(f, config, words.text);
    if (status == ATTEND_OK && config) status = attend_content_check(f->page, ATTEND_CONTENT_HTML, NULL);
    attend_string_free(&words);
    for (int i = 0; i < 2; i++)
        if (access(others[i], F_OK) == 0) found = others[i];
    if (status == ATTEND_OK && found && access(f->links, F_OK) != 0)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "%s is not from a demo (%s has no test.links) and would be overwritten; choose another directory", found,
            directory);
    if (status == ATTEND_OK && !found && read_line(f->links, line) && !is_own_links(line, seed)) strange = f->links;
    return status == ATTEND_OK && strange ? not_from_a_demo(strange) : status;
}

/* ---- all files ---- */

int demo_files_write(demo_files *f, const char *directory, const attend_config *config, uint64_t seed, long long pairs)
{
    *f = (demo_files){ path_of(directory, "train.tsv"), path_of(directory, "valid.tsv"),
                       path_of(directory, "test.tsv"),  path_of(directory, "test.links"),
                       path_of(directory, "model"),     path_of(directory, "attention.html") };
    if (!f->train || !f->valid || !f->test || !f->links || !f->model || !f->page)
        return attend_fail(ATTEND_NO_MEMORY, "out of memory for file names");
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return attend_fail(ATTEND_IO, "cannot create directory %s: %s; choose another with --output", directory,
                           attend_errno_text(errno));
    int status = check_directory(f, directory, config, seed);
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
