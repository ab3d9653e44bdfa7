/* comparison_files.c: the files of a comparison, from which it resumes and to which variants can be added. */
#include "comparison.h"

#include <attend/file.h>
#include <attend/status.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const comparison_files[] = {
    "comparison.txt", "comparison.json", "comparison.svg", "comparison.html", "*/options",
    "*/clock",        "*/translations",  "*/result",       "*/model+",        NULL
};

char *comparison_path(const comparison *c, const variant *x, const char *file)
{
    const char *directory = c->s->output, *name = x ? x->file : "";
    const size_t size = strlen(directory) + strlen(name) + strlen(file) + 3;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s%s%s", directory, name, x ? "/" : "", file);
    else
        attend_fail(ATTEND_NO_MEMORY, "out of memory for file names");
    return path;
}

/* ---- the directory ---- */

/* Refuses to overwrite files that are not from a comparison. Its table has a JSON object (comparison_json.c), which is
 * written first. */
static int check_table(const comparison *c)
{
    static const char begin[] = "{\"version\": \"";
    char first[sizeof begin] = "";
    int status = ATTEND_OK;
    char *json = comparison_path(c, NULL, "comparison.json");
    FILE *from = json ? fopen(json, "rb") : NULL;
    const bool is_own = from && fread(first, 1, sizeof begin - 1, from) > 0 && strcmp(first, begin) == 0;
    if (from) fclose(from);
    free(json);
    for (int i = 0; !is_own && status == ATTEND_OK && strncmp(comparison_files[i], "comparison.", 11) == 0; i++) {
        char *path = comparison_path(c, NULL, comparison_files[i]);
        if (!path)
            status = ATTEND_NO_MEMORY;
        else if (access(path, F_OK) == 0)
            status = attend_fail(ATTEND_BAD_USAGE,
                                 "%s already exists and is not from attend compare; choose another --output", path);
        free(path);
    }
    return status;
}

int comparison_lock(comparison *c)
{
    const char *directory = c->s->output;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return attend_fail(ATTEND_IO, "cannot create directory %s: %s; choose another with --output", directory,
                           attend_errno_text(errno));
    c->lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->lock < 0)
        return attend_fail(ATTEND_IO, "cannot open directory %s: %s; choose another with --output", directory,
                           attend_errno_text(errno));
    if (access(directory, W_OK | X_OK) != 0)
        return attend_fail(ATTEND_IO, "cannot write to directory %s: %s; choose another with --output", directory,
                           attend_errno_text(errno));
    if (flock(c->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) /* released when the process ends */
        return attend_fail(ATTEND_BAD_USAGE,
                           "another process is using %s; wait for it, stop it, or choose another --output", directory);
    return check_table(c);
}

/* ---- options ---- */

/* Files of a variant, options last: they identify the others. */
static const char *const variant_files[] = { "rounds",           "result",       "translations", "clock",
                                             "model.checkpoint", "model.single", "model",        "model.log.jsonl",
                                             "model.svg",        "options" };
enum { VARIANT_FILES = sizeof variant_files / sizeof *variant_files };

/* Refuses a directory with files that are not from a comparison: its options say nothing that a comparison records. */
static int check_origin(const comparison *c, const variant *x, const record *then)
{
    int status = ATTEND_OK;
    for (int i = 0; i < x->options.count; i++)
        if (record_find(then, x->options.list[i].name)) return ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < VARIANT_FILES; i++) {
        char *path = comparison_path(c, x, variant_files[i]);
        if (!path)
            status = ATTEND_NO_MEMORY;
        else if (access(path, F_OK) == 0)
            status =
                attend_fail(ATTEND_BAD_USAGE, "%s already exists and is not from attend %s; choose another --output",
                            path, c->v->name);
        free(path);
    }
    return status;
}

int comparison_check(const comparison *c, const variant *x)
{
    record then = { 0 };
    bool found = false;
    char *path = comparison_path(c, x, "options");
    int status = path ? record_read(&then, path, &found) : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) status = check_origin(c, x, &then);
    const record_field *other = status == ATTEND_OK && !c->s->t.fresh ? record_changed(&then, &x->options) : NULL;
    if (other)
        status =
            attend_fail(ATTEND_BAD_USAGE,
                        "%s/%s was made with %s '%.80s', but now it is '%.80s'; use the same value to resume, another "
                        "--output, or --fresh to start from scratch",
                        c->s->output, x->file, other->name, record_find(&then, other->name), other->text);
    record_free(&then);
    free(path);
    return status;
}

/* Removes the models of single checkpoints. */
static void remove_kept_models(const comparison *c, const variant *x)
{
    static const char begin[] = "model.update-";
    char *directory = comparison_path(c, x, "");
    DIR *names = directory ? opendir(directory) : NULL;
    for (const struct dirent *e; names && (e = readdir(names));) {
        char *path = strncmp(e->d_name, begin, sizeof begin - 1) == 0 ? comparison_path(c, x, e->d_name) : NULL;
        if (path) unlink(path);
        free(path);
    }
    if (names) closedir(names);
    free(directory);
}

int comparison_remove(const comparison *c, const variant *x)
{
    int status = ATTEND_OK;
    remove_kept_models(c, x);
    for (int i = 0; status == ATTEND_OK && i < VARIANT_FILES; i++) {
        char *path = comparison_path(c, x, variant_files[i]);
        if (!path)
            status = ATTEND_NO_MEMORY;
        else if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
            status = attend_fail(ATTEND_IO, "cannot remove %s: %s", path, attend_errno_text(errno));
        free(path);
    }
    return status;
}

/* Removes stale temporary files; training does so for its own files. */
static void remove_temporary_files(const comparison *c, const variant *x)
{
    static const char *const files[] = { "options", "clock", "translations", "result" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = comparison_path(c, x, files[i]);
        if (path) attend_atomic_file_remove_stale(path, false);
        free(path);
    }
}

int comparison_begin(const comparison *c, const variant *x)
{
    char *directory = comparison_path(c, x, ""), *path = comparison_path(c, x, "options");
    int status = directory && path ? ATTEND_OK : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK && mkdir(directory, 0777) != 0 && errno != EEXIST)
        status = attend_fail(ATTEND_IO, "cannot create directory %s: %s", directory, attend_errno_text(errno));
    if (status == ATTEND_OK) remove_temporary_files(c, x);
    if (status == ATTEND_OK) status = record_write(&x->options, path);
    free(directory);
    free(path);
    return status;
}

/* ---- results ---- */

#define NUMBER(member)                                                                                                 \
    {                                                                                                                  \
#member, offsetof(variant_result, member)                                                                      \
    }
static const struct {
    const char *name;
    size_t offset;
} numbers[] = { NUMBER(parameters), NUMBER(best_update),     NUMBER(last_update), NUMBER(updates_per_epoch),
                NUMBER(seconds),    NUMBER(validating),      NUMBER(words),       NUMBER(translating),
                NUMBER(translated), NUMBER(log_probability), NUMBER(rows),        NUMBER(both_sure),
                NUMBER(found),      NUMBER(both_possible),   NUMBER(sure) };
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* What the test depends on besides the model. */
static void list_test(const comparison *c, record *f)
{
    record_add(f, "test data", "%s", c->test_hash.text);
    record_add(f, "gold links", "%s", c->gold_hash.text);
    record_add(f, "gold pairs", "%s", c->gold_pairs_hash.text);
    record_add(f, "beam", "%lld", c->s->beam);
    record_add_number(f, "length-penalty", c->s->length_penalty);
}

/* Whether a file is unchanged since the result was written. */
static bool is_unchanged(const comparison *c, const variant *x, const record *f, const char *file)
{
    content_hash hash;
    char *path = comparison_path(c, x, file);
    const char *then = record_find(f, file);
    const bool same = path && then && content_hash_file(&hash, path) == ATTEND_OK && strcmp(hash.text, then) == 0;
    free(path);
    return same;
}

int comparison_load(const comparison *c, variant *x, bool *trained, bool *tested)
{
    record f = { 0 }, now = { 0 };
    bool found = false, complete = true;
    char *path = comparison_path(c, x, "result"), *lines = comparison_path(c, x, "translations");
    int status = path && lines ? record_read(&f, path, &found) : ATTEND_NO_MEMORY;
    *trained = *tested = false;
    if (status == ATTEND_OK && found) {
        variant_result r;
        for (int i = 0; i < NUMBERS; i++)
            complete = record_number(&f, numbers[i].name, (double *)((char *)&r + numbers[i].offset)) && complete;
        list_test(c, &now);
        *trained = complete && is_unchanged(c, x, &f, "model");
        *tested = *trained && !record_changed(&f, &now) && is_unchanged(c, x, &f, "translations");
        if (*trained) x->r = r;
    }
    if (*tested) {
        status = text_lines_read(&x->translations, lines);
        *tested = status == ATTEND_OK && x->translations.count == c->e.test_set.count;
        if (!*tested) text_lines_free(&x->translations);
    }
    record_free(&f);
    record_free(&now);
    free(path);
    free(lines);
    return status;
}

static int add_hash(const comparison *c, const variant *x, record *f, const char *file)
{
    content_hash hash;
    char *path = comparison_path(c, x, file);
    const int status = path ? content_hash_file(&hash, path) : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) record_add(f, file, "%s", hash.text);
    free(path);
    return status;
}

int comparison_save(const comparison *c, variant *x)
{
    record f = { 0 };
    char *path = comparison_path(c, x, "result");
    int status = path ? ATTEND_OK : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) status = add_hash(c, x, &f, "model");
    if (status == ATTEND_OK) status = add_hash(c, x, &f, "translations");
    list_test(c, &f);
    for (int i = 0; i < NUMBERS; i++)
        record_add_number(&f, numbers[i].name, *(const double *)((const char *)&x->r + numbers[i].offset));
    if (status == ATTEND_OK) status = record_write(&f, path);
    record_free(&f);
    free(path);
    return status;
}
