/* output_conflicts.c: refuses to write to a file that is also read. Opening a file for writing empties it, including
 * lines not yet read. */
#include "option_table.h"

#include <string.h>
#include <sys/stat.h>

static bool is_output(const option *o)
{
    return o->kind == OPTION_TEXT && (strcmp(o->name, "output") == 0 || strcmp(o->name, "plot") == 0);
}

/* An existing regular file. */
static bool is_file(const char *path, struct stat *s)
{
    return path && stat(path, s) == 0 && S_ISREG(s->st_mode);
}

static bool is_same_file(const char *path, const struct stat *other)
{
    struct stat s;
    return is_file(path, &s) && s.st_dev == other->st_dev && s.st_ino == other->st_ino;
}

/* Whether an option names the file. Texts that are not file names, such as names of metrics, do not name an existing
 * file. */
static bool names_file(const option *o, const void *base, const struct stat *file)
{
    const void *at = (const char *)base + o->offset;
    if (o->kind == OPTION_TEXT) return is_same_file(*(const char *const *)at, file);
    if (o->kind == OPTION_TEXTS) {
        const texts_list *list = at;
        for (int i = 0; i < list->count; i++)
            if (is_same_file(list->items[i], file)) return true;
    }
    if (option_takes_files(o)) {
        const pairs_list *list = at;
        for (int i = 0; i < list->count; i++)
            if (is_same_file(list->items[i].source, file) || is_same_file(list->items[i].target, file)) return true;
        for (int i = 0; i < list->name_count; i++)
            if (is_same_file(list->names[i].name, file)) return true;
    }
    return false;
}

/* attend convert may replace its own input: the new model is written when all of the old one has been read. */
static bool may_be_replaced(const verb *v, const option *input)
{
    return v == &verb_convert && strcmp(input->name, "model") == 0;
}

int options_check_outputs(const verb *v, const void *base)
{
    const option *o, *input;
    struct stat file;
    for (int i = 0; (o = options_entry(v, i)); i++) {
        const char *const path = is_output(o) ? *(const char *const *)((const char *)base + o->offset) : NULL;
        if (!is_file(path, &file)) continue;
        for (int k = 0; (input = options_entry(v, k)); k++)
            if (input != o && input->argument && names_file(input, base, &file) && !may_be_replaced(v, input))
                return usage_error(
                    v, "--%s %s is also the input of --%s and would be overwritten; choose another output file",
                    o->name, path, input->name);
    }
    return 0;
}
