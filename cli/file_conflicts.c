/* file_conflicts.c: no verb writes to a file that it also reads, or that it writes in another way. Opening a file for
 * writing empties it, including lines not yet read; and of two outputs in one file, one is lost. Nor does an output
 * replace a file of another kind (attend/file_content.h); for a model that is trained the library checks this, for a
 * directory the verb. Two inputs cannot both be standard input: the second would be empty.
 *
 * The option tables say which options name inputs and which name outputs (option_kind). Together with the standard
 * streams they are compared, by device and inode, before the verb runs and opens anything. */
#include "array.h"
#include "data_files.h"
#include "job.h"
#include "option_table.h"
#include "output_file.h"

#include <attend/file.h>
#include <attend/trainer.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the files of a command line ---- */

typedef struct used_file {
    const option *option;        /* NULL: a standard stream, or an argument */
    int stream;                  /* descriptor; -1: none */
    bool is_output, is_numbered; /* is_numbered: %d in the name stands for numbers */
    char *path;                  /* NULL: a standard stream */
    attend_file_identity identity;
} used_file;

typedef struct used_files {
    used_file *list;
    int count, capacity;
    bool failed;           /* out of memory */
    int stdin_count;       /* inputs that are standard input */
    char stdin_names[256]; /* their options: "--train, --valid" */
} used_files;

static void add(used_files *u, used_file file)
{
    if (!array_reserve(&u->list, &u->capacity, (size_t)u->count + 1, sizeof *u->list)) {
        u->failed = true;
        free(file.path);
        return;
    }
    u->list[u->count++] = file;
}

static void add_path(used_files *u, const option *o, const char *path, bool is_output)
{
    char *copy = strdup(path);
    u->failed = u->failed || !copy;
    const bool is_numbered = is_output && strstr(path, "%d");
    if (copy) add(u, (used_file){ o, -1, is_output, is_numbered, copy, attend_file_identify(path) });
}

/* name: of the option; NULL: an argument */
static void add_stdin(used_files *u, const char *name)
{
    const size_t used = strlen(u->stdin_names);
    snprintf(u->stdin_names + used, sizeof u->stdin_names - used, "%s%s%s", used ? ", " : "", name ? "--" : "-",
             name ? name : "");
    u->stdin_count++;
}

static void add_input(used_files *u, const option *o, const char *path)
{
    if (!path) return;
    if (input_is_standard(path)) add_stdin(u, o ? o->name : NULL);
    add_path(u, o, path, false);
}

static void add_stream(used_files *u, int descriptor)
{
    add(u, (used_file){ NULL, descriptor, descriptor != STDIN_FILENO, false, NULL,
                        attend_file_identify_descriptor(descriptor) });
}

/* ---- outputs ---- */

/* Both texts together. NULL: out of memory. */
static char *join(used_files *u, const char *before, const char *after)
{
    const size_t size = strlen(before) + strlen(after) + 1;
    char *text = malloc(size);
    if (text) snprintf(text, size, "%s%s", before, after);
    u->failed = u->failed || !text;
    return text;
}

/* Whether `path` is `name` with digits in place of its %d, or has no %d. */
static bool has_number(const char *path, const char *name)
{
    const char *at = strstr(name, "%d");
    if (!at) return true;
    const size_t before = (size_t)(at - name), after = strlen(at + 2), length = strlen(path);
    if (length <= before + after) return false;
    return strspn(path + before, "0123456789") >= length - before - after;
}

/* A pattern of glob(): `directory` as it is, and in `name` a leading star and %d for a number. NULL: out of memory. */
static char *pattern_of(used_files *u, const char *directory, const char *name)
{
    char *pattern = malloc(2 * strlen(directory) + 2 * strlen(name) + 16), *to = pattern;
    u->failed = u->failed || !pattern;
    for (int part = 0; pattern && part < 2; part++)
        for (const char *from = part == 0 ? directory : name; *from; from++) {
            const bool is_star = part == 1 && from == name && *from == '*';
            if (strncmp(from, "%d", 2) == 0) {
                memcpy(to, "[0-9]*", 6), to += 6, from++;
                continue;
            }
            if (strchr("*?[\\", *from) && !is_star) *to++ = '\\';
            *to++ = *from;
        }
    if (pattern) *to = '\0';
    return pattern;
}

/* The existing files of a name with %d or a star; one that does not exist yet is not an input. */
static void add_matches(used_files *u, const option *o, const char *directory, const char *name)
{
    glob_t found;
    char *pattern = pattern_of(u, directory, name), *whole = join(u, directory, name);
    if (pattern && whole && glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (*name == '*' || has_number(found.gl_pathv[i], whole)) add_path(u, o, found.gl_pathv[i], true);
        globfree(&found);
    }
    free(pattern);
    free(whole);
}

static void add_output(used_files *u, const option *o, const char *directory, const char *name)
{
    if (*name == '*' || strstr(name, "%d")) add_matches(u, o, directory, name);
    if (*name == '*') return; /* a name with %d itself stands for those that do not exist */
    char *path = join(u, directory, name);
    if (path) add_path(u, o, path, true);
    free(path);
}

/* A model that is trained, and the files of training beside it. has_log: the log is another option. */
static void add_training(used_files *u, const option *o, const char *directory, const char *model, bool has_log)
{
    add_output(u, o, directory, model);
    for (const char *const *suffix = attend_training_suffixes; *suffix; suffix++) {
        char *name = has_log && strcmp(*suffix, ".log.jsonl") == 0 ? NULL : join(u, model, *suffix);
        if (name) add_output(u, o, directory, name);
        free(name);
    }
}

static void add_directory(used_files *u, const verb *v, const option *o, const char *path)
{
    char *directory = join(u, path, "/");
    for (const char *const *name = v->directory_files; directory && name && *name; name++) {
        char *copy = join(u, *name, ""), *plus = copy ? strchr(copy, '+') : NULL;
        if (plus) *plus = '\0';
        if (plus)
            add_training(u, o, directory, copy, false);
        else if (copy)
            add_output(u, o, directory, copy);
        free(copy);
    }
    free(directory);
}

/* The files of the members of an ensemble that is trained, which exist; others cannot be inputs. */
static void add_members(used_files *u, const option *o, const char *model)
{
    glob_t found;
    char *directory = join(u, model, ".members/"), *pattern = directory ? pattern_of(u, directory, "%d") : NULL;
    if (pattern && glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) add_path(u, o, found.gl_pathv[i], true);
        globfree(&found);
    }
    free(pattern);
    free(directory);
}

static bool has_members(const verb *v, const void *base)
{
    const int ensemble = options_find(v, "ensemble");
    return ensemble >= 0 &&
           *(const long long *)(const void *)((const char *)base + options_entry(v, ensemble)->offset) > 1;
}

static bool has_log(const verb *v, const void *base)
{
    const int log = options_find(v, "log");
    return log >= 0 && *(const char *const *)((const char *)base + options_entry(v, log)->offset);
}

static void add_option(used_files *u, const verb *v, const option *o, const void *base)
{
    const void *at = (const char *)base + o->offset;
    const char *text = option_is_text(o) ? *(const char *const *)at : NULL;
    if (o->kind == OPTION_INPUT) add_input(u, o, text);
    if (o->kind == OPTION_OUTPUT && text && !output_is_standard(text)) add_output(u, o, "", text);
    if (o->kind == OPTION_FILE && text) add_output(u, o, "", text);
    if (o->kind == OPTION_TRAINING && text) add_training(u, o, "", text, has_log(v, base));
    if (o->kind == OPTION_TRAINING && text && has_members(v, base)) add_members(u, o, text);
    if (o->kind == OPTION_DIRECTORY && text) add_directory(u, v, o, text);
    const texts_list *texts = at;
    const bool is_read = o->kind == OPTION_INPUTS || o->kind == OPTION_PLUGINS;
    for (int i = 0; is_read && i < texts->count; i++) add_input(u, o, texts->items[i]);
    for (int i = 0; o->kind == OPTION_NAMED_INPUTS && i < texts->count; i++) {
        const char *equals = strchr(texts->items[i], '=');
        add_input(u, o, equals ? equals + 1 : NULL); /* NULL: the verb refuses it */
    }
    const pairs_list *pairs = at;
    if (!option_takes_files(o)) return;
    for (int i = 0; i < pairs->count; i++) {
        add_input(u, o, pairs->items[i].source);
        add_input(u, o, pairs->items[i].target);
    }
    for (int i = 0; i < pairs->name_count; i++)
        if (!data_name_is_part(pairs->names[i].name)) add_input(u, o, pairs->names[i].name);
}

static void collect(used_files *u, const verb *v, const void *base, const parsed *p)
{
    const option *o;
    for (int i = 0; (o = options_entry(v, i)); i++) add_option(u, v, o, base);
    for (int i = 0; v->arguments_are_inputs && i < p->positional_count; i++) add_input(u, NULL, p->positional[i]);
    if (v->stdin_option && !options_given(v, p, v->stdin_option) && p->positional_count == 0)
        add_stdin(u, v->stdin_option);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) add_stream(u, i);
}

/* ---- conflicts ---- */

/* attend convert may replace its own input: the new model is written when all of the old one has been read. */
static bool may_be_replaced(const verb *v, const used_file *input)
{
    return v == &verb_convert && (!input->option || strcmp(input->option->name, "model") == 0);
}

/* Whether both will be the same file, which does not exist yet: a name with %d, and another name with a number. */
static bool is_same_number(const used_file *a, const used_file *b)
{
    const attend_file_identity *x = &a->identity, *y = &b->identity;
    return a->is_numbered && !b->is_numbered && !x->exists && !y->exists && x->device == y->device &&
           x->inode == y->inode && *x->name && *y->name && has_number(y->name, x->name);
}

static bool conflict(const verb *v, const used_files *u, const used_file *output, const used_file *other)
{
    if (!attend_file_is_same(&output->identity, &other->identity) && !is_same_number(output, other) &&
        !is_same_number(other, output))
        return false;
    if (output->stream >= 0 &&
        other->stream >= 0) /* both may be redirected to one file; standard input may be unused */
        return !other->is_output && u->stdin_count > 0;
    if (!other->is_output && output->stream < 0 && other->stream < 0 && may_be_replaced(v, other)) return false;
    return true;
}

static const char *const stream_names[] = { "standard input", "standard output", "standard error" };

/* "--output f", "standard output" */
static void describe_output(char *text, size_t size, const used_file *f)
{
    if (f->stream >= 0)
        snprintf(text, size, "%s", stream_names[f->stream]);
    else
        snprintf(text, size, "--%s %s", f->option->name, f->path);
}

/* "the input of --train", with the name of the file unless it is known. */
static void describe_input(char *text, size_t size, const used_file *f, const char *known)
{
    const bool with_path = f->path && (!known || strcmp(f->path, known) != 0);
    if (f->stream >= 0)
        snprintf(text, size, "%s", stream_names[f->stream]);
    else
        snprintf(text, size, "the input%s%s%s%s", f->option ? " of --" : "", f->option ? f->option->name : "",
                 with_path || !f->option ? " " : "", with_path || !f->option ? f->path : "");
}

/* The message must not be written into the file that it is about. */
static void protect_from_message(const used_file *f)
{
    struct stat s;
    const attend_file_identity out = attend_file_identify_descriptor(STDOUT_FILENO),
                               err = attend_file_identify_descriptor(STDERR_FILENO);
    if (!attend_file_is_same(&f->identity, &err) || fstat(STDERR_FILENO, &s) != 0 || s.st_size == 0) return;
    const int to = attend_file_is_same(&f->identity, &out) ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDOUT_FILENO;
    if (to >= 0 && dup2(to, STDERR_FILENO) < 0) close(STDERR_FILENO);
}

static int refuse(const verb *v, const used_file *output, const used_file *other)
{
    char what[512], also[512];
    const char *const advice = output->stream >= 0 ? "redirect it to another file" : "choose another output file";
    protect_from_message(output);
    describe_output(what, sizeof what, output);
    if (other->is_output) {
        describe_output(also, sizeof also, other);
        return usage_error(v, "%s and %s are the same file, and one would overwrite the other; %s", what, also, advice);
    }
    describe_input(also, sizeof also, other, output->path);
    return usage_error(v, "%s is also %s and would be overwritten; %s", what, also, advice);
}

/* A file named "-" would be created where another program writes to standard output. */
static int check_names(const verb *v, const void *base)
{
    const option *o;
    for (int i = 0; (o = options_entry(v, i)); i++) {
        if (o->kind != OPTION_FILE && o->kind != OPTION_TRAINING && o->kind != OPTION_DIRECTORY) continue;
        const char *text = *(const char *const *)(const void *)((const char *)base + o->offset);
        if (text && output_is_standard(text))
            return usage_error(v, "--%s %s: this cannot be written to standard output; name a %s", o->name, text,
                               o->kind == OPTION_DIRECTORY ? "directory" : "file");
    }
    return 0;
}

static int check(const verb *v, const used_files *u)
{
    if (u->failed) return usage_error(v, "out of memory for file names");
    if (u->stdin_count > 1)
        return usage_error(v, "standard input is given %d times (%s), but can be read only once; name a file",
                           u->stdin_count, u->stdin_names);
    for (int i = 0; i < u->count; i++)
        for (int k = 0; u->list[i].is_output && k < u->count; k++)
            if (k != i && !(u->list[k].is_output && k < i) && conflict(v, u, &u->list[i], &u->list[k]))
                return refuse(v, &u->list[i], &u->list[k]);
    return 0;
}

/* In a directory whose files a verb reads and writes, a pipe would block, and a device could have no end. */
static int check_is_regular(const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0 || S_ISREG(s.st_mode)) return ATTEND_OK;
    return attend_fail(ATTEND_IO,
                       "cannot write %s: it is a %s, not a regular file; move it, or choose another directory", path,
                       S_ISDIR(s.st_mode) ? "directory" : "device, pipe or socket");
}

static int check_contents(const verb *v, const void *base, const used_files *u)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < u->count; i++) {
        const used_file *f = &u->list[i];
        if (f->is_output && f->option && f->option->kind == OPTION_DIRECTORY) status = check_is_regular(f->path);
        if (!f->is_output || !f->option || (f->option->kind != OPTION_OUTPUT && f->option->kind != OPTION_FILE))
            continue;
        char before[64];
        snprintf(before, sizeof before, "--%s ", f->option->name);
        status = attend_content_check(f->path, v->content ? v->content(base, f->option) : ATTEND_CONTENT_TEXT, before);
        if (status == ATTEND_OK) status = output_check_place(f->path, f->option->kind == OPTION_FILE);
    }
    return status == ATTEND_OK ? 0 : cli_fail(v, status);
}

int options_check_files(const verb *v, const void *base, const parsed *p)
{
    used_files u = { 0 };
    collect(&u, v, base, p);
    int status = check_names(v, base);
    if (status == 0) status = check(v, &u);
    if (status == 0 && job_writes()) status = check_contents(v, base, &u);
    for (int i = 0; i < u.count; i++) free(u.list[i].path);
    free(u.list);
    return status;
}
