#include "output_file.h"

#include "result_text.h"

#include <attend/file.h>
#include <attend/status.h>
#include <attend/string.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct output_file {
    FILE *stream;                    /* a device, pipe or standard output; else NULL */
    attend_atomic_file *replacement; /* a regular file; else NULL */
    attend_string pending;           /* of the replacement: not yet written */
    const char *name;
};

/* ---- signals ---- */

/* A signal that ends the process must not leave a temporary file. Only one output is open at a time. */
static attend_atomic_file *volatile unfinished;
static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];

static void on_signal(int number)
{
    if (unfinished) attend_atomic_file_unlink(unfinished);
    signal(number, SIG_DFL);
    raise(number); /* takes effect when this handler returns */
}

/* Signals that are ignored or already handled stay so. */
static void watch(attend_atomic_file *r)
{
    const struct sigaction action = { .sa_handler = on_signal };
    unfinished = r;
    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(signals[i], NULL, &before[i]) == 0 && before[i].sa_handler == SIG_DFL)
            sigaction(signals[i], &action, NULL);
}

static void unwatch(void)
{
    struct sigaction now;
    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == on_signal)
            sigaction(signals[i], &before[i], NULL);
    unfinished = NULL;
}

/* ---- names of standard streams ---- */

static bool is_one_of(const char *path, const char *const names[4])
{
    for (int i = 0; i < 4; i++)
        if (strcmp(path, names[i]) == 0) return true;
    return false;
}

bool output_is_standard(const char *path)
{
    static const char *const names[4] = { "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1" };
    return is_one_of(path, names);
}

bool input_is_standard(const char *path)
{
    static const char *const names[4] = { "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0" };
    return is_one_of(path, names);
}

/* ---- files ---- */

/* Exists, and is neither a regular file nor a directory. */
static bool is_stream(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

int output_check_place(const char *path, bool replaced)
{
    struct stat s;
    attend_atomic_file *f = NULL;
    if (!replaced && stat(path, &s) == 0 && !S_ISDIR(s.st_mode)) return ATTEND_OK;
    const int status = attend_atomic_file_begin(&f, path, 0);
    attend_atomic_file_abandon(f);
    return status;
}

int output_open(output_file **out, const char *path)
{
    *out = NULL;
    output_file *f = calloc(1, sizeof *f);
    if (!f) return attend_fail(ATTEND_NO_MEMORY, "out of memory opening an output file");
    int status = ATTEND_OK;
    f->name = path && !output_is_standard(path) ? path : "standard output";
    if (f->name != path)
        f->stream = stdout;
    else if (!is_stream(path))
        status = attend_atomic_file_begin(&f->replacement, path, 0);
    else if (!(f->stream = fopen(path, "wb")))
        status = attend_fail(ATTEND_IO, "cannot write %s: %s", path, attend_errno_text(errno));
    if (status == ATTEND_OK && f->replacement) watch(f->replacement);
    if (status == ATTEND_OK)
        *out = f;
    else
        free(f);
    return status;
}

static int write_pending(output_file *f)
{
    const int status = attend_atomic_file_write(f->replacement, f->pending.text, f->pending.size);
    f->pending.size = 0;
    return status;
}

static int write_bytes(output_file *f, const void *bytes, size_t size, bool is_fit)
{
    enum { MAX_PENDING = 1 << 16 }; /* bytes; saves system calls for callers that write line by line */
    if (f->replacement) {
        const int status = attend_string_add(&f->pending, bytes, size);
        return status == ATTEND_OK && f->pending.size >= MAX_PENDING ? write_pending(f) : status;
    }
    const bool written = is_fit ? write_unchanged_bytes(f->stream, bytes, size) : result_write(f->stream, bytes, size);
    if (written && fflush(f->stream) == 0) return ATTEND_OK;
    return attend_fail(ATTEND_IO, "cannot write %s: %s", f->name, attend_errno_text(errno));
}

int output_write(output_file *f, const void *bytes, size_t size)
{
    return write_bytes(f, bytes, size, false);
}

int output_write_fit(output_file *f, const void *bytes, size_t size)
{
    return write_bytes(f, bytes, size, true);
}

int output_text(output_file *f, const char *text)
{
    return output_write(f, text, strlen(text));
}

int output_close(output_file *f, bool keep)
{
    if (!f) return ATTEND_OK;
    int status = f->replacement && keep ? write_pending(f) : ATTEND_OK;
    if (status != ATTEND_OK) keep = false;
    if (f->replacement) unwatch(); /* before the replacement is freed */
    if (f->replacement && keep)
        status = attend_atomic_file_commit(f->replacement);
    else if (f->replacement)
        attend_atomic_file_abandon(f->replacement);
    else if (f->stream != stdout && fclose(f->stream) != 0 && keep)
        status = attend_fail(ATTEND_IO, "cannot write %s: %s", f->name, attend_errno_text(errno));
    attend_string_free(&f->pending);
    free(f);
    return status;
}
