#include <attend/pairs_file.h>

#include "core/memory.h"
#include "core/status.h"
#include "text/holdout.h"
#include <attend/lines.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct attend_pairs_file {
    int count, at;                 /* specs, and the one being read */
    uint64_t lines_before;         /* lines of the specs before it */
    attend_lines *source, *target; /* NULL: not open; source: also for monolingual lines */
    attend_holdout holdout;
    attend_pair_fault fault;
    int failure; /* sticky status */
    attend_pairs_spec *specs;
    char *names; /* of all files, one after another */
};

static bool is_input(const char *name)
{
    return name && strcmp(name, "-") == 0;
}

static const char *display(const char *name)
{
    return is_input(name) ? "standard input" : name;
}

/* --- which files --- */

static bool has_tabs(const char *name)
{
    const size_t n = strlen(name);
    return is_input(name) || (n >= 4 && strcmp(name + n - 4, ".tsv") == 0) ||
           (n >= 7 && strcmp(name + n - 7, ".tsv.gz") == 0);
}

int attend_pairs_specs(attend_pairs_spec *specs, int *spec_count, const char *const *names, int count)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, spec_count && ((specs && names) || count < 1));
    int made = 0;
    *spec_count = 0;
    for (int i = 0; i < count; i++) {
        specs[made] = (attend_pairs_spec){ .source = names[i] };
        if (count > 1 && !has_tabs(names[i])) {
            if (i + 1 == count || has_tabs(names[i + 1]))
                return attend_fail(
                    ATTEND_BAD_USAGE,
                    "%s has no counterpart: name the file with the other language after it, or give it a name in "
                    ".tsv if each of its lines has a source, a TAB and a target (monolingual lines are for the task "
                    "language-model)",
                    names[i]);
            specs[made].target = names[++i];
        }
        made++;
    }
    *spec_count = made;
    return ATTEND_OK;
}

int attend_monolingual_specs(attend_pairs_spec *specs, const char *const *names, int count)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, (specs && names) || count < 1);
    for (int i = 0; i < count; i++) {
        if (!is_input(names[i]) && has_tabs(names[i]))
            return attend_fail(ATTEND_BAD_USAGE,
                               "%s is a file of pairs by its name, and a language model needs monolingual lines: "
                               "extract one side (cut -f 2), or rename the file",
                               names[i]);
        specs[i] = (attend_pairs_spec){ .target = names[i] };
    }
    return ATTEND_OK;
}

/* Checks a file before any is read, so that a wrong name is reported at once. */
static int check_readable(const char *name)
{
    struct stat s;
    if (!name || is_input(name)) return ATTEND_OK;
    if (stat(name, &s) != 0 || access(name, R_OK) != 0)
        return attend_fail(ATTEND_IO, "cannot read %s: %s", *name ? name : "a file without a name",
                           attend_errno_text(errno));
    if (S_ISDIR(s.st_mode)) return attend_fail(ATTEND_IO, "cannot read %s: it is a directory; name a file in it", name);
    if (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode)) /* may have no end */
        return attend_fail(ATTEND_IO, "cannot read %s: it is a device; name a file", name);
    return ATTEND_OK;
}

static int check_specs(const attend_pairs_spec *specs, int count)
{
    int inputs = 0;
    if (count < 1) return attend_fail(ATTEND_BAD_USAGE, "no data files are given");
    for (int i = 0; i < count; i++) {
        if (!specs[i].source && !specs[i].target) return attend_fail(ATTEND_BAD_USAGE, "a file has no name");
        if ((unsigned)specs[i].part > ATTEND_PART_HELD_OUT ||
            (specs[i].part != ATTEND_PART_ALL && !(specs[i].held_out > 0 && specs[i].held_out < 1)))
            return attend_fail(ATTEND_BAD_USAGE, "part %d of a file with the fraction %g held out does not exist",
                               (int)specs[i].part, specs[i].held_out);
        if (!specs[i].source != !specs[0].source)
            return attend_fail(ATTEND_BAD_USAGE, "pairs and monolingual lines cannot be mixed");
        inputs += is_input(specs[i].source) + is_input(specs[i].target);
        int status = check_readable(specs[i].source);
        if (status == ATTEND_OK) status = check_readable(specs[i].target);
        if (status != ATTEND_OK) return status;
    }
    if (inputs > 1)
        return attend_fail(ATTEND_BAD_USAGE, "standard input (-) is given %d times; it can be read only once", inputs);
    return ATTEND_OK;
}

static size_t bytes_of(const char *name)
{
    return name ? strlen(name) + 1 : 0;
}

static const char *keep_name(char **at, const char *name)
{
    if (!name) return NULL;
    char *kept = *at;
    memcpy(kept, name, bytes_of(name));
    *at += bytes_of(name);
    return kept;
}

static int copy_specs(attend_pairs_file *f, const attend_pairs_spec *specs, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += bytes_of(specs[i].source) + bytes_of(specs[i].target);
    f->specs = attend_memory_zeroed((size_t)count, sizeof *f->specs);
    f->names = attend_memory_zeroed(bytes, 1);
    if (!f->specs || !f->names) return attend_fail(ATTEND_NO_MEMORY, "no memory for the names of %d files", count);
    char *at = f->names;
    for (int i = 0; i < count; i++) {
        f->specs[i] = specs[i];
        f->specs[i].source = keep_name(&at, specs[i].source);
        f->specs[i].target = keep_name(&at, specs[i].target);
    }
    f->count = count;
    return ATTEND_OK;
}

int attend_pairs_file_open(attend_pairs_file **out, const attend_pairs_spec *specs, int count)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && (specs || count < 1));
    *out = NULL;
    int status = check_specs(specs, count);
    if (status != ATTEND_OK) return status;
    attend_pairs_file *f = attend_memory_zeroed(1, sizeof *f);
    if (!f)
        return attend_fail(ATTEND_NO_MEMORY, "no memory to read %s",
                           display(specs[0].source ? specs[0].source : specs[0].target));
    status = copy_specs(f, specs, count);
    if (status == ATTEND_OK)
        *out = f;
    else
        attend_pairs_file_close(f);
    return status;
}

static void close_spec(attend_pairs_file *f)
{
    attend_lines_close(f->source);
    attend_lines_close(f->target);
    f->source = f->target = NULL;
}

void attend_pairs_file_close(attend_pairs_file *f)
{
    if (!f) return;
    close_spec(f);
    attend_holdout_free(&f->holdout);
    attend_memory_free(f->names);
    attend_memory_free(f->specs);
    attend_memory_free(f);
}

/* --- pairs --- */

/* Ends reading. */
static int stop(attend_pairs_file *f, attend_pair_fault fault, int status)
{
    f->fault = fault;
    f->failure = status;
    return status;
}

static int open_spec(attend_pairs_file *f)
{
    const attend_pairs_spec *spec = f->specs + f->at;
    int status = spec->source ? attend_lines_open(&f->source, spec->source) : ATTEND_OK;
    if (status == ATTEND_OK && spec->target) status = attend_lines_open(&f->target, spec->target);
    return status == ATTEND_OK ? status : stop(f, ATTEND_PAIR_UNREADABLE, status);
}

static int end_spec(attend_pairs_file *f)
{
    const attend_lines *lines = f->source ? f->source : f->target;
    if (attend_lines_number(lines) == 0)
        return stop(f, ATTEND_PAIR_EMPTY_FILE,
                    attend_fail(ATTEND_BAD_DATA, "%s:1: the file is empty", attend_lines_name(lines)));
    f->lines_before += attend_lines_number(lines);
    close_spec(f);
    f->at++;
    return ATTEND_OK;
}

/* Splits the line in pair->source at its TAB. */
static int split_at_tab(attend_pairs_file *f, attend_text_pair *pair)
{
    const char *line = pair->source, *end = line + pair->source_size;
    const char *first = memchr(line, '\t', pair->source_size);
    const char *second = first ? memchr(first + 1, '\t', (size_t)(end - first - 1)) : NULL;
    const unsigned long long number = pair->line;
    if (!first) {
        f->fault = ATTEND_PAIR_NO_TAB;
        return attend_fail(
            ATTEND_BAD_DATA,
            "%s:%llu: the line has no TAB; write each line as source, TAB, target, or give two line-aligned files "
            "as two names (monolingual lines are for the task language-model)",
            pair->source_file, number);
    }
    if (second) {
        f->fault = ATTEND_PAIR_MANY_TABS;
        return attend_fail(ATTEND_BAD_DATA,
                           "%s:%llu: the line has a second TAB, at byte %td (the first is at byte %td); write each "
                           "line as source, TAB, "
                           "target; remove further columns with: cut -f 1,2",
                           pair->source_file, number, second - line + 1, first - line + 1);
    }
    pair->source_size = (size_t)(first - line);
    pair->target = first + 1;
    pair->target_size = (size_t)(end - first - 1);
    return ATTEND_OK;
}

/* Records why a line could not be read; the message of the line reader is kept. */
static int line_failed(attend_pairs_file *f, const attend_lines *l, int status)
{
    if (attend_lines_failed(l)) return stop(f, ATTEND_PAIR_UNREADABLE, status);
    f->fault = ATTEND_PAIR_TOO_LONG;
    return status;
}

static int next_with_tab(attend_pairs_file *f, attend_text_pair *pair)
{
    const int status = attend_lines_next(f->source, &pair->source, &pair->source_size);
    pair->source_file = pair->target_file = display(f->specs[f->at].source);
    pair->line = attend_lines_number(f->source);
    if (status != ATTEND_OK) return line_failed(f, f->source, status);
    return pair->source ? split_at_tab(f, pair) : end_spec(f);
}

static int next_monolingual(attend_pairs_file *f, attend_text_pair *pair)
{
    const int status = attend_lines_next(f->target, &pair->target, &pair->target_size);
    pair->source_file = pair->target_file = display(f->specs[f->at].target);
    pair->line = attend_lines_number(f->target);
    if (status != ATTEND_OK) return line_failed(f, f->target, status);
    if (!pair->target) return end_spec(f);
    pair->source = "";
    return ATTEND_OK;
}

/* One file has ended before the other: reads both to the end to report their line counts, but not a stream without an
 * end. */
static int fail_counts(attend_pairs_file *f)
{
    enum { MAX_COUNTED = 1 << 24 };
    attend_lines *const both[2] = { f->source, f->target };
    const uint64_t last = attend_lines_number(f->source) + MAX_COUNTED;
    for (int i = 0; i < 2; i++) {
        const char *text;
        size_t size;
        int status;
        do status = attend_lines_next(both[i], &text, &size);
        while (!attend_lines_failed(both[i]) && (status != ATTEND_OK || text) && attend_lines_number(both[i]) < last);
        if (attend_lines_failed(both[i])) return stop(f, ATTEND_PAIR_UNREADABLE, status);
    }
    const unsigned long long counts[2] = { attend_lines_number(f->source), attend_lines_number(f->target) };
    return stop(
        f, ATTEND_PAIR_LINE_COUNTS,
        attend_fail(ATTEND_BAD_DATA,
                    "%s:%llu and %s:%llu: the files must correspond line by line, but one has %llu%s lines and the "
                    "other %llu%s; find the line from which they do not match",
                    attend_lines_name(f->source), counts[0], attend_lines_name(f->target), counts[1], counts[0],
                    counts[0] >= last ? " or more" : "", counts[1], counts[1] >= last ? " or more" : ""));
}

static int next_of_two(attend_pairs_file *f, attend_text_pair *pair)
{
    pair->source_file = display(f->specs[f->at].source);
    pair->target_file = display(f->specs[f->at].target);
    /* reads both even if the first fails, so that they stay aligned */
    const int first = attend_lines_next(f->source, &pair->source, &pair->source_size);
    if (attend_lines_failed(f->source)) return line_failed(f, f->source, first);
    const int second = attend_lines_next(f->target, &pair->target, &pair->target_size);
    pair->line = attend_lines_number(f->source);
    if (attend_lines_failed(f->target)) return line_failed(f, f->target, second);
    if (attend_lines_number(f->source) != attend_lines_number(f->target)) return fail_counts(f);
    if (first != ATTEND_OK || second != ATTEND_OK) {
        if (first == ATTEND_OK) pair->source_file = pair->target_file;
        pair->source = pair->target = NULL;
        return line_failed(f, f->source, first != ATTEND_OK ? first : second);
    }
    return pair->source ? ATTEND_OK : end_spec(f);
}

/* The next pair, of whichever part. */
static int next_pair(attend_pairs_file *f, attend_text_pair *pair)
{
    f->fault = ATTEND_PAIR_OK;
    *pair = (attend_text_pair){ 0 };
    if (f->failure) {
        f->fault = ATTEND_PAIR_UNREADABLE;
        return attend_fail(f->failure, "cannot continue reading pairs after an earlier failure");
    }
    while (f->at < f->count) {
        int status = f->source || f->target ? ATTEND_OK : open_spec(f);
        if (status == ATTEND_OK)
            status = !f->source ? next_monolingual(f, pair) : f->target ? next_of_two(f, pair) : next_with_tab(f, pair);
        if (f->source || f->target) pair->index = f->lines_before + pair->line - 1;
        if (status != ATTEND_OK || pair->source) return status;
    }
    *pair = (attend_text_pair){ 0 };
    return ATTEND_OK;
}

bool attend_pairs_file_wait(attend_pairs_file *f, int milliseconds)
{
    ATTEND_REQUIRE(true, f);
    return (!f->source || attend_lines_wait(f->source, milliseconds)) &&
           (!f->target || attend_lines_wait(f->target, milliseconds));
}

/* Whether the reader of the training part reports this fault of a single line. */
static bool is_of_other_part(const attend_pairs_file *f)
{
    return f->fault > ATTEND_PAIR_OK && f->fault <= ATTEND_PAIR_TOO_LONG &&
           f->specs[f->at].part == ATTEND_PART_HELD_OUT;
}

int attend_pairs_file_next(attend_pairs_file *f, attend_text_pair *pair)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, f && pair);
    for (;;) {
        bool is_read = true;
        int status = next_pair(f, pair);
        if (status != ATTEND_OK && is_of_other_part(f)) continue;
        if (status == ATTEND_OK && pair->source)
            status = attend_holdout_reads(&f->holdout, &f->specs[f->at], pair, &is_read);
        if (status != ATTEND_OK && f->fault == ATTEND_PAIR_OK) return stop(f, ATTEND_PAIR_UNREADABLE, status);
        if (status != ATTEND_OK || is_read) return status;
    }
}

attend_pair_fault attend_pairs_file_fault(const attend_pairs_file *f)
{
    ATTEND_REQUIRE(ATTEND_PAIR_UNREADABLE, f);
    return f->fault;
}
