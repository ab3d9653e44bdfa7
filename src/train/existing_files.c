/* existing_files.c: what is found where a training run writes. A file of another kind than the one that training writes
 * under that name is never overwritten: MODEL that is not a model, MODEL.svg that is not a plot. The files of another
 * training are overwritten only if options.fresh is set. */
#include "train/training_run.h"

#include "core/status.h"
#include "format/tensor_file.h"
#include <attend/file.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SUFFIX = 64 };

/* ---- kinds of files ---- */

enum { BEGINNING = 16 };

/* The first bytes of a file, which is not empty. */
typedef struct beginning {
    unsigned char bytes[BEGINNING];
    ssize_t count;
} beginning;

/* A tensor file begins with the size of its header, which is a JSON object. A damaged one may be overwritten. */
static bool is_tensor_file(const beginning *b)
{
    return b->count > 8 && b->bytes[8] == '{';
}

static bool is_plot(const beginning *b)
{
    return b->count > 5 && memcmp(b->bytes, "<svg ", 5) == 0;
}

static bool is_lock(const beginning *b)
{
    (void)b; /* a lock is empty */
    return false;
}

/* ATTEND_BAD_USAGE if a regular file exists and is of another kind; ATTEND_IO if it is not regular: a pipe would block. A
 * file that cannot be read fails later. is_kind: NULL if opening the file later says more about its kind. */
static int check_kind(const char *path, bool (*is_kind)(const beginning *b), const char *kind)
{
    beginning b = { .count = 0 };
    struct stat s;
    if (stat(path, &s) != 0) return ATTEND_OK;
    if (!S_ISREG(s.st_mode))
        return attend_fail(ATTEND_IO,
                           "%s is a %s, and training would write %s there: choose another model path, or move it", path,
                           S_ISDIR(s.st_mode) ? "directory" : "device, pipe or socket", kind);
    const int file = is_kind ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (file >= 0) b.count = pread(file, b.bytes, sizeof b.bytes, 0);
    if (file >= 0) close(file);
    if (b.count <= 0 || is_kind(&b)) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE,
                       "%s exists and is not %s, which training would write there: choose another model path, or "
                       "move the file",
                       path, kind);
}

/* MODEL must be a model, and not only look like one; its tensors are not checked. The checkpoint of another training is
 * none: what is lost with it cannot be trained from the model. A write-protected model stays, though its directory would
 * allow to replace it. */
static int check_model(const char *path)
{
    bool is_checkpoint = false;
    const int status = attend_is_checkpoint(path, &is_checkpoint);
    if (status == ATTEND_BAD_MODEL || is_checkpoint)
        return attend_fail(ATTEND_BAD_USAGE, "%s exists and is %s: choose another model path, or %s the file", path,
                           is_checkpoint ? "the checkpoint of a training, not a model" : "not a model",
                           is_checkpoint ? "move" : "remove");
    if (status == ATTEND_OK && access(path, W_OK) != 0)
        return attend_fail(ATTEND_IO, "cannot write %s, which exists: %s", path, attend_errno_text(errno));
    return status;
}

/* A link to a file that does not exist: whether it can be created. */
static int check_link(const char *path)
{
    attend_atomic_file *f = NULL;
    const int status = attend_atomic_file_begin(&f, path, 0);
    attend_atomic_file_abandon(f);
    return status;
}

/* Whether a model can be written to this path. */
static int check_path(const char *model)
{
    struct stat s;
    const size_t n = strlen(model);
    if (n == 0 || model[n - 1] == '/')
        return attend_fail(ATTEND_BAD_USAGE, "the model path '%s' has no file name; give one", model);
    if (n + MAX_SUFFIX >= PATH_MAX)
        return attend_fail(ATTEND_BAD_USAGE, "the model path has %zu bytes; it must have fewer than %d", n,
                           PATH_MAX - MAX_SUFFIX);
    if (stat(model, &s) != 0) /* a missing directory fails when the lock is created, but not that of a link's target */
        return lstat(model, &s) == 0 ? check_link(model) : ATTEND_OK;
    if (S_ISREG(s.st_mode)) return s.st_size == 0 ? ATTEND_OK : check_model(model);
    return attend_fail(ATTEND_IO, "cannot write a model to %s: it is a %s; give the path of a file", model,
                       S_ISDIR(s.st_mode) ? "directory" : "device, pipe or socket");
}

/* ---- other paths of the options ---- */

static int check_is_not(const char *what, const char *path, const char *written)
{
    const attend_file_identity a = attend_file_identify(path), b = attend_file_identify(written);
    if (!attend_file_is_same(&a, &b)) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE,
                       "the %s %s and %s, which training writes, are the same file: choose another path", what, path,
                       written);
}

/* A file that the options name, the log or the model to start from, must not be another file that training writes. */
static int check_differs(training_run *run, const char *what, const char *path)
{
    if (!path) return ATTEND_OK;
    int status = check_is_not(what, path, run->options.model);
    for (const char *const *suffix = attend_training_suffixes; status == ATTEND_OK && *suffix; suffix++)
        if (!strchr(*suffix, '%') && strcmp(*suffix, LOG_SUFFIX) != 0)
            status = check_is_not(what, path, attend_training_path(run, *suffix));
    return status;
}

/* ---- kept models ---- */

/* Whether a name is that of a kept model, MODEL.update-N. */
static bool is_kept(const char *name, const char *base)
{
    static const char kept[] = ".update-";
    const size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 || strncmp(name + length, kept, sizeof kept - 1) != 0) return false;
    const char *digits = name + length + sizeof kept - 1;
    return *digits && digits[strspn(digits, "0123456789")] == '\0';
}

/* The name of a kept model in the directory of MODEL; "": there is none. ATTEND_BAD_USAGE, with the message of
 * check_kind, if a file of such a name is of another kind. */
static int find_kept(const char *model, char name[NAME_MAX + 1])
{
    char path[2 * PATH_MAX];
    const char *slash = strrchr(model, '/'), *base = slash ? slash + 1 : model;
    const int length = slash ? (int)(slash - model) + 1 : 0;
    int status = ATTEND_OK;
    snprintf(path, sizeof path, "%.*s", slash ? length : 1, slash ? model : ".");
    DIR *d = opendir(path);
    *name = '\0';
    for (const struct dirent *e; status == ATTEND_OK && d && (e = readdir(d));) {
        if (!is_kept(e->d_name, base)) continue;
        snprintf(name, NAME_MAX + 1, "%s", e->d_name);
        snprintf(path, sizeof path, "%.*s%s", length, model, e->d_name);
        status = check_kind(path, is_tensor_file, "a model");
    }
    if (d) closedir(d);
    return status;
}

static bool keeps_models(const attend_train_options *o)
{
    return o->keep > 0 || o->average_checkpoints > 0;
}

/* ---- all files ---- */

int attend_training_check_files(training_run *run)
{
    char kept[NAME_MAX + 1];
    int status = check_path(run->options.model);
    if (status == ATTEND_OK && keeps_models(&run->options)) status = find_kept(run->options.model, kept);
    if (status == ATTEND_OK) /* unless it is fresh it is loaded, which says more */
        status = check_kind(attend_training_path(run, ".checkpoint"), run->options.fresh ? is_tensor_file : NULL,
                            "a checkpoint");
    if (status == ATTEND_OK && !run->options.log)
        status = check_kind(attend_training_path(run, LOG_SUFFIX), NULL, "its log");
    if (status == ATTEND_OK) status = check_kind(attend_training_path(run, ".single"), is_tensor_file, "a model");
    if (status == ATTEND_OK) status = check_kind(attend_training_path(run, ".svg"), is_plot, "a plot");
    if (status == ATTEND_OK) status = check_kind(attend_training_path(run, ".lock"), is_lock, "a lock (an empty file)");
    if (status == ATTEND_OK) status = check_differs(run, "log", run->options.log);
    return status == ATTEND_OK ? check_differs(run, "model to start from,", run->options.init_from) : status;
}

/* ---- files of another training ---- */

/* "a model of architecture rnn for translation, 5000 and 6000 tokens, 12.3 MB, of 2024-02-29 13:05" */
static void describe_model(const char *path, char *text, size_t size)
{
    attend_tensor_file *file = NULL;
    struct stat s = { 0 };
    struct tm when;
    char time[32] = "an unknown time";
    const bool is_open = attend_tensor_file_open(&file, path, ATTEND_TENSOR_HEADER_ONLY) == ATTEND_OK;
    const char *const network = is_open ? attend_tensor_file_metadata(file, "config.architecture") : NULL,
                      *const task = is_open ? attend_tensor_file_metadata(file, "config.task") : NULL,
                      *const source = is_open ? attend_tensor_file_metadata(file, "config.source-vocab") : NULL,
                      *const target = is_open ? attend_tensor_file_metadata(file, "config.target-vocab") : NULL;
    const bool is_language_model = task && strcmp(task, "language-model") == 0;
    if (stat(path, &s) == 0 && localtime_r(&s.st_mtime, &when)) strftime(time, sizeof time, "%Y-%m-%d %H:%M", &when);
    snprintf(text, size, "a model of architecture %.20s for %.20s, %.10s%s%.10s tokens, %.*f %s, of %s",
             network ? network : "rnn", task ? task : "translation", source && !is_language_model ? source : "",
             is_language_model ? "" : " and ", target ? target : "?", s.st_size < 1000000 ? 0 : 1,
             (double)s.st_size * (s.st_size < 1000000 ? 1e-3 : 1e-6), s.st_size < 1000000 ? "kB" : "MB", time);
    attend_tensor_file_close(file);
}

/* A damaged file is none of a training, and nothing is lost with it. */
static int check_own(training_run *run, const char *path)
{
    char text[256];
    struct stat s;
    bool is_other;
    if (stat(path, &s) != 0 || s.st_size == 0) return ATTEND_OK;
    const int status = attend_training_check_origin(run, path, &is_other);
    if (status != ATTEND_OK) return status == ATTEND_BAD_MODEL ? ATTEND_OK : status;
    if (!is_other) return ATTEND_OK;
    describe_model(path, text, sizeof text);
    return attend_fail(ATTEND_BAD_USAGE,
                       "%s exists: %s. It is not of the training that %s.checkpoint resumes, which would replace it: "
                       "move it to another path to keep it, choose another model path, or start over (option 'fresh')",
                       path, text, run->options.model);
}

int attend_training_check_resumed(training_run *run)
{
    const int status = check_own(run, run->options.model);
    return status == ATTEND_OK ? check_own(run, attend_training_path(run, ".single")) : status;
}

int attend_training_check_new(training_run *run)
{
    const attend_train_options *o = &run->options;
    char text[256], kept[NAME_MAX + 1] = "";
    struct stat s;
    if (stat(o->model, &s) == 0 && s.st_size > 0) {
        describe_model(o->model, text, sizeof text);
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s exists: %s. It has no checkpoint to resume from, and training would replace it: choose "
                           "another model path, start another model with its weights (option 'init-from'), or replace "
                           "it (option 'fresh')",
                           o->model, text);
    }
    const int status = keeps_models(o) ? find_kept(o->model, kept) : ATTEND_OK;
    if (status != ATTEND_OK) return status;
    const char *single = attend_training_path(run, ".single");
    if (!*kept && access(single, F_OK) != 0) return ATTEND_OK;
    return attend_fail(
        ATTEND_BAD_USAGE,
        "%s exists, a model of another training, and training would replace or remove it: choose another "
        "model path, move the file, or start over (option 'fresh')",
        *kept ? kept : single);
}
