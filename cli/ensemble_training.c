#include "ensemble_training.h"

#include <attend/file_content.h>
#include <attend/model.h>
#include <attend/status.h>
#include <attend/trainer.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char directory_suffix[] = ".members";

/* MODEL with a suffix, and a file in that directory unless it is NULL. */
static char *path_of(const char *model, const char *suffix, const char *file)
{
    const size_t size = strlen(model) + strlen(suffix) + (file ? strlen(file) + 1 : 0) + 1;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s%s%s", model, suffix, file ? "/" : "", file ? file : "");
    else
        attend_fail(ATTEND_NO_MEMORY, "out of memory for file names");
    return path;
}

char *ensemble_member_path(const char *model, int member)
{
    char name[16];
    snprintf(name, sizeof name, "%d", member + 1);
    return path_of(model, directory_suffix, name);
}

/* ---- files that exist ---- */

static bool exists(const char *path)
{
    return path && access(path, F_OK) == 0;
}

/* Whether an ensemble has the attachments of a member, among them the id of its training; earlier versions had none. */
static bool is_same_training(const attend_model *ensemble, const char *member)
{
    attend_model *m = NULL;
    size_t sizes[2];
    if (attend_model_load(&m, member, NULL) != ATTEND_OK) return false;
    const void *ours = attend_model_attached(m, "training", &sizes[0]),
               *theirs = attend_model_attached(ensemble, "training", &sizes[1]);
    const bool is_same = ours && theirs ? sizes[0] == sizes[1] && memcmp(ours, theirs, sizes[0]) == 0 : !ours;
    attend_model_free(m);
    return is_same;
}

/* A member that was deleted is saved again from its checkpoint. */
static bool is_of_first_member(const attend_model *ensemble, const char *model)
{
    char *first = ensemble_member_path(model, 0), *checkpoint = path_of(model, directory_suffix, "1.checkpoint");
    const bool is_own = exists(checkpoint) ? is_same_training(ensemble, checkpoint)
                                           : exists(first) && is_same_training(ensemble, first);
    free(first);
    free(checkpoint);
    return is_own;
}

/* An ensemble of an earlier run is replaced; anything else is not, unless fresh is set, and never another kind of file. */
static int check_existing(const char *model, bool fresh)
{
    char *checkpoint = path_of(model, ".checkpoint", NULL);
    attend_model *m = NULL;
    int status = checkpoint ? ATTEND_OK : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK && exists(model)) {
        status = attend_model_load(&m, model, NULL);
        const bool is_ours = status == ATTEND_OK && attend_model_member_count(m) > 1 && is_of_first_member(m, model);
        if (status == ATTEND_OK && !is_ours && !fresh)
            status = attend_fail(ATTEND_BAD_USAGE,
                                 "%s exists and is not from this training: choose another model path, or start over "
                                 "(option 'fresh')",
                                 model);
    }
    if (status == ATTEND_OK && exists(checkpoint))
        status =
            attend_fail(ATTEND_BAD_USAGE,
                        "%s is the checkpoint of the training of a single model: choose another model path, or remove "
                        "it",
                        checkpoint);
    attend_model_free(m);
    free(checkpoint);
    return status;
}

/* What follows the number in the name of a file that the training of a member writes; NULL: another file. */
static const char *member_suffix(const char *name)
{
    const char *end = name;
    while (isdigit((unsigned char)*end)) end++;
    if (end == name) return NULL;
    if (!*end) return end;
    for (const char *const *suffix = attend_training_suffixes; *suffix; suffix++) {
        const size_t fixed = strcspn(*suffix, "%");
        if (strncmp(end, *suffix, fixed) != 0) continue;
        const char *rest = end + fixed;
        if ((*suffix)[fixed] == '%')
            while (isdigit((unsigned char)*rest)) rest++;
        if (!*rest) return end;
    }
    return NULL;
}

/* A file of another kind than training writes under its name is not removed. */
static int check_member_file(const char *path, const char *suffix)
{
    struct stat s;
    bool is_checkpoint;
    if (lstat(path, &s) != 0 || (S_ISREG(s.st_mode) && s.st_size == 0)) return ATTEND_OK;
    if (S_ISREG(s.st_mode) && strcmp(suffix, ".svg") == 0) return attend_content_check(path, ATTEND_CONTENT_SVG, NULL);
    if (S_ISREG(s.st_mode) && strcmp(suffix, ".log.jsonl") == 0)
        return attend_content_check(path, ATTEND_CONTENT_JSON, NULL);
    const bool is_lock = strcmp(suffix, ".lock") == 0;
    const int status = S_ISREG(s.st_mode) && !is_lock ? attend_is_checkpoint(path, &is_checkpoint) : ATTEND_BAD_MODEL;
    if (status != ATTEND_BAD_MODEL) return status;
    return attend_fail(ATTEND_BAD_USAGE, "%s exists and is not from a training: choose another model path, or move it",
                       path);
}

static int remove_member_file(const char *path, const char *suffix)
{
    (void)suffix;
    if (unlink(path) == 0 || errno == ENOENT) return ATTEND_OK;
    return attend_fail(ATTEND_IO, "cannot remove %s: %s", path, attend_errno_text(errno));
}

static int for_member_files(const char *model, const char *directory,
                            int (*visit)(const char *path, const char *suffix))
{
    int status = ATTEND_OK;
    DIR *names = opendir(directory);
    for (const struct dirent *e; status == ATTEND_OK && names && (e = readdir(names));) {
        const char *suffix = member_suffix(e->d_name);
        char *path = suffix ? path_of(model, directory_suffix, e->d_name) : NULL;
        if (suffix) status = path ? visit(path, suffix) : ATTEND_NO_MEMORY;
        free(path);
    }
    if (names) closedir(names);
    return status;
}

/* ---- the directory ---- */

/* Sets *held to what holds the lock until it is closed. */
static int lock(const char *directory, int *held)
{
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return attend_fail(ATTEND_IO, "cannot create the directory %s: %s", directory, attend_errno_text(errno));
    const int opened = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0)
        return attend_fail(ATTEND_IO, "cannot open the directory %s: %s", directory, attend_errno_text(errno));
    *held = opened;
    if (flock(opened, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return ATTEND_OK;
    ensemble_end(held);
    return attend_fail(ATTEND_BAD_USAGE, "another process is training in %s; wait for it or stop it", directory);
}

void ensemble_end(int *held)
{
    if (*held >= 0) close(*held);
    *held = -1;
}

int ensemble_begin(const char *model, bool fresh, int *held)
{
    char *directory = path_of(model, directory_suffix, NULL);
    *held = -1;
    int status = directory ? check_existing(model, fresh) : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) status = lock(directory, held);
    if (status == ATTEND_OK && fresh) status = for_member_files(model, directory, check_member_file);
    if (status == ATTEND_OK && fresh) status = for_member_files(model, directory, remove_member_file);
    if (status != ATTEND_OK) ensemble_end(held);
    free(directory);
    return status;
}

/* ---- the ensemble ---- */

static int add(attend_model **all, const char *path)
{
    attend_model *m = NULL;
    int status = attend_model_load(&m, path, NULL);
    if (status != ATTEND_OK) return status;
    if (!*all) {
        *all = m;
        return ATTEND_OK;
    }
    status = attend_model_add_member(*all, m);
    if (status != ATTEND_OK) attend_model_free(m);
    return status;
}

int ensemble_write(const char *model, int count)
{
    attend_model *all = NULL;
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        char *path = ensemble_member_path(model, i);
        status = path ? add(&all, path) : ATTEND_NO_MEMORY;
        free(path);
    }
    if (status == ATTEND_OK) status = attend_model_save(all, model);
    attend_model_free(all);
    return status;
}
