/* comparison_files.c: what a comparison keeps, so that it can be interrupted and added to. */
#include "comparison.h"

#include "core/atomic_file.h"
#include "core/status.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *comparison_path(const comparison *c, const variant *x, const char *file)
{
    const char *folder = c->s->output, *name = x ? x->file : "";
    const size_t size = strlen(folder) + strlen(name) + strlen(file) + 3;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s%s%s", folder, name, x ? "/" : "", file);
    else
        attend_fail(ATTEND_NO_MEMORY, "no memory for the names of files");
    return path;
}

/* ---- the folder ---- */

int comparison_claim(comparison *c)
{
    const char *folder = c->s->output;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return attend_fail(ATTEND_IO, "cannot make the folder %s: %s; another is named by --output", folder,
                           attend_errno_text(errno));
    c->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->lock < 0)
        return attend_fail(ATTEND_IO, "cannot use %s as a folder: %s; another is named by --output", folder,
                           attend_errno_text(errno));
    if (access(folder, W_OK | X_OK) != 0)
        return attend_fail(ATTEND_IO, "cannot write into %s: %s; another folder is named by --output", folder,
                           attend_errno_text(errno));
    if (flock(c->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) /* ends with the process, however that ends */
        return attend_fail(ATTEND_BAD_USAGE,
                           "another process is comparing in %s: wait for it, stop it, or name another --output",
                           folder);
    return ATTEND_OK;
}

/* ---- options ---- */

int comparison_check(const comparison *c, variant *x)
{
    facts then = { 0 };
    bool found = false;
    struct stat s;
    char *path = comparison_path(c, x, "options"), *model = comparison_path(c, x, "model");
    int status = path && model ? facts_read(&then, path, &found) : ATTEND_NO_MEMORY;
    const fact *other = status == ATTEND_OK ? facts_changed(&then, &x->options) : NULL;
    if (other)
        status = attend_fail(ATTEND_BAD_USAGE,
                             "%s/%s was made with %s '%.80s', and now it is '%.80s': take the same to go on, another "
                             "--output, or --fresh to begin anew",
                             c->s->output, x->file, other->name, facts_find(&then, other->name), other->text);
    if (status == ATTEND_OK && !found && stat(model, &s) == 0)
        status = attend_fail(ATTEND_BAD_USAGE,
                             "%s is there already, and attend compare did not make it: name another --output", model);
    facts_free(&then);
    free(path);
    free(model);
    return status;
}

/* The models on the way, whose names have numbers. */
static void forget_kept(const comparison *c, const variant *x)
{
    static const char begin[] = "model.update-";
    char *folder = comparison_path(c, x, "");
    DIR *names = folder ? opendir(folder) : NULL;
    for (const struct dirent *e; names && (e = readdir(names));) {
        char *path = strncmp(e->d_name, begin, sizeof begin - 1) == 0 ? comparison_path(c, x, e->d_name) : NULL;
        if (path) unlink(path);
        free(path);
    }
    if (names) closedir(names);
    free(folder);
}

int comparison_forget(const comparison *c, const variant *x)
{
    /* options last: as long as there is anything, it is known what it is */
    static const char *const files[] = { "result", "translations",    "clock",     "model.checkpoint", "model.single",
                                         "model",  "model.log.jsonl", "model.svg", "options" };
    int status = ATTEND_OK;
    forget_kept(c, x);
    for (size_t i = 0; status == ATTEND_OK && i < sizeof files / sizeof *files; i++) {
        char *path = comparison_path(c, x, files[i]);
        if (!path)
            status = ATTEND_NO_MEMORY;
        else if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
            status = attend_fail(ATTEND_IO, "cannot remove %s: %s", path, attend_errno_text(errno));
        free(path);
    }
    return status;
}

/* What a write left that was killed; training sees to its own files. */
static void sweep(const comparison *c, const variant *x)
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
    char *folder = comparison_path(c, x, ""), *path = comparison_path(c, x, "options");
    int status = folder && path ? ATTEND_OK : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK && mkdir(folder, 0777) != 0 && errno != EEXIST)
        status = attend_fail(ATTEND_IO, "cannot make the folder %s: %s", folder, attend_errno_text(errno));
    if (status == ATTEND_OK) sweep(c, x);
    if (status == ATTEND_OK) status = facts_write(&x->options, path);
    free(folder);
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

/* What a test depends on, beside the model. */
static void list_test(const comparison *c, facts *f)
{
    facts_add(f, "test data", "%s", c->test_mark.text);
    facts_add(f, "gold links", "%s", c->gold_mark.text);
    facts_add(f, "gold pairs", "%s", c->gold_pairs_mark.text);
    facts_add(f, "beam", "%lld", c->s->beam);
    facts_add_number(f, "length-penalty", c->s->length_penalty);
}

/* Is the file what it was when the result was written? One that is missing is not. */
static bool is_same(const comparison *c, const variant *x, const facts *f, const char *file)
{
    content_mark mark;
    char *path = comparison_path(c, x, file);
    const char *then = facts_find(f, file);
    const bool same = path && then && content_mark_file(&mark, path) == ATTEND_OK && strcmp(mark.text, then) == 0;
    free(path);
    return same;
}

int comparison_load(const comparison *c, variant *x, bool *trained, bool *tested)
{
    facts f = { 0 }, now = { 0 };
    bool found = false, whole = true;
    char *path = comparison_path(c, x, "result"), *lines = comparison_path(c, x, "translations");
    int status = path && lines ? facts_read(&f, path, &found) : ATTEND_NO_MEMORY;
    *trained = *tested = false;
    if (status == ATTEND_OK && found) {
        variant_result r;
        for (int i = 0; i < NUMBERS; i++)
            whole = facts_number(&f, numbers[i].name, (double *)((char *)&r + numbers[i].offset)) && whole;
        list_test(c, &now);
        *trained = whole && is_same(c, x, &f, "model");
        *tested = *trained && !facts_changed(&f, &now) && is_same(c, x, &f, "translations");
        if (*trained) x->r = r;
    }
    if (*tested) {
        status = text_lines_read(&x->translations, lines);
        *tested = status == ATTEND_OK && x->translations.count == c->e.segments.count;
        if (!*tested) text_lines_free(&x->translations);
    }
    facts_free(&f);
    facts_free(&now);
    free(path);
    free(lines);
    return status;
}

static int add_mark(const comparison *c, const variant *x, facts *f, const char *file)
{
    content_mark mark;
    char *path = comparison_path(c, x, file);
    const int status = path ? content_mark_file(&mark, path) : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) facts_add(f, file, "%s", mark.text);
    free(path);
    return status;
}

int comparison_save(const comparison *c, variant *x)
{
    facts f = { 0 };
    char *path = comparison_path(c, x, "result");
    int status = path ? ATTEND_OK : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) status = add_mark(c, x, &f, "model");
    if (status == ATTEND_OK) status = add_mark(c, x, &f, "translations");
    list_test(c, &f);
    for (int i = 0; i < NUMBERS; i++)
        facts_add_number(&f, numbers[i].name, *(const double *)((const char *)&x->r + numbers[i].offset));
    if (status == ATTEND_OK) status = facts_write(&f, path);
    facts_free(&f);
    free(path);
    return status;
}
