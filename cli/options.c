#include "options.h"

#include "core/nearest.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2, INPUT_OUTPUT = 5 };

/* ---- messages ---- */

int options_wrong(const verb *v, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "attend %s: ", v->name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (attend %s --help lists what there is)\n", v->name);
    va_end(arguments);
    return USAGE;
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

static int option_count(const verb *v)
{
    int n = 0;
    while (v->options[n].name) n++;
    return n;
}

static int find_option(const verb *v, const char *name)
{
    for (int i = 0; v->options[i].name; i++)
        if (strcmp(v->options[i].name, name) == 0) return i;
    return -1;
}

static int find_field(const verb *v, const char *name)
{
    for (int i = 0; v->has_config && attend_config_field_at(i); i++)
        if (strcmp(attend_config_field_at(i)->name, name) == 0) return i;
    return -1;
}

bool options_given(const verb *v, const parsed *p, const char *name)
{
    const int number = find_option(v, name), f = find_field(v, name);
    return number >= 0 ? p->given[number] : f >= 0 && p->given[option_count(v) + f];
}

static int unknown(const verb *v, const char *name)
{
    const char *names[MOST_OPTIONS + 2];
    size_t n = 0;
    for (int i = 0; v->options[i].name; i++) names[n++] = v->options[i].name;
    for (int i = 0; v->has_config && attend_config_field_at(i); i++) names[n++] = attend_config_field_at(i)->name;
    names[n++] = "help";
    const char *near = attend_nearest(name, names, n);
    if (near) return options_wrong(v, "there is no --%s; did you mean --%s?", name, near);
    return options_wrong(v, "there is no --%s", name);
}

/* ---- values ---- */

static bool read_number(const char *text, double *x)
{
    char *end;
    errno = 0;
    *x = strtod(text, &end);
    return end != text && *end == '\0' && errno != ERANGE && !isnan(*x);
}

/* "512M" */
static bool read_size(const char *text, double *x)
{
    static const char units[] = "kMGT";
    char *end;
    *x = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (end == text || (*end && (!unit || end[1]))) return false;
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
    const char *near = attend_nearest(value, o->words, n);
    if (near)
        return options_wrong(v, "--%s '%s' is not one of %s; did you mean '%s'?", o->name, value, o->argument, near);
    return options_wrong(v, "--%s '%s' is not one of %s", o->name, value, o->argument);
}

static int add_pairs(const verb *v, const option *o, pairs_list *list, const char *first, const char *second)
{
    pairs_given *items = realloc(list->items, (size_t)(list->count + 1) * sizeof *items);
    if (!items) return options_wrong(v, "--%s: no memory", o->name);
    list->items = items;
    list->items[list->count++] = (pairs_given){ first, second };
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
    case OPTION_PAIRS:
        return add_pairs(v, o, to, value, NULL);
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
    if (attend_config_set((attend_config *)((char *)base + v->config), name, value) == ATTEND_OK) return 0;
    return options_wrong(v, "--%s", attend_message());
}

static bool is_switch(int field)
{
    return strcmp(attend_config_field_at(field)->values, "yes|no") == 0;
}

int options_set(const verb *v, void *to, const char *name, const char *value)
{
    const int number = find_option(v, name);
    return number >= 0 ? set_option(v, &v->options[number], to, value) : set_field(v, to, name, value);
}

/* ---- a configuration file ---- */

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    size_t size = 0, room = 4096;
    char *text = malloc(room);
    for (size_t got; text && (got = fread(text + size, 1, room - size - 1, f)) > 0;) {
        size += got;
        if (size + 1 < room) continue;
        char *larger = realloc(text, room *= 2);
        if (!larger) free(text);
        text = larger;
    }
    fclose(f);
    if (text) text[size] = '\0';
    return text;
}

static char *strip(char *s)
{
    while (*s == ' ' || *s == '\t' || *s == '\r') s++;
    for (char *end = s + strlen(s); end > s && strchr(" \t\r", end[-1]); end--) end[-1] = '\0';
    return s;
}

/* One line: a word and its value. */
static int set_line(const verb *v, void *base, parsed *p, const char *path, int line_number, char *line)
{
    line[strcspn(line, "#")] = '\0';
    char *name = strip(line);
    if (!*name) return 0;
    char *value = name + strcspn(name, " \t=");
    if (*value) *value++ = '\0';
    value = strip(value);
    if (*value == '=') value = strip(value + 1);
    const int number = find_option(v, name), f = find_field(v, name);
    int status;
    if (number >= 0)
        p->given[number] = true, status = set_option(v, &v->options[number], base, value);
    else if (f >= 0)
        p->given[option_count(v) + f] = true,
                                   status = set_field(v, base, name, *value || !is_switch(f) ? value : "yes");
    else
        status = unknown(v, name);
    if (status) fprintf(stderr, "attend %s: that was %s:%d\n", v->name, path, line_number);
    return status;
}

static int read_config(const verb *v, void *base, parsed *p, const char *path)
{
    char *text = read_text(path);
    if (!text) {
        fprintf(stderr, "attend %s: cannot read %s: %s\n", v->name, path, strerror(errno));
        return INPUT_OUTPUT;
    }
    char **texts = realloc(p->texts, (size_t)(p->text_count + 1) * sizeof *texts);
    if (!texts) {
        free(text);
        return options_wrong(v, "no memory for %s", path);
    }
    p->texts = texts;
    p->texts[p->text_count++] = text; /* values point into it */
    int number = 1, status = 0;
    for (char *line = text, *next; status == 0 && line; line = next, number++) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        status = set_line(v, base, p, path, number, line);
    }
    return status;
}

/* ---- the command line ---- */

/* Takes the option at argv[i]; *next becomes the place behind it. */
static int take(const verb *v, void *base, parsed *p, int argc, char **argv, int i, int *next)
{
    char name[64];
    const char *text = argv[i] + 2, *equals = strchr(text, '=');
    snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - text : (long)strlen(text)), text);
    const int number = find_option(v, name), f = find_field(v, name);
    *next = i + 1;
    if (number < 0 && f < 0) return unknown(v, name);
    p->given[number >= 0 ? number : option_count(v) + f] = true;
    const option *o = number >= 0 ? &v->options[number] : NULL;
    if (o && o->kind == OPTION_FLAG)
        return equals ? options_wrong(v, "--%s takes no value", name) : set_option(v, o, base, NULL);
    const char *value = equals ? equals + 1 : NULL;
    if (!value && !o && is_switch(f)) {
        const bool said = i + 1 < argc && (strcmp(argv[i + 1], "yes") == 0 || strcmp(argv[i + 1], "no") == 0);
        if (said) ++*next;
        return set_field(v, base, name, said ? argv[i + 1] : "yes");
    }
    if (!value && i + 1 >= argc)
        return options_wrong(v, "--%s wants a value: %s", name, o ? o->argument : attend_config_field_at(f)->values);
    if (!value) value = argv[(*next)++];
    if (!o) return set_field(v, base, name, value);
    if (o->kind == OPTION_PAIRS) {
        const bool second = *next < argc && strncmp(argv[*next], "--", 2) != 0;
        return add_pairs(v, o, (pairs_list *)((char *)base + o->offset), value, second ? argv[(*next)++] : NULL);
    }
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
    for (int i = 1; v->has_config && status == 0 && i < argc; i++) {
        const char *path = NULL;
        if (strncmp(argv[i], "--config=", 9) == 0) path = argv[i] + 9;
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc) path = argv[i + 1];
        if (path) status = read_config(v, to, p, path);
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
    return status;
}

void options_free(const verb *v, void *to, parsed *p)
{
    for (int i = 0; v->options[i].name; i++)
        if (v->options[i].kind == OPTION_PAIRS) free(((pairs_list *)((char *)to + v->options[i].offset))->items);
    for (int i = 0; i < p->text_count; i++) free(p->texts[i]);
    free(p->texts);
    free(p->rest);
}

/* ---- help ---- */

static void help_line(FILE *to, const char *name, const char *argument, const char *help)
{
    char left[128];
    snprintf(left, sizeof left, "--%s%s%s", name, argument ? " " : "", argument ? argument : "");
    if (strlen(left) < 28)
        fprintf(to, "  %-28s %s\n", left, help);
    else
        fprintf(to, "  %s\n  %-28s %s\n", left, "", help);
}

void options_help(const verb *v, FILE *to)
{
    fprintf(to, "attend %s: %s\n\nusage: %s\n\n%s\n", v->name, v->summary, v->synopsis, v->details);
    if (v->options[0].name) fprintf(to, "\noptions:\n");
    for (const option *o = v->options; o->name; o++) help_line(to, o->name, o->argument, o->help);
    help_line(to, "help", NULL, "this text");
    if (v->has_config) fprintf(to, "\nthe model (docs/models.md):\n");
    for (int i = 0; v->has_config && attend_config_field_at(i); i++) {
        const attend_config_field *f = attend_config_field_at(i);
        if (strcmp(f->name, "source-vocab") == 0 || strcmp(f->name, "target-vocab") == 0) continue; /* from the data */
        help_line(to, f->name, f->values, f->help);
    }
    if (v->examples) fprintf(to, "\nexamples:\n%s", v->examples);
}
