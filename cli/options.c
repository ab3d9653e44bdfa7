#include "options_internal.h"

#include <attend/parse.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2, INPUT_OUTPUT = 5 };

const char *const precision_words[] = { "fp32", "bf16", "int8", NULL };

/* ---- messages ---- */

static const char *place = ""; /* "FILE:LINE: ", while a file is read */

void options_at(const char *where)
{
    place = where;
}

int options_wrong(const verb *v, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "attend %s: %s", v->name, place);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (attend %s --help lists what there is)\n", v->name);
    va_end(arguments);
    return USAGE;
}

const char *cli_program = "attend";

void cli_print_word(FILE *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-,:@%=";
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", to);
        else
            fputc(*word, to);
    fputc('\'', to);
}

int cli_fail(const verb *v, int status)
{
    fprintf(stderr, "attend %s: %s\n", v->name, attend_message());
    return status == ATTEND_NO_MEMORY ? 1 : status;
}

int cli_end(int status)
{
    const bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (status != 0 || written) return status;
    fprintf(stderr, "attend: cannot write standard output: %s\n", strerror(errno));
    return INPUT_OUTPUT;
}

/* ---- the table ---- */

static int count_of(const option *table)
{
    int n = 0;
    while (table && table[n].name) n++;
    return n;
}

int options_count(const verb *v)
{
    return count_of(v->options) + count_of(v->training);
}

const option *options_entry(const verb *v, int i)
{
    const int own = count_of(v->options);
    if (i < own) return &v->options[i];
    return i < own + count_of(v->training) ? &v->training[i - own] : NULL;
}

int options_find(const verb *v, const char *name)
{
    const option *o;
    for (int i = 0; (o = options_entry(v, i)); i++)
        if (strcmp(o->name, name) == 0) return i;
    return -1;
}

int options_find_field(const verb *v, const char *name)
{
    return v->has_config ? attend_config_field_find(name) : -1;
}

bool options_given(const verb *v, const parsed *p, const char *name)
{
    const int number = options_find(v, name), f = options_find_field(v, name);
    return number >= 0 ? p->given[number] : f >= 0 && p->given[options_count(v) + f];
}

const bool *options_fields_given(const verb *v, const parsed *p)
{
    return p->given + options_count(v);
}

void options_mark(const verb *v, parsed *p, const char *name)
{
    const int number = options_find(v, name), f = options_find_field(v, name);
    p->given[number >= 0 ? number : options_count(v) + f] = true;
}

int options_unknown(const verb *v, const char *name)
{
    const char *names[MOST_OPTIONS + 2];
    size_t n = 0;
    const option *o;
    for (int i = 0; (o = options_entry(v, i)); i++) names[n++] = o->name;
    for (int i = 0; v->has_config && attend_config_field_at(i); i++) names[n++] = attend_config_field_at(i)->name;
    names[n++] = "help";
    const char *near = attend_closest_word(name, names, n);
    if (near) return options_wrong(v, "there is no --%s; did you mean --%s?", name, near);
    return options_wrong(v, "there is no --%s", name);
}

/* ---- values ---- */

static bool read_number(const char *text, double *x)
{
    return attend_parse_real(text, NULL, x) && !isnan(*x);
}

/* "512M" */
static bool read_size(const char *text, double *x)
{
    static const char units[] = "kMGT";
    const char *end;
    if (!attend_parse_real(text, &end, x)) return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (*end && (!unit || end[1])) return false;
    for (long i = unit ? unit - units + 1 : 0; i > 0; i--) *x *= 1024;
    return true;
}

static int set_number(const verb *v, const option *o, void *to, const char *value)
{
    double x;
    const bool read = o->kind == OPTION_SIZE ? read_size(value, &x) : read_number(value, &x);
    if (!read || !(x >= o->least && x <= o->most) || (o->kind == OPTION_WHOLE && x != floor(x)))
        return options_wrong(v, "--%s '%s' is not a %s from %g to %g", o->name, value,
                             o->kind == OPTION_WHOLE  ? "whole number"
                             : o->kind == OPTION_SIZE ? "size (as 512M or 2G)"
                                                      : "number",
                             o->least, o->most);
    if (o->kind == OPTION_REAL)
        *(double *)to = x;
    else
        *(long long *)to = (long long)x;
    return 0;
}

static int set_word(const verb *v, const option *o, void *to, const char *value)
{
    size_t n = 0;
    for (; o->words[n]; n++)
        if (strcmp(o->words[n], value) == 0) {
            *(int *)to = (int)n;
            return 0;
        }
    const char *near = attend_closest_word(value, o->words, n);
    if (near)
        return options_wrong(v, "--%s '%s' is not one of %s; did you mean '%s'?", o->name, value, o->argument, near);
    return options_wrong(v, "--%s '%s' is not one of %s", o->name, value, o->argument);
}

bool options_has_files(const option *o)
{
    return o->kind == OPTION_PAIRS || o->kind == OPTION_DATA;
}

static int add_data(const verb *v, const option *o, pairs_list *list, const char *const *names, int count)
{
    data_name *more = realloc(list->names, (size_t)(list->name_count + count) * sizeof *more);
    if (!more) return options_wrong(v, "--%s: no memory", o->name);
    list->names = more;
    for (int i = 0; i < count; i++) list->names[list->name_count++] = (data_name){ names[i], i == 0 };
    return 0;
}

int options_add_pairs(const verb *v, const option *o, void *base, const char *const *names, int count)
{
    pairs_list *list = (pairs_list *)((char *)base + o->offset);
    if (o->kind == OPTION_DATA) return add_data(v, o, list, names, count);
    attend_pairs_spec *specs = calloc((size_t)count, sizeof *specs);
    pairs_given *items = realloc(list->items, (size_t)(list->count + count) * sizeof *items);
    if (items) list->items = items;
    int made = 0, status = specs && items ? 0 : options_wrong(v, "--%s: no memory", o->name);
    if (status == 0 && attend_pairs_specs(specs, &made, names, count) != ATTEND_OK)
        status = options_wrong(v, "--%s: %s", o->name, attend_message());
    for (int i = 0; i < made; i++) list->items[list->count++] = (pairs_given){ specs[i].source, specs[i].target };
    free(specs);
    return status;
}

static int add_text(const verb *v, const option *o, texts_list *list, const char *value)
{
    const char **items = realloc(list->items, (size_t)(list->count + 1) * sizeof *items);
    if (!items) return options_wrong(v, "--%s: no memory", o->name);
    list->items = items;
    list->items[list->count++] = value;
    return 0;
}

static int set_option(const verb *v, const option *o, void *base, const char *value)
{
    void *to = (char *)base + o->offset;
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)to = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)to = value;
        return 0;
    case OPTION_TEXTS:
        return add_text(v, o, to, value);
    case OPTION_PAIRS:
    case OPTION_DATA:
        return options_add_pairs(v, o, base, &value, 1);
    case OPTION_WHOLE:
    case OPTION_REAL:
    case OPTION_SIZE:
        return set_number(v, o, to, value);
    case OPTION_WORD:
        return set_word(v, o, to, value);
    }
    return USAGE;
}

static int set_field(const verb *v, void *base, const char *name, const char *value)
{
    const int f = attend_config_field_find(name);
    const char *current = f >= 0 ? attend_config_field_at(f)->name : name;
    if (strcmp(current, name) != 0) fprintf(stderr, "attend %s: note: '%s' is now '%s'\n", v->name, name, current);
    if (attend_config_set((attend_config *)((char *)base + v->config), name, value) == ATTEND_OK) return 0;
    return options_wrong(v, "--%s", attend_message());
}

bool options_is_switch(int field)
{
    return attend_config_field_at(field)->type == ATTEND_FIELD_SWITCH;
}

int options_set(const verb *v, void *to, const char *name, const char *value)
{
    const int number = options_find(v, name);
    return number >= 0 ? set_option(v, options_entry(v, number), to, value) : set_field(v, to, name, value);
}

bool options_get(const verb *v, const void *from, const char *name, char *text, size_t size)
{
    const int number = options_find(v, name);
    if (number < 0)
        return v->has_config && attend_config_get((const attend_config *)((const char *)from + v->config), name, text,
                                                  size) == ATTEND_OK;
    const option *o = options_entry(v, number);
    const void *at = (const char *)from + o->offset;
    int length = -1;
    if (o->kind == OPTION_WORD) length = snprintf(text, size, "%s", o->words[*(const int *)at]);
    if (o->kind == OPTION_REAL) length = attend_format_real(text, size, *(const double *)at, 6);
    if (o->kind == OPTION_WHOLE || o->kind == OPTION_SIZE)
        length = snprintf(text, size, "%lld", *(const long long *)at);
    return length >= 0 && (size_t)length < size;
}

/* ---- the command line ---- */

/* The names of pairs: all up to the next option. */
static int add_names(const verb *v, const option *o, void *base, const char *first, int argc, char **argv, int *next)
{
    const int from = *next;
    while (*next < argc && strncmp(argv[*next], "--", 2) != 0) ++*next;
    const char **names = calloc((size_t)(*next - from) + 1, sizeof *names);
    if (!names) return options_wrong(v, "--%s: no memory", o->name);
    names[0] = first;
    for (int i = from; i < *next; i++) names[i - from + 1] = argv[i];
    const int status = options_add_pairs(v, o, base, names, *next - from + 1);
    free(names);
    return status;
}

/* What a configuration file said of an option that may come several times. */
static void forget(const option *o, void *base)
{
    void *list = (char *)base + o->offset;
    if (options_has_files(o)) ((pairs_list *)list)->count = ((pairs_list *)list)->name_count = 0;
    if (o->kind == OPTION_TEXTS) ((texts_list *)list)->count = 0;
}

/* Takes the option at argv[i]; *next becomes the place behind it. */
static int take(const verb *v, void *base, parsed *p, int argc, char **argv, int i, int *next)
{
    char name[64];
    const char *text = argv[i] + 2, *equals = strchr(text, '=');
    snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - text : (long)strlen(text)), text);
    const int number = options_find(v, name), f = options_find_field(v, name);
    *next = i + 1;
    if (number < 0 && f < 0) return options_unknown(v, name);
    const option *o = number >= 0 ? options_entry(v, number) : NULL;
    const bool again = o && o->kind == OPTION_TEXT && options_given(v, p, name) && !p->from_file[number];
    options_mark(v, p, name);
    if (o && o->kind == OPTION_FLAG)
        return equals ? options_wrong(v, "--%s takes no value", name) : set_option(v, o, base, NULL);
    const char *value = equals ? equals + 1 : NULL;
    if (!value && !o && options_is_switch(f)) {
        const bool said = i + 1 < argc && (strcmp(argv[i + 1], "yes") == 0 || strcmp(argv[i + 1], "no") == 0);
        if (said) ++*next;
        return set_field(v, base, name, said ? argv[i + 1] : "yes");
    }
    if (!value && i + 1 >= argc)
        return options_wrong(v, "--%s wants a value: %s", name, o ? o->argument : attend_config_field_at(f)->values);
    if (!value && strncmp(argv[i + 1], "--", 2) == 0)
        return options_wrong(v, "--%s wants a value, and %s is an option (--%s=%s, if it is meant)", name, argv[i + 1],
                             name, argv[i + 1]);
    if (!value) value = argv[(*next)++];
    if (again && strcmp(name, "config") != 0) /* of two models, one would be left out and nobody told */
        return options_wrong(v, "--%s is given twice, the second time as '%s', and one is all it takes", name, value);
    if (!o) return set_field(v, base, name, value);
    if (p->from_file[number]) forget(o, base); /* this comes in its place */
    p->from_file[number] = false;
    if (options_has_files(o)) return add_names(v, o, base, value, argc, argv, next);
    return set_option(v, o, base, value);
}

int options_parse(const verb *v, void *to, int argc, char **argv, parsed *p)
{
    *p = (parsed){ .rest = calloc((size_t)argc + 1, sizeof *p->rest) };
    if (!p->rest) return options_wrong(v, "no memory");
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            options_help(v, stdout);
            p->help = true;
            return 0;
        }
    int status = 0;
    for (int i = 1; v->has_config && status == 0 && i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *path = NULL;
        if (strncmp(argv[i], "--config=", 9) == 0) path = argv[i] + 9;
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) path = argv[i + 1];
        if (path) status = options_read_config(v, to, p, path);
    }
    bool options = true;
    for (int i = 1, next; status == 0 && i < argc; i = next) {
        next = i + 1;
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && strncmp(argv[i], "--", 2) == 0)
            status = take(v, to, p, argc, argv, i, &next);
        else if (options && argv[i][0] == '-' && argv[i][1])
            status = options_wrong(v, "'%s': options have two dashes; a file of that name goes behind --", argv[i]);
        else
            p->rest[p->rest_count++] = argv[i];
    }
    return status == 0 ? options_outputs_apart(v, to) : status;
}

void options_free(const verb *v, void *to, parsed *p)
{
    const option *o;
    for (int i = 0; (o = options_entry(v, i)); i++) {
        void *list = (char *)to + o->offset;
        if (options_has_files(o)) free(((pairs_list *)list)->items), free(((pairs_list *)list)->names);
        if (o->kind == OPTION_TEXTS) free(((texts_list *)list)->items);
    }
    for (int i = 0; i < p->text_count; i++) free(p->texts[i]);
    free(p->texts);
    free(p->rest);
}

/* ---- help ---- */

/* Vocabularies are fields of a model's configuration, but come from the data. */
static bool is_from_data(const attend_config_field *f)
{
    return strcmp(f->name, "source-vocab") == 0 || strcmp(f->name, "target-vocab") == 0;
}

bool options_shown(const verb *v, int i, option_shown *shown)
{
    const int own = count_of(v->options), count = options_count(v);
    if (i == own) {
        *shown = (option_shown){ .name = "help", .help = "this text" };
        return true;
    }
    if (i <= count) {
        const option *o = options_entry(v, i - (i > own));
        *shown = (option_shown){ .name = o->name,
                                 .argument = o->argument,
                                 .help = o->help,
                                 .entry = o,
                                 .group = i > own ? TRAINING_OPTION : OWN_OPTION };
        return true;
    }
    int left = i - count - 1;
    for (int f = 0; v->has_config && attend_config_field_at(f); f++) {
        const attend_config_field *field = attend_config_field_at(f);
        if (is_from_data(field) || left-- > 0) continue;
        *shown = (option_shown){ .name = field->name,
                                 .argument = field->values,
                                 .help = field->help,
                                 .group = FIELD_OPTION,
                                 .may_stand_alone = options_is_switch(f) };
        return true;
    }
    return false;
}

static void help_line(FILE *to, const option_shown *shown)
{
    char left[128];
    snprintf(left, sizeof left, "--%s%s%s", shown->name, shown->argument ? " " : "",
             shown->argument ? shown->argument : "");
    if (strlen(left) < 28)
        fprintf(to, "  %-28s %s\n", left, shown->help);
    else
        fprintf(to, "  %s\n  %-28s %s\n", left, "", shown->help);
}

void options_help(const verb *v, FILE *to)
{
    fprintf(to, "attend %s: %s\n\nusage: %s\n\n%s\n\noptions:\n", v->name, v->summary, v->synopsis, v->details);
    option_shown shown;
    enum option_group group = OWN_OPTION;
    for (int i = 0; options_shown(v, i, &shown); i++) {
        if (shown.group != group)
            fprintf(to, "\n%s:\n",
                    shown.group == FIELD_OPTION ? "the model (docs/models.md)" : "training (docs/training.md)");
        group = shown.group;
        help_line(to, &shown);
    }
    if (v->examples) fprintf(to, "\nexamples:\n%s", v->examples);
}
