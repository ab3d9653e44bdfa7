/* output_conflicts.c: what is written must not be what is read. A file that is opened for writing is empty from then on, lines that were not read yet
 * and all, and a model that is mapped goes away under the process. */
#include "options_internal.h"

#include <string.h>
#include <sys/stat.h>

static bool is_output(const option *o)
{
    return o->kind == OPTION_TEXT && (strcmp(o->name, "output") == 0 || strcmp(o->name, "plot") == 0);
}

/* One that is there, and no pipe or terminal. */
static bool is_file(const char *path, struct stat *s)
{
    return path && stat(path, s) == 0 && S_ISREG(s->st_mode);
}

static bool is_that(const char *path, const struct stat *that)
{
    struct stat s;
    return is_file(path, &s) && s.st_dev == that->st_dev && s.st_ino == that->st_ino;
}

/* Whether an option names the file to read; its other texts (names of metrics, say) name none that is there. */
static bool names(const option *o, const void *base, const struct stat *that)
{
    const void *at = (const char *)base + o->offset;
    if (o->kind == OPTION_TEXT) return is_that(*(const char *const *)at, that);
    if (o->kind == OPTION_TEXTS) {
        const texts_list *list = at;
        for (int i = 0; i < list->count; i++)
            if (is_that(list->items[i], that)) return true;
    }
    if (options_has_files(o)) {
        const pairs_list *list = at;
        for (int i = 0; i < list->count; i++)
            if (is_that(list->items[i].first, that) || is_that(list->items[i].second, that)) return true;
        for (int i = 0; i < list->name_count; i++)
            if (is_that(list->names[i].name, that)) return true;
    }
    return false;
}

/* A model may be replaced by what is made of it: that is written whole, when all is read. */
static bool may_be_replaced(const verb *v, const option *input)
{
    return v == &verb_convert && strcmp(input->name, "model") == 0;
}

int options_outputs_apart(const verb *v, const void *base)
{
    const option *o, *input;
    struct stat that;
    for (int i = 0; (o = options_entry(v, i)); i++) {
        const char *const path = is_output(o) ? *(const char *const *)((const char *)base + o->offset) : NULL;
        if (!is_file(path, &that)) continue;
        for (int k = 0; (input = options_entry(v, k)); k++)
            if (input != o && input->argument && names(input, base, &that) && !may_be_replaced(v, input))
                return options_wrong(v, "--%s %s is what --%s is, and would be lost: name another", o->name, path,
                                     input->name);
    }
    return 0;
}
